//! The answer came with a success status and is none: no choices, no message, no
//! JSON. Most often a gateway that is limited or broken and does not say so.

use super::{Recoverer, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, backoff};

described! {
    /// Goes to the next provider after an answer that was none, else waits and calls again.
    pub(super) struct InvalidResponse;
}

impl Recoverer for InvalidResponse {
    fn name(&self) -> &'static str {
        "invalid_response"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::InvalidResponse]
    }

    fn budget(&self) -> Budget {
        Budget::Retries
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        if let Some(switch) = switch(situation) {
            return Some(switch);
        }
        let wait_ms = backoff::wait_ms(failure, ledger.retries() + 1, situation.entropy);
        (wait_ms <= situation.patience_ms).then_some(Remedy::Wait { wait_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{failure, with_fallback};
    use super::*;

    #[test]
    fn an_answer_that_is_none_goes_to_the_fallback_first() {
        let decision = decide(
            &failure(ErrorKind::InvalidResponse),
            &with_fallback(),
            &mut Ledger::default(),
        );
        assert_eq!(
            (decision.row.as_str(), decision.remedy),
            ("invalid_response", Remedy::SwitchProvider)
        );
    }

    #[test]
    fn without_a_fallback_it_is_asked_again_after_five_seconds_and_more() {
        let mut ledger = Ledger::default();
        for (attempt, floor) in [(1, 5_000), (2, 10_000), (3, 20_000)] {
            let decision = decide(
                &failure(ErrorKind::InvalidResponse),
                &Situation::default(),
                &mut ledger,
            );
            assert_eq!((decision.attempt, decision.limit), (attempt, 3));
            let Remedy::Wait { wait_ms } = decision.remedy else {
                panic!("{decision:?}")
            };
            assert!((floor..=floor + floor / 2).contains(&wait_ms), "{wait_ms}");
        }
        let last = decide(
            &failure(ErrorKind::InvalidResponse),
            &Situation::default(),
            &mut ledger,
        );
        assert_eq!(last.remedy, Remedy::GiveUp);
    }
}
