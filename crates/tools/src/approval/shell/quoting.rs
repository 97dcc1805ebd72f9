//! What stands between quotes.

/// Resolves the backslashes of an unquoted word.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                // A line that is continued.
                Some('\n') | None => {}
                Some(escaped) => out.push(escaped),
            },
            c => out.push(c),
        }
    }
    out
}

/// Resolves the backslashes of a text in double quotes, where only five characters can be escaped.
pub(super) fn unescape_double(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => {
                chars.next();
            }
            ('\\', Some(escaped @ ('$' | '`' | '"' | '\\'))) => {
                out.push(*escaped);
                chars.next();
            }
            _ => out.push(c),
        }
    }
    out
}

/// Resolves the escapes of `$'…'`, given what stands between the quotes.
pub(super) fn unescape_ansi(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let Some(kind) = chars.next() else { break };
        let code = match kind {
            'x' => number(&mut chars, 16, 2, 0),
            'u' => number(&mut chars, 16, 4, 0),
            'U' => number(&mut chars, 16, 8, 0),
            '0'..='7' => number(&mut chars, 8, 2, kind.to_digit(8).unwrap_or(0)),
            'n' => u32::from('\n'),
            't' => u32::from('\t'),
            'r' => u32::from('\r'),
            'a' | 'b' | 'e' | 'E' | 'f' | 'v' | 'c' => continue,
            other => u32::from(other),
        };
        // A NUL ends the word for the shell; nothing is shown for it here.
        out.extend(char::from_u32(code).filter(|c| *c != '\0'));
    }
    out
}

fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, radix: u32, most: usize, start: u32) -> u32 {
    let mut value = start;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        value = value.wrapping_mul(radix).wrapping_add(digit);
        chars.next();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_quote_has_its_own_escapes() {
        assert_eq!(unescape(r"r\m\ x\\"), r"rm x\");
        assert_eq!(unescape_double(r#"a\"b\n\$c\\"#), r#"a"b\n$c\"#);
        assert_eq!(unescape_ansi(r"\x72m \162\155\t\u0041\'"), "rm rm\tA'");
    }
}
