//! The header that asks for a million tokens is refused for subscriptions that
//! do not have it, together with the request it came with.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Leaves the long-context beta header out and calls again.
    pub(super) struct OauthLongContextBeta;
}

/// The value of `anthropic-beta` that is left out.
const HEADER: &str = "context-1m-2025-08-07";

impl Recoverer for OauthLongContextBeta {
    fn name(&self) -> &'static str {
        "oauth_long_context_beta"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::OauthLongContextBetaForbidden]
    }

    fn budget(&self) -> Budget {
        Budget::PerTurn(1)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        // Without the header there is nothing to leave out.
        failure
            .request
            .long_context_beta
            .then(|| Remedy::Rewrite(Rewrite::DropBetaHeader(HEADER.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn the_header_is_left_out_only_if_it_was_sent() {
        let mut failure = failure(ErrorKind::OauthLongContextBetaForbidden);
        let drop = Remedy::Rewrite(Rewrite::DropBetaHeader("context-1m-2025-08-07".into()));
        assert_eq!(
            asked(&OauthLongContextBeta, &failure, &Situation::default()),
            Some(drop)
        );
        failure.request.long_context_beta = false;
        assert_eq!(
            asked(&OauthLongContextBeta, &failure, &Situation::default()),
            None
        );
    }
}
