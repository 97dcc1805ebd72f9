//! Credentials in the authority of a URL: `postgres://user:password@host`, `https://TOKEN@host`.
//!
//! The query of a URL is left to the rules for names: a link that an agent was given must go on
//! working, and only what is named as a secret is hidden, and not in tool output.

use crate::{
    mask,
    scan::{Hit, With},
    shape,
};
use std::{borrow::Cow, ops::Range};

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

/// Where in an address something secret stands: who logs in, and the values of names like `key`.
fn secret_places(url: &str) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let (start, end) = match url.find("://") {
        Some(mark) => {
            let start = mark + 3;
            let length = url[start..].find(['/', '?', '#']).unwrap_or(url.len() - start);
            (start, start + length)
        }
        None => (0, 0),
    };
    if let Some(at) = url[start..end].rfind('@') {
        places.push(start..start + at);
    }
    let Some(question) = url[end..].find('?') else {
        return places;
    };
    let mut at = end + question + 1;
    let stop = url[at..].find('#').map_or(url.len(), |found| at + found);
    for pair in url[at..stop].split('&') {
        if let Some((name, value)) = pair.split_once('=')
            && !value.is_empty()
            && is_key_like(name)
        {
            let from = at + name.len() + 1;
            places.push(from..from + value.len());
        }
        at += pair.len() + 1;
    }
    places
}

fn is_key_like(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = [
        "key",
        "token",
        "secret",
        "pass",
        "pwd",
        "sig",
        "auth",
        "credential",
        "code",
        "jwt",
    ];
    words.iter().any(|word| name.contains(word))
}

/// An address for showing: who logs in and the values of names like `key` are `***`.
///
/// ```
/// let url = "http://bob:hunter2@host/v1?api-key=K&v=2";
/// assert_eq!(talaria_redact::redact_url(url), "http://***@host/v1?api-key=***&v=2");
/// ```
pub fn redact_url(url: &str) -> Cow<'_, str> {
    let places = secret_places(url);
    if places.is_empty() {
        return Cow::Borrowed(url);
    }
    let mut masked = url.to_owned();
    for place in places.into_iter().rev() {
        masked.replace_range(place, "***");
    }
    Cow::Owned(masked)
}

/// What is secret in an address: the password and the values of names like `key`.
pub fn secrets_of_url(url: &str) -> Vec<String> {
    let secret = |place: Range<usize>| {
        let value = &url[place];
        value
            .split_once(':')
            .map_or(value, |(_, password)| password)
            .to_owned()
    };
    secret_places(url).into_iter().map(secret).collect()
}
