//! Before anything is given up the next provider is asked, whatever it was.

use super::{Recoverer, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Goes to the next provider when nothing else is left to try with this one.
    pub(super) struct LastFallback;
}

impl Recoverer for LastFallback {
    fn name(&self) -> &'static str {
        "last_fallback"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[]
    }

    fn budget(&self) -> Budget {
        Budget::Fallbacks
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        if is_elsewhere_too(failure.kind) {
            None
        } else {
            switch(situation)
        }
    }
}

/// Whether the failure would be the same with every provider, or has a row that says how far it goes.
fn is_elsewhere_too(kind: ErrorKind) -> bool {
    match kind {
        ErrorKind::Interrupted
        | ErrorKind::TurnLimit
        | ErrorKind::SpendLimit
        | ErrorKind::SessionBusy
        | ErrorKind::Config
        | ErrorKind::Internal
        | ErrorKind::SslCertVerification
        | ErrorKind::ContentPolicyBlocked
        | ErrorKind::Refused => true,
        ErrorKind::Auth
        | ErrorKind::AuthPermanent
        | ErrorKind::Billing
        | ErrorKind::RateLimit
        | ErrorKind::UpstreamRateLimit
        | ErrorKind::Overloaded
        | ErrorKind::ServerError
        | ErrorKind::Timeout
        | ErrorKind::ContextOverflow
        | ErrorKind::OutputCap
        | ErrorKind::PayloadTooLarge
        | ErrorKind::ImageTooLarge
        | ErrorKind::ImageRejected
        | ErrorKind::ModelNotFound
        | ErrorKind::ProviderPolicyBlocked
        | ErrorKind::FormatError
        | ErrorKind::UnsupportedParameter
        | ErrorKind::ThinkingSignature
        | ErrorKind::InvalidEncryptedContent
        | ErrorKind::LongContextTier
        | ErrorKind::OauthLongContextBetaForbidden
        | ErrorKind::LlamaCppGrammarPattern
        | ErrorKind::MultimodalToolContentUnsupported
        | ErrorKind::StreamingUnsupported
        | ErrorKind::InvalidResponse
        | ErrorKind::IncompleteStream
        | ErrorKind::NonAsciiCredential
        | ErrorKind::Surrogates
        | ErrorKind::EmptyAnswer
        | ErrorKind::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{failure, with_fallback};
    use super::*;

    #[test]
    fn the_fallback_is_asked_before_anything_is_given_up() {
        let mut ledger = Ledger::default();
        let situation = Situation {
            max_retries: 0,
            ..with_fallback()
        };
        let decision = decide(&failure(ErrorKind::Unknown), &situation, &mut ledger);
        assert_eq!(
            (decision.row.as_str(), decision.remedy),
            ("last_fallback", Remedy::SwitchProvider)
        );
    }

    #[test]
    fn what_the_person_stopped_is_not_taken_elsewhere() {
        for kind in [
            ErrorKind::Interrupted,
            ErrorKind::TurnLimit,
            ErrorKind::SpendLimit,
            ErrorKind::Config,
        ] {
            assert_eq!(
                decide(&failure(kind), &with_fallback(), &mut Ledger::default()).remedy,
                Remedy::GiveUp
            );
        }
    }
}
