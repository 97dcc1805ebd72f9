//! With another provider at hand nobody wants to wait for a limited or empty
//! account, nor a third time for a server that just failed twice.

use super::{Recoverer, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Goes to the next provider at once when this one is limited or out of money, or failed twice.
    pub(super) struct EagerFallback;
}

impl Recoverer for EagerFallback {
    fn name(&self) -> &'static str {
        "eager_fallback"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[
            ErrorKind::RateLimit,
            ErrorKind::Billing,
            ErrorKind::Overloaded,
            ErrorKind::ServerError,
            ErrorKind::Timeout,
            ErrorKind::IncompleteStream,
        ]
    }

    fn budget(&self) -> Budget {
        Budget::Fallbacks
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        let now = if matches!(failure.kind, ErrorKind::RateLimit | ErrorKind::Billing) {
            // The pool may still have what it takes; its row says when it is left.
            !situation.can_rotate
        } else {
            ledger.failures() >= 2
        };
        if now { switch(situation) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{failure, with_fallback};
    use super::*;

    #[test]
    fn a_limit_or_an_empty_account_goes_to_the_fallback_at_once() {
        for kind in [ErrorKind::RateLimit, ErrorKind::Billing] {
            let decision = decide(&failure(kind), &with_fallback(), &mut Ledger::default());
            assert_eq!(decision.remedy, Remedy::SwitchProvider, "{kind:?}");
        }
    }

    #[test]
    fn an_overload_is_waited_out_once_before_the_fallback() {
        let mut ledger = Ledger::default();
        let busy = failure(ErrorKind::Overloaded);
        assert!(matches!(
            decide(&busy, &with_fallback(), &mut ledger).remedy,
            Remedy::Wait { .. }
        ));
        assert_eq!(
            decide(&busy, &with_fallback(), &mut ledger).remedy,
            Remedy::SwitchProvider
        );
    }
}
