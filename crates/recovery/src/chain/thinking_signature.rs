//! Anthropic signs each `thinking` block over the turn it was produced in.
//! Editing anything before it (a compression, a stripped image) voids the
//! signature and every later call answers 400 until the block is gone.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation};

described! {
    /// Drops signed thinking from the outgoing request and calls again.
    pub(super) struct ThinkingSignature;
}

impl Recoverer for ThinkingSignature {
    fn name(&self) -> &'static str {
        "thinking_signature"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::ThinkingSignature]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        // Without signed blocks in the request the 400 means something else;
        // dropping nothing and retrying would only burn the budget.
        failure
            .request
            .signed_thinking
            .then_some(Remedy::Rewrite(Rewrite::DropSignedThinking))
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn a_server_that_refuses_every_signature_is_not_asked_for_ever() {
        let refused = failure(ErrorKind::ThinkingSignature);
        let mut ledger = Ledger::default();
        let drop = Remedy::Rewrite(Rewrite::DropSignedThinking);
        assert_eq!(decide(&refused, &Situation::default(), &mut ledger).remedy, drop);
        assert_eq!(
            decide(&refused, &Situation::default(), &mut ledger).remedy,
            Remedy::GiveUp
        );
    }

    #[test]
    fn without_signed_thinking_there_is_nothing_to_drop() {
        let mut refused = failure(ErrorKind::ThinkingSignature);
        refused.request.signed_thinking = false;
        assert_eq!(
            ThinkingSignature.propose(&refused, &Situation::default(), &Ledger::default()),
            None
        );
    }
}
