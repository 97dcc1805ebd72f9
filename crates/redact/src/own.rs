//! The keys of this very process, for all that shows what is stored: search, recall, exports, logs.
//!
//! These places are far from where the configuration is read, and one that is forgotten shows a key;
//! so the process learns its keys once, and whoever masks for showing asks here.

use crate::{KnownSecrets, redact};
use std::{
    borrow::Cow,
    sync::{PoisonError, RwLock},
};

static OWN: RwLock<Option<KnownSecrets>> = RwLock::new(None);

/// Adds values that [`redact_own`] hides, whatever they look like.
pub fn learn<I: IntoIterator<Item = String>>(values: I) {
    let mut own = OWN.write().unwrap_or_else(PoisonError::into_inner);
    let before = own.take().unwrap_or_default();
    *own = Some(before.and(values));
}

/// As [`redact`], and the keys of this process verbatim.
pub fn redact_own(text: &str) -> Cow<'_, str> {
    let own = OWN.read().unwrap_or_else(PoisonError::into_inner);
    match own.as_ref().map(|own| own.mask(text)) {
        Some(Cow::Owned(masked)) => Cow::Owned(redact(&masked).into_owned()),
        Some(Cow::Borrowed(_)) | None => redact(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_without_a_shape_is_hidden_once_it_was_learnt() {
        assert_eq!(redact_own("it is local-word-77"), "it is local-word-77");
        learn(["local-word-77".to_owned()]);
        learn(["local-word-88".to_owned()]);
        assert_eq!(redact_own("local-word-77, local-word-88"), "***, ***");
    }
}
