//! Credentials in request headers: `Authorization: Bearer …`, `x-api-key: …`, a bare `Bearer …`.
//!
//! They turn up in curl commands, logs and source alike, so these rules hold for code too; there the
//! value must look made by a machine, or `f"Authorization: Bearer {key}"` would lose its meaning.

use crate::{
    mask,
    scan::{Hit, Mode, With},
    shape,
};
use std::ops::Range;

/// Headers that carry a key and nothing else.
const KEY_HEADERS: &[&str] = &[
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "apikey",
    "x-api-token",
    "x-auth-token",
    "x-access-token",
    "x-amz-security-token",
    "x-gitlab-token",
    "private-token",
    "x-vault-token",
];

/// The fewest characters of a credential where nothing but its look speaks for it.
const LEAST: usize = 16;

/// What follows `Authorization`: any scheme, or a bare credential. Never swallows a closing quote.
pub(crate) fn authorization(text: &str, mode: Mode, word: Range<usize>) -> Option<Hit> {
    let bytes = text.as_bytes();
    let start = value_start(bytes, word.end)?;
    let first_end = credential_end(bytes, start);
    let mut range = start..first_end;
    // The first word is the scheme when a second one follows on the same line.
    let next = shape::run(bytes, first_end, |byte| byte == b' ');
    if next > first_end && is_scheme(&text[start..first_end]) {
        let end = credential_end(bytes, next);
        if end > next {
            range = next..end;
        }
    }
    let range = trimmed(bytes, range);
    let value = &text[range.clone()];
    let meant = match mode {
        Mode::Everything => value.len() >= 4,
        Mode::Output | Mode::Code => value.len() >= LEAST && shape::is_mixed(value.as_bytes()),
    };
    let scheme_alone = is_scheme(value) && range.start == start;
    let secret = meant && !scheme_alone && !mask::is_mask(value) && !shape::is_code(value);
    secret.then(|| Hit::new(range, With::Mask))
}

/// A bearer token without the header's name before it.
pub(crate) fn bearer(text: &str, start: usize) -> Option<Hit> {
    let bytes = text.as_bytes();
    let range = trimmed(bytes, start..credential_end(bytes, start));
    let value = &text[range.clone()];
    let secret = value.len() >= LEAST && shape::is_mixed(value.as_bytes()) && !shape::is_code(value);
    (secret && !mask::is_mask(value)).then(|| Hit::new(range, With::Mask))
}

/// A header whose whole value is a key. The word is the part of its name that was found.
pub(crate) fn key_header(text: &str, word: Range<usize>) -> Option<Hit> {
    let bytes = text.as_bytes();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let floor = word.start.saturating_sub(24);
    let start = (floor..word.start)
        .rev()
        .find(|&at| !is_name(bytes[at]))
        .map_or(floor, |at| at + 1);
    let end = shape::run(&bytes[..bytes.len().min(word.end + 24)], word.end, is_name);
    let name = text.get(start..end)?;
    if !KEY_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name)) {
        return None;
    }
    let start = value_start(bytes, end)?;
    let range = trimmed(bytes, start..credential_end(bytes, start));
    let value = &text[range.clone()];
    let secret = value.len() >= 8 && shape::looks_random(value.as_bytes()) && !shape::is_code(value);
    (secret && !mask::is_mask(value)).then(|| Hit::new(range, With::Mask))
}

/// Behind the name: an optional quote, `:` or `=`, blanks, an optional quote.
fn value_start(bytes: &[u8], name_end: usize) -> Option<usize> {
    let quote = |byte: u8| matches!(byte, b'"' | b'\'' | b'\\');
    let at = shape::run(bytes, name_end, |byte| {
        quote(byte) || byte == b' ' || byte == b']'
    });
    if !matches!(bytes.get(at), Some(b':' | b'=')) {
        return None;
    }
    let at = shape::run(bytes, at + 1, |byte| byte == b' ' || byte == b'\t');
    Some(shape::run(bytes, at, quote))
}

fn credential_end(bytes: &[u8], start: usize) -> usize {
    shape::run(bytes, start, |byte| {
        !byte.is_ascii_whitespace()
            && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'<' | b'>' | b'&' | b';')
    })
}

fn trimmed(bytes: &[u8], range: Range<usize>) -> Range<usize> {
    let tail = bytes[range.clone()]
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b',' | b')' | b'}' | b']'));
    range.start..range.end - tail.count()
}

fn is_scheme(word: &str) -> bool {
    const SCHEMES: &[&str] = &[
        "bearer",
        "basic",
        "token",
        "digest",
        "apikey",
        "api-key",
        "key",
        "negotiate",
        "bot",
        "oauth",
        "ntlm",
    ];
    let word = word.trim_end_matches(',');
    SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(word))
        || (word.len() < 20
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b'-'))
        || word.starts_with("AWS4-")
}
