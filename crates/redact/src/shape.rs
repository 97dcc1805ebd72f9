//! Questions about a run of characters: is it random, is it code, where does it end.
//!
//! These keep the rules apart from ordinary text: `sk-fading-circle` is a style sheet's class,
//! `token = settings.token` is code, `password: required` is a form.

/// Whether a run looks made by a machine: it holds a digit, or a long stretch without separators.
pub(crate) fn looks_random(run: &[u8]) -> bool {
    const LONG: usize = 16;
    let mut stretch = 0;
    for &byte in run {
        if byte.is_ascii_digit() {
            return true;
        }
        stretch = if byte.is_ascii_alphabetic() {
            stretch + 1
        } else {
            0
        };
        if stretch >= LONG {
            return true;
        }
    }
    false
}

/// Whether letters and digits are both there, as in nearly every credential.
pub(crate) fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_digit) && run.iter().any(u8::is_ascii_alphabetic)
}

/// Words that stand where a value may stand and are none: literals, types, notes of a schema.
const NOT_VALUES: &[&str] = &[
    "true",
    "false",
    "null",
    "nil",
    "none",
    "undefined",
    "nan",
    "yes",
    "no",
    "on",
    "off",
    "str",
    "string",
    "bool",
    "boolean",
    "int",
    "integer",
    "number",
    "bytes",
    "object",
    "array",
    "any",
    "void",
    "required",
    "optional",
    "unset",
    "empty",
    "missing",
    "default",
    "hidden",
    "redacted",
    "masked",
    "secret",
    "password",
    "token",
    "...",
];

/// Whether the value is code, a template or a word of a schema rather than a secret.
pub(crate) fn is_code(value: &str) -> bool {
    let Some(first) = value.bytes().next() else {
        return true;
    };
    if matches!(
        first,
        b'$' | b'{' | b'<' | b'%' | b'(' | b'[' | b'&' | b'*' | b'=' | b':' | b'@' | b'\\'
    ) {
        return true;
    }
    if NOT_VALUES.iter().any(|word| word.eq_ignore_ascii_case(value)) {
        return true;
    }
    if value.len() >= 4 && value.as_bytes()[..4].eq_ignore_ascii_case(b"your") {
        return true;
    }
    is_expression(value)
}

/// A call or a dotted path of plain names: `os.environ.get(`, `self.token`, `process.env.KEY`.
fn is_expression(value: &str) -> bool {
    let path = value.split(['(', '[']).next().unwrap_or(value);
    let called = path.len() < value.len();
    let mut parts = path.split(['.', ':', '?', '!']).filter(|part| !part.is_empty());
    let named = parts.all(|part| {
        part.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !part.as_bytes()[0].is_ascii_digit()
    });
    let dotted = path.contains('.') && !path.bytes().any(|byte| byte.is_ascii_digit());
    named && !path.is_empty() && (called || dotted)
}

/// Whether the value is one bare word of letters and underscores: most likely a variable.
pub(crate) fn is_identifier(value: &str) -> bool {
    value
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

/// The end of the run of bytes from `from` on that satisfy `inside`.
pub(crate) fn run(bytes: &[u8], from: usize, inside: impl Fn(u8) -> bool) -> usize {
    bytes[from..]
        .iter()
        .position(|&byte| !inside(byte))
        .map_or(bytes.len(), |length| from + length)
}

/// The byte before `at`, if any.
pub(crate) fn before(bytes: &[u8], at: usize) -> Option<u8> {
    at.checked_sub(1).map(|index| bytes[index])
}

/// Whether a word was made by chance rather than by a person: at least twelve characters, a digit among
/// letters, and never long of one kind (capitals, small letters, digits).
pub(crate) fn is_random(word: &str) -> bool {
    const LEAST: usize = 12;
    const LONGEST_RUN: f32 = 2.6;
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        b'a'..=b'z' => 2,
        _ => 3,
    };
    let bytes = word.as_bytes();
    if bytes.len() < LEAST || !is_mixed(bytes) || !word.is_ascii() {
        return false;
    }
    let runs = 1 + bytes
        .windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]))
        .count();
    bytes.len() as f32 / runs as f32 <= LONGEST_RUN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_a_value() {
        for code in [
            "os.environ.get(\"API_KEY\")",
            "settings.api_key",
            "process.env.TOKEN",
            "${TOKEN}",
            "$TOKEN",
            "<token>",
            "True",
            "str",
            "f(x)",
        ] {
            assert!(is_code(code), "{code}");
        }
        for value in ["hunter2", "correct-horse", "a.b1.c2", "abcDEF123456", "x"] {
            assert!(!is_code(value), "{value}");
        }
    }

    #[test]
    fn a_word_that_nobody_would_say_is_random() {
        for word in ["kW3aKHDJjLKNfujkRwHB", "9f86d081884c7d65", "a1-b2-c3-d4-e5"] {
            assert!(is_random(word), "{word}");
        }
        for word in [
            "Base64EncodedString",
            "hunter2",
            "correct-horse-battery-1",
            "2024-12-31",
            "accessTokenForUser",
        ] {
            assert!(!is_random(word), "{word}");
        }
    }

    #[test]
    fn words_are_told_from_random_runs() {
        assert!(!looks_random(b"fading-circle-wrapper"));
        assert!(looks_random(b"ant-api03-LEAK"));
        assert!(looks_random(b"abcdefghijklmnopqrstuvwxyz"));
    }
}
