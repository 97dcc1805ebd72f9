//! OpenAI encrypts reasoning for the organisation that asked. After a change of
//! key, account or endpoint it cannot be read any more, and a history that holds
//! it is refused for ever.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Drops encrypted reasoning from the outgoing request and calls again.
    pub(super) struct EncryptedContent;
}

impl Recoverer for EncryptedContent {
    fn name(&self) -> &'static str {
        "encrypted_content"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::InvalidEncryptedContent]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        failure
            .request
            .encrypted_reasoning
            .then_some(Remedy::Rewrite(Rewrite::DropEncryptedReasoning))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn encrypted_reasoning_is_dropped_only_if_it_was_sent() {
        let mut failure = failure(ErrorKind::InvalidEncryptedContent);
        let drop = Some(Remedy::Rewrite(Rewrite::DropEncryptedReasoning));
        assert_eq!(asked(&EncryptedContent, &failure, &Situation::default()), drop);
        failure.request.encrypted_reasoning = false;
        assert_eq!(asked(&EncryptedContent, &failure, &Situation::default()), None);
    }
}
