//! Secrets in what search and listings show.

use std::borrow::Cow;

/// Masks the secrets of a text.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    talaria_redact::redact(text)
}
