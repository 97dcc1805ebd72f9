//! Credentials in the authority of a URL: `postgres://user:password@host`, `https://TOKEN@host`.
//!
//! The query of a URL is left to the rules for names: a link that an agent was given must go on
//! working, and only what is named as a secret is hidden, and not in tool output.

use crate::{
    mask,
    scan::{Hit, With},
    shape,
};
use std::ops::Range;

/// Longer than any credential; a bound for lines that are one endless word.
const REACH: usize = 512;

/// The password, or the token alone, before the `@` of the URL whose `://` is here.
pub(crate) fn userinfo(text: &str, mark: Range<usize>) -> Option<Hit> {
    let bytes = text.as_bytes();
    if !shape::before(bytes, mark.start).is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let ceiling = bytes.len().min(mark.end + REACH);
    let end = shape::run(&bytes[..ceiling], mark.end, |byte| {
        !byte.is_ascii_whitespace()
            && !matches!(
                byte,
                b'/' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'?' | b'#' | b'\\' | b',' | b'(' | b')'
            )
    });
    let at = bytes[mark.end..end].iter().rposition(|&byte| byte == b'@')? + mark.end;
    match bytes[mark.end..at].iter().position(|&byte| byte == b':') {
        Some(colon) => password(text, mark.end + colon + 1..at),
        None => token(text, mark.end..at),
    }
}

fn password(text: &str, range: Range<usize>) -> Option<Hit> {
    let value = &text[range.clone()];
    let template = value.starts_with(['$', '{', '<', '%', '*']) && !value.starts_with("%4");
    let secret = !value.is_empty() && !template && !mask::is_mask(value);
    secret.then(|| Hit::new(range, With::Stars))
}

/// A user name is no secret; a long run of letters and digits is a token (git remotes).
fn token(text: &str, range: Range<usize>) -> Option<Hit> {
    let value = &text[range.clone()];
    let secret = value.len() >= 16 && shape::is_mixed(value.as_bytes()) && !mask::is_mask(value);
    (secret && !value.starts_with(['$', '{', '<'])).then(|| Hit::new(range, With::Mask))
}
