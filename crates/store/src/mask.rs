//! Secrets in what search and listings show.

use std::borrow::Cow;

/// Masks the secrets of a text.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    talaria_redact::redact_own(text)
}

/// An address without what opens it: who logs in, and what is asked for.
pub(crate) fn place_of(url: &str) -> Cow<'_, str> {
    let bare = url.split(['?', '#']).next().unwrap_or(url);
    let Some((scheme, rest)) = bare.split_once("://") else {
        return Cow::Borrowed(bare);
    };
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rfind('@') {
        Some(at) => Cow::Owned(format!("{scheme}://{}", &rest[at + 1..])),
        None => Cow::Borrowed(bare),
    }
}
