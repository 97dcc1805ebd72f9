//! A limit on requests or tokens per minute is over soon, and most servers say
//! when. What they ask for is waited exactly; a wait longer than the patience is
//! not begun.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, Symptom, backoff};

described! {
    /// Waits as long as a limited server asks for, or longer each time, and calls again.
    pub(super) struct RateLimited;
}

impl Recoverer for RateLimited {
    fn name(&self) -> &'static str {
        "rate_limited"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::RateLimit, ErrorKind::UpstreamRateLimit]
    }

    fn budget(&self) -> Budget {
        Budget::Retries
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        if matches!(failure.symptom, Some(Symptom::QuotaSpent | Symptom::BucketEmpty)) {
            return None;
        }
        let wait_ms = backoff::wait_ms(failure, ledger.retries() + 1, situation.entropy);
        is_worth_it(wait_ms, situation).then_some(Remedy::Wait { wait_ms })
    }
}

/// Whether a wait is begun at all.
pub(super) fn is_worth_it(wait_ms: u64, situation: &Situation) -> bool {
    wait_ms <= backoff::SERVER_CAP_MS.min(situation.patience_ms)
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn a_wait_the_server_names_is_waited_exactly() {
        let mut limited = failure(ErrorKind::RateLimit);
        limited.retry_after_ms = Some(6_781);
        let decision = decide(&limited, &Situation::default(), &mut Ledger::default());
        assert_eq!(
            (decision.row.as_str(), decision.remedy),
            ("rate_limited", Remedy::Wait { wait_ms: 6_781 })
        );
    }

    #[test]
    fn a_wait_longer_than_the_patience_ends_with_the_number_said() {
        let mut limited = failure(ErrorKind::RateLimit);
        limited.retry_after_ms = Some(36_000_000);
        let decision = decide(&limited, &Situation::default(), &mut Ledger::default());
        assert_eq!(decision.remedy, Remedy::GiveUp);
        assert!(decision.note.unwrap().contains("10 h"));
        limited.retry_after_ms = Some(20_000);
        let hasty = Situation {
            patience_ms: 10_000,
            ..Situation::default()
        };
        assert_eq!(
            decide(&limited, &hasty, &mut Ledger::default()).remedy,
            Remedy::GiveUp
        );
    }
}
