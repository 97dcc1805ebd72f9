//! What is over by itself is waited out: longer each time, with jitter, and not
//! more often than the person configured.

use super::{Recoverer, has_usable_text, rate_limited};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, backoff};

described! {
    /// Waits longer each time for a server that failed, is overloaded or was not reached.
    pub(super) struct BackOff;
}

impl Recoverer for BackOff {
    fn name(&self) -> &'static str {
        "back_off"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[
            ErrorKind::Overloaded,
            ErrorKind::ServerError,
            ErrorKind::Timeout,
            ErrorKind::IncompleteStream,
            ErrorKind::Unknown,
        ]
    }

    fn budget(&self) -> Budget {
        Budget::Retries
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        if failure.kind == ErrorKind::IncompleteStream && has_usable_text(failure) {
            return None;
        }
        let wait_ms = backoff::wait_ms(failure, ledger.retries() + 1, situation.entropy);
        rate_limited::is_worth_it(wait_ms, situation).then_some(Remedy::Wait { wait_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn pauses_grow_and_their_number_follows_the_setting() {
        for max_retries in [0, 1, 3] {
            let situation = Situation {
                max_retries,
                ..Situation::default()
            };
            let mut ledger = Ledger::default();
            let mut last = 0;
            for _ in 0..max_retries {
                let remedy = decide(&failure(ErrorKind::ServerError), &situation, &mut ledger).remedy;
                let Remedy::Wait { wait_ms } = remedy else {
                    panic!("{remedy:?}")
                };
                assert!(wait_ms > last, "{wait_ms} after {last}");
                last = wait_ms;
            }
            assert_eq!(
                decide(&failure(ErrorKind::ServerError), &situation, &mut ledger).remedy,
                Remedy::GiveUp
            );
        }
    }

    #[test]
    fn failures_of_different_kinds_share_the_retries() {
        let mut ledger = Ledger::default();
        let kinds = [
            ErrorKind::ServerError,
            ErrorKind::RateLimit,
            ErrorKind::InvalidResponse,
            ErrorKind::Overloaded,
        ];
        let attempts: Vec<(u32, Remedy)> = kinds
            .map(|kind| decide(&failure(kind), &Situation::default(), &mut ledger))
            .map(|decision| (decision.attempt, decision.remedy))
            .to_vec();
        assert_eq!(
            attempts.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(),
            [1, 2, 3, 1]
        );
        assert_eq!(attempts.last().map(|(_, remedy)| remedy), Some(&Remedy::GiveUp));
    }
}
