//! Values that are secret because of the name they are given: `DB_PASSWORD=…`, `"apiKey": "…"`,
//! `token: …` alone on a line, `--password …`.
//!
//! Not used on source code, where a masked value would make the file unreadable and, written back,
//! destroy it. What is code anyway (`api_key = os.environ.get("API_KEY")`) is let through everywhere.

use crate::{
    mask,
    scan::{Hit, Mode, With},
    shape,
};
use std::ops::Range;

/// The words that make the automaton stop. Every secret name holds one.
pub(crate) const ANCHORS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "_pass",
    "pass=",
    "secret",
    "token",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "api.key",
    "access_key",
    "access-key",
    "accesskey",
    "private_key",
    "private-key",
    "privatekey",
    "auth_key",
    "authkey",
    "account_key",
    "accountkey",
    "encryption_key",
    "encryptionkey",
    "signing_key",
    "signingkey",
    "key_material",
    "bearer",
    "_auth",
    "jwt",
    "signature",
];

/// A name that ends so tells about a secret (where it is, how long it lives) and holds none.
const ABOUT: &[&str] = &[
    "file", "path", "dir", "url", "uri", "name", "id", "type", "limit", "count", "ttl", "expiry", "expires",
    "at", "len", "length", "size", "timeout", "method", "mode", "enabled", "required", "endpoint", "host",
    "port", "header", "prefix", "format", "version", "budget", "usage", "field", "env", "var", "policy",
    "age", "in", "sock", "socket",
];

/// Longest name that is looked at, on either side of the word.
const NAME_REACH: usize = 50;

/// The secret value assigned to the name around this word, if it is a name and has one.
pub(crate) fn assigned(text: &str, mode: Mode, word: Range<usize>) -> Option<Hit> {
    let bytes = text.as_bytes();
    let around = name_around(bytes, &word)?;
    let place = Place::after(bytes, &around)?;
    let name = &text[around.clone()];
    let short = place.link != Link::Colon && name.eq_ignore_ascii_case("pass");
    if !(short || is_secret(name)) {
        return None;
    }
    let range = value_at(text, &place)?;
    let value = &text[range.clone()];
    let plain_number = value.bytes().all(|byte| byte.is_ascii_digit());
    if is_folder(name, value) || mask::is_mask(value) || (plain_number && !may_be_number(name)) {
        return None;
    }
    let bare = place.quote.is_none();
    if (bare && is_reference(text, name, &range, &place)) || shape::is_code(value) {
        return None;
    }
    if mode == Mode::Output && is_program(bytes, &around, &place, value) {
        return None;
    }
    Some(Hit::new(range, With::Mask))
}

/// The working folder of a shell, which has the name of a password.
fn is_folder(name: &str, value: &str) -> bool {
    let shell = name == "PWD" || name == "OLDPWD";
    shell || (value.starts_with(['/', '~']) && name.to_ascii_lowercase().ends_with("pwd"))
}

/// Whether the assignment may as well be one of a program as one of a configuration: blanks around the
/// `=`, a quoted value of a small name, a type or a variable behind the `:`, a sentence in the quotes.
fn is_program(bytes: &[u8], name: &Range<usize>, place: &Place, value: &str) -> bool {
    let shouted = !bytes[name.clone()].iter().any(u8::is_ascii_lowercase);
    let tight =
        bytes.get(name.end) == Some(&b'=') && bytes.get(name.end + 1).is_none_or(|&byte| byte != b' ');
    match (place.link, place.quote) {
        (Link::Flag, _) => false,
        (Link::Equals, Some(_)) => !(tight && shouted),
        (Link::Equals, None) => !tight,
        (Link::Colon, Some((b'"', _))) => {
            let words = |byte: u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b' ' | b'-' | b'.');
            !(place.name_quoted || place.line_start) || value.contains(' ') || value.bytes().all(words)
        }
        (Link::Colon, Some(_)) => !place.line_start || place.name_quoted || value.contains(' '),
        (Link::Colon, None) => {
            shape::is_identifier(value)
                && !shape::is_random(value)
                && value
                    .bytes()
                    .any(|byte| byte == b'_' || byte.is_ascii_uppercase())
        }
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn name_around(bytes: &[u8], word: &Range<usize>) -> Option<Range<usize>> {
    let floor = word.start.saturating_sub(NAME_REACH);
    let start = (floor..word.start)
        .rev()
        .find(|&at| !is_name(bytes[at]))
        .map_or(floor, |at| at + 1);
    let ceiling = bytes.len().min(word.end + NAME_REACH);
    let end = shape::run(&bytes[..ceiling], word.end, is_name);
    // Dashes before a name are those of a command-line flag.
    let start = start
        + bytes[start..word.start]
            .iter()
            .take_while(|&&byte| byte == b'-')
            .count();
    (end < bytes.len()).then_some(start..end)
}

/// How a value hangs on its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Equals,
    Colon,
    Flag,
}

/// Where a value begins and how it is written.
struct Place {
    link: Link,
    start: usize,
    /// The quote it stands in, and whether that quote is escaped (JSON inside JSON).
    quote: Option<(u8, bool)>,
    name_quoted: bool,
    line_start: bool,
}

impl Place {
    fn after(bytes: &[u8], name: &Range<usize>) -> Option<Place> {
        let mut at = name.end;
        let flagged = name.start >= 2 && &bytes[name.start - 2..name.start] == b"--";
        let name_quoted = quote_at(bytes, at).map(|(_, length)| at += length).is_some();
        let gap = shape::run(bytes, at, |byte| byte == b' ' || byte == b'\t');
        let link = match bytes.get(gap) {
            Some(b'=') if !matches!(bytes.get(gap + 1), Some(b'=' | b'~')) => Link::Equals,
            Some(b':') if bytes.get(gap + 1) == Some(&b'=') => Link::Equals,
            Some(b':') if bytes.get(gap + 1) != Some(&b':') => Link::Colon,
            Some(_) if flagged && gap > at => Link::Flag,
            _ => return None,
        };
        at = match link {
            Link::Flag => gap,
            Link::Equals | Link::Colon => shape::run(bytes, gap + 1, |byte| matches!(byte, b'=' | b'>')),
        };
        at = shape::run(bytes, at, |byte| byte == b' ' || byte == b'\t');
        let quoted = quote_at(bytes, at);
        let line_start = before_is_indent(bytes, name.start);
        let (start, quote) = quoted.map_or((at, None), |(kind, length)| {
            (at + length, Some((kind, length == 2)))
        });
        Some(Place {
            link,
            start,
            quote,
            name_quoted,
            line_start,
        })
    }
}

/// A quote at this place: its kind and how many bytes it takes (two when escaped).
fn quote_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(&kind @ (b'"' | b'\'' | b'`')), _) => Some((kind, 1)),
        (Some(b'\\'), Some(&kind @ (b'"' | b'\''))) => Some((kind, 2)),
        _ => None,
    }
}

/// Whether only indentation, a list dash or `export` stands between the line's start and here.
fn before_is_indent(bytes: &[u8], at: usize) -> bool {
    let line = bytes[..at]
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |found| found + 1);
    if at - line > 64 {
        return false;
    }
    let lead = bytes[line..at].trim_ascii();
    // `file:12:` and `12|` are put before a line by what lists it.
    let listed = lead.ends_with(b":") || lead.ends_with(b"|");
    (listed && !lead.contains(&b' ')) || lead.is_empty() || lead == b"-" || lead == b"export" || lead == b"+"
}

fn value_at(text: &str, place: &Place) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let start = place.start;
    if let Some((kind, escaped)) = place.quote {
        let end = closing(bytes, start, kind, escaped).unwrap_or_else(|| bare_end(bytes, start));
        return (end > start).then_some(start..end);
    }
    let mut end = bare_end(bytes, start);
    // In the middle of a line it is a sentence, unless nobody would say such a word.
    let in_prose = place.link == Link::Colon && !(place.name_quoted || place.line_start);
    if in_prose && !shape::is_random(&text[start..end]) {
        return None;
    }
    // `token=None)->Reply:` is an argument; what closes the list is not part of its value.
    let word = shape::run(&bytes[..end], start, |byte| {
        byte.is_ascii_alphabetic() || byte == b'_'
    });
    if matches!(bytes.get(word), Some(b',' | b')' | b']' | b'}')) {
        end = word;
    }
    while end > start && matches!(bytes[end - 1], b',' | b')' | b']' | b'}' | b';' | b'.' | b'>') {
        end -= 1;
    }
    (end > start).then_some(start..end)
}

/// The closing quote of a value. A quote that the text was cut before is no quote.
fn closing(bytes: &[u8], start: usize, kind: u8, escaped: bool) -> Option<usize> {
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => return None,
            b'\\' if escaped && bytes.get(at + 1) == Some(&kind) => return Some(at),
            b'\\' => at += 2,
            byte if byte == kind => return Some(at),
            _ => at += 1,
        }
    }
    None
}

fn bare_end(bytes: &[u8], start: usize) -> usize {
    shape::run(bytes, start, |byte| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'"' | b'\'' | b'`' | b'&' | b'\\' | b'#')
    })
}

/// Whether an unquoted value is a variable, an argument or the rest of a sentence.
fn is_reference(text: &str, name: &str, range: &Range<usize>, place: &Place) -> bool {
    let value = &text[range.clone()];
    if value.eq_ignore_ascii_case(name) {
        return true;
    }
    let shouted = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    if place.link == Link::Equals && shouted {
        // A variable of the environment: what stands there is the value, unless it is code.
        return false;
    }
    let next = text.as_bytes().get(range.end).copied();
    let argument = matches!(next, Some(b',' | b')' | b']' | b'}' | b';' | b'>' | b'('));
    let line = text[range.end..].split('\n').next().unwrap_or("").trim();
    let more_words = place.link == Link::Colon && !line.is_empty() && !line.starts_with('#');
    ((shape::is_identifier(value) && argument) || more_words) && !shape::is_random(value)
}

/// A number is a password, a PIN or a secret now and then; as a token or key it is a limit.
fn may_be_number(name: &str) -> bool {
    words(name).any(|word| {
        ["password", "passwd", "passphrase", "pwd", "secret"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    })
}

/// Whether a thing of this name is kept secret. Looks at whole words, so that `MAX_TOKENS`,
/// `tokenizer` and `secretary` are none.
pub(crate) fn is_secret(name: &str) -> bool {
    let mut secret = false;
    let mut last = "";
    let mut before = "";
    for word in words(name) {
        secret |= word_is_secret(before, word, name);
        before = word;
        last = word;
    }
    secret && !ABOUT.iter().any(|about| about.eq_ignore_ascii_case(last))
}

fn word_is_secret(before: &str, word: &str, name: &str) -> bool {
    const ALONE: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "secret",
        "token",
        "credential",
        "credentials",
        "apikey",
        "accesskey",
        "privatekey",
        "authkey",
        "accountkey",
        "signingkey",
        "encryptionkey",
        "authtoken",
        "bearer",
        "jwt",
        "signature",
    ];
    const BEFORE_KEY: &[&str] = &[
        "api",
        "access",
        "private",
        "secret",
        "auth",
        "account",
        "signing",
        "encryption",
    ];
    const BEFORE_PASS: &[&str] = &[
        "db", "database", "user", "smtp", "imap", "mail", "email", "mysql", "pg", "postgres", "redis",
        "mongo", "ftp", "ssh", "sudo", "admin", "root", "http", "proxy", "auth", "login", "ldap", "basic",
        "store",
    ];
    let is = |known: &&str| known.eq_ignore_ascii_case(word);
    let shouted = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    ALONE.iter().any(is)
        || (word.eq_ignore_ascii_case("key")
            && BEFORE_KEY.iter().any(|known| known.eq_ignore_ascii_case(before)))
        || (word.eq_ignore_ascii_case("material") && before.eq_ignore_ascii_case("key"))
        || (word.eq_ignore_ascii_case("pass")
            && !before.is_empty()
            && (shouted || BEFORE_PASS.iter().any(|known| known.eq_ignore_ascii_case(before))))
        || (word.eq_ignore_ascii_case("auth") && (shouted || name == "_auth"))
}

/// The words of a name: split at `_`, `-`, `.`, and before a capital that follows a small letter.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(['_', '-', '.']);
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let end = (1..bytes.len())
            .find(|&at| {
                matches!(bytes[at], b'_' | b'-' | b'.')
                    || (bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase())
            })
            .unwrap_or(bytes.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word.trim_end_matches(|digit: char| digit.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_by_their_words() {
        for name in [
            "DB_PASSWORD",
            "apiKey",
            "openai.api_key",
            "refresh_token",
            "REDIS_AUTH",
            "SecretAccessKey",
            "API_KEY_2",
        ] {
            assert!(is_secret(name), "{name}");
        }
        for name in [
            "MAX_TOKENS",
            "tokenizer",
            "TOKEN_FILE",
            "token_count",
            "secretary",
            "AUTHOR",
            "api_key_env",
            "passwordless",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
