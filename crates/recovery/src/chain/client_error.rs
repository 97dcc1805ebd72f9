//! The server says that the request, the model or the account is wrong. Sending
//! it again unchanged cannot succeed; another provider may see it otherwise.

use super::{Recoverer, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, Symptom};

described! {
    /// Goes to the next provider with what this one calls wrong, or ends without a second try.
    pub(super) struct ClientError;
}

impl Recoverer for ClientError {
    fn name(&self) -> &'static str {
        "client_error"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[
            ErrorKind::FormatError,
            ErrorKind::ModelNotFound,
            ErrorKind::Auth,
            ErrorKind::AuthPermanent,
            ErrorKind::Billing,
            ErrorKind::ProviderPolicyBlocked,
            ErrorKind::OauthLongContextBetaForbidden,
            ErrorKind::ImageRejected,
            ErrorKind::ThinkingSignature,
            ErrorKind::LlamaCppGrammarPattern,
            ErrorKind::InvalidResponse,
            ErrorKind::Unknown,
        ]
    }

    fn budget(&self) -> Budget {
        Budget::Fallbacks
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let ours = match failure.symptom {
            // Rows of their own repair these.
            Some(Symptom::ReasoningNotEchoed | Symptom::PrefillRefused) => false,
            Some(Symptom::WrongAddress) => true,
            _ => !matches!(failure.kind, ErrorKind::Unknown | ErrorKind::InvalidResponse),
        };
        ours.then(|| switch(situation).unwrap_or(Remedy::GiveUp))
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{failure, with_fallback};
    use super::*;

    #[test]
    fn a_request_the_server_calls_wrong_is_sent_once() {
        for kind in [
            ErrorKind::FormatError,
            ErrorKind::ModelNotFound,
            ErrorKind::Auth,
            ErrorKind::Billing,
        ] {
            let alone = decide(&failure(kind), &Situation::default(), &mut Ledger::default());
            assert_eq!(
                (alone.row.as_str(), alone.remedy),
                ("client_error", Remedy::GiveUp),
                "{kind:?}"
            );
            let decision = decide(&failure(kind), &with_fallback(), &mut Ledger::default());
            assert_eq!(decision.remedy, Remedy::SwitchProvider, "{kind:?}");
        }
    }

    #[test]
    fn a_wrong_address_is_not_asked_again() {
        for kind in [ErrorKind::Unknown, ErrorKind::InvalidResponse] {
            let mut lost = failure(kind);
            lost.symptom = Some(Symptom::WrongAddress);
            let alone = decide(&lost, &Situation::default(), &mut Ledger::default());
            assert_eq!(
                (alone.row.as_str(), alone.remedy),
                ("client_error", Remedy::GiveUp)
            );
            let other = decide(&lost, &with_fallback(), &mut Ledger::default());
            assert_eq!(other.remedy, Remedy::SwitchProvider);
        }
    }
}
