//! JSON and JavaScript allow half a surrogate pair in a string; Unicode and most
//! servers do not. A model that stops in the middle of an emoji leaves one in
//! the history, and from then on every request is refused.

use super::{Recoverer, UNICODE};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Replaces text of the request that is no Unicode and calls again.
    pub(super) struct Surrogates;
}

impl Recoverer for Surrogates {
    fn name(&self) -> &'static str {
        "surrogates"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Surrogates]
    }

    fn budget(&self) -> Budget {
        UNICODE
    }

    fn propose(&self, _: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        Some(Remedy::Rewrite(Rewrite::ScrubSurrogates))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn text_that_is_no_unicode_is_replaced() {
        let remedy = asked(
            &Surrogates,
            &failure(ErrorKind::Surrogates),
            &Situation::default(),
        );
        assert_eq!(remedy, Some(Remedy::Rewrite(Rewrite::ScrubSurrogates)));
    }
}
