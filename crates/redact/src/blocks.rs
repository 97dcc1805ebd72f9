//! Secrets with a shape of their own that no prefix table can say: private keys, web tokens, cloud
//! secrets known by the word before them, bot tokens, telephone numbers.

use crate::{
    mask::mask,
    scan::{Hit, Mode, With},
    shape,
};
use std::ops::Range;

/// A private key block, from its first line to its last; to the end of its text when it was cut off.
pub(crate) fn private_key(text: &str, begin: Range<usize>) -> Option<Hit> {
    let bytes = text.as_bytes();
    let title_end = shape::run(bytes, begin.end, |byte| {
        byte.is_ascii_uppercase() || byte == b' ' || byte.is_ascii_digit()
    });
    let title = &text[begin.end..title_end];
    if !title.contains("PRIVATE KEY") || !text[title_end..].starts_with("-----") {
        return None;
    }
    let body = title_end + 5;
    let end = match text[body..].find("-----END ") {
        Some(found) if is_key_text(&bytes[body..body + found]) => {
            let last = body + found + "-----END ".len();
            let dashes = shape::run(bytes, last, |byte| {
                byte.is_ascii_uppercase() || byte == b' ' || byte.is_ascii_digit()
            });
            shape::run(bytes, dashes, |byte| byte == b'-')
        }
        _ => {
            let cut = shape::run(bytes, body, is_key_byte);
            // Words after a cut block are not part of it; give back the last line if it holds blanks.
            cut.max(body)
        }
    };
    // A mention of the marker without a key behind it is prose.
    (end > body + 16).then(|| Hit::new(begin.start..end, With::PrivateKey))
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n' | b'\r' | b'\\' | b'"')
}

/// Base64 lines and the few header lines (`Proc-Type: 4,ENCRYPTED`) that may precede them.
fn is_key_text(body: &[u8]) -> bool {
    body.len() < 64 * 1024
        && body
            .iter()
            .all(|&byte| is_key_byte(byte) || matches!(byte, b' ' | b':' | b',' | b'-' | b'\t' | b'|'))
}

/// `header.payload[.signature]`. A first part alone is ordinary base64 of JSON, such as a page cursor.
pub(crate) fn json_web_token(text: &str, start: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    if shape::before(bytes, start).is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let part = |from: usize| {
        shape::run(bytes, from, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
        })
    };
    let header = part(start);
    if header - start < 13 || bytes.get(header) != Some(&b'.') {
        return None;
    }
    let payload = part(header + 1);
    if payload - header < 11 {
        return None;
    }
    let signature = if bytes.get(payload) == Some(&b'.') {
        part(payload + 1)
    } else {
        payload
    };
    let end = if signature > payload + 1 {
        signature
    } else {
        payload
    };
    Some(Hit::new(start..end, With::Mask))
}

/// The 40 characters after `secret_access_key`, whatever links them.
pub(crate) fn aws_secret(text: &str, name_end: usize) -> Option<Hit> {
    const LENGTH: usize = 40;
    let bytes = text.as_bytes();
    let start = shape::run(bytes, name_end, |byte| {
        matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'\\' | b':' | b'=' | b'>')
    });
    let end = shape::run(bytes, start, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
    });
    let linked = start > name_end && start - name_end <= 8;
    (linked && end - start == LENGTH && shape::is_mixed(&bytes[start..end]))
        .then(|| Hit::new(start..end, With::Mask))
}

/// An Azure application secret: three characters, a digit, `Q~`, then 31 to 34 more.
pub(crate) fn azure_secret(text: &str, mark: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'.' | b'-');
    let start = mark.checked_sub(4)?;
    let head = &bytes[start..mark];
    let shaped =
        head[..3].iter().all(|&byte| inside(byte)) && head[3].is_ascii_digit() && bytes[mark] == b'Q';
    let end = shape::run(bytes, mark + 2, inside);
    let glued = shape::before(bytes, start).is_some_and(inside);
    (shaped && !glued && (31..=34).contains(&(end - mark - 2))).then(|| Hit::new(start..end, With::Mask))
}

/// The rules that hang on one common byte (`:` of a bot token, `+` of a telephone number). They walk
/// beside the automaton with a search of their own and are asked in order of place.
pub(crate) struct Loose<'a> {
    bytes: &'a [u8],
    phones: bool,
    from: usize,
    waiting: Option<Hit>,
}

impl<'a> Loose<'a> {
    pub(crate) fn new(bytes: &'a [u8], mode: Mode) -> Loose<'a> {
        Loose {
            bytes,
            phones: mode == Mode::Everything,
            from: 0,
            waiting: None,
        }
    }

    /// The next such secret that begins before `limit`.
    pub(crate) fn next_before(&mut self, limit: usize) -> Option<Hit> {
        if self.waiting.is_none() {
            self.waiting = self.find();
        }
        self.waiting.take_if(|hit| hit.range.start < limit)
    }

    fn find(&mut self) -> Option<Hit> {
        while self.from < self.bytes.len() {
            let rest = &self.bytes[self.from..];
            let found = if self.phones {
                memchr::memchr2(b':', b'+', rest)
            } else {
                memchr::memchr(b':', rest)
            };
            let Some(found) = found else { break };
            let at = self.from + found;
            self.from = at + 1;
            let hit = if self.bytes[at] == b':' {
                self.bot_token(at)
            } else {
                self.phone(at)
            };
            if hit.is_some() {
                return hit;
            }
        }
        self.from = self.bytes.len();
        None
    }

    /// At least eight digits, a colon, at least thirty token characters: the digits are the bot's id.
    fn bot_token(&self, colon: usize) -> Option<Hit> {
        let bytes = self.bytes;
        if !shape::before(bytes, colon)?.is_ascii_digit() || !bytes.get(colon + 1)?.is_ascii_alphanumeric() {
            return None;
        }
        let end = shape::run(bytes, colon + 1, |byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
        });
        let digits = bytes[..colon]
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let secret = digits >= 8 && end - colon > 30 && shape::is_mixed(&bytes[colon + 1..end]);
        secret.then(|| Hit::new(colon + 1..end, With::Stars))
    }

    /// `+` and 7 to 15 digits, in the middle of a line: at its start it is a line of a diff.
    fn phone(&self, plus: usize) -> Option<Hit> {
        let bytes = self.bytes;
        let before = shape::before(bytes, plus)?;
        let alone = before.is_ascii_whitespace() && before != b'\n'
            || matches!(before, b'"' | b'\'' | b'(' | b':' | b'<');
        let end = shape::run(bytes, plus + 1, |byte| byte.is_ascii_digit());
        let digits = end - plus - 1;
        let glued = bytes
            .get(end)
            .is_some_and(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'*'));
        let number = (7..=15).contains(&digits) && bytes[plus + 1] != b'0' && alone && !glued;
        number.then(|| Hit::new(plus..end, With::Phone))
    }
}

/// A telephone number with its middle hidden: two and two characters stay of a short one, else four and four.
pub(crate) fn hide_phone(number: &str) -> String {
    let keep = if number.len() <= 8 { 2 } else { 4 };
    format!("{}****{}", &number[..keep], &number[number.len() - keep..])
}

/// What replaces a private key.
pub(crate) const PRIVATE_KEY: &str = "[REDACTED PRIVATE KEY]";

/// The text that stands for a hit.
pub(crate) fn replacement(secret: &str, with: With) -> String {
    match with {
        With::Mask => mask(secret),
        With::Stars => "***".to_owned(),
        With::PrivateKey => PRIVATE_KEY.to_owned(),
        With::Phone => hide_phone(secret),
    }
}
