//! Some limits say when they end: a plan's quota, or a bucket that the headers
//! show empty for minutes. Polling before that moment cannot succeed and is
//! counted against the account, so there is one wait of the right length or none.

use super::{Recoverer, rate_limited};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, Symptom};

described! {
    /// Waits once until a spent quota is filled again, or ends when that is too far away.
    pub(super) struct SpentBucket;
}

impl Recoverer for SpentBucket {
    fn name(&self) -> &'static str {
        "spent_bucket"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::RateLimit]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        if !matches!(failure.symptom, Some(Symptom::QuotaSpent | Symptom::BucketEmpty)) {
            return None;
        }
        let wait_ms = failure
            .retry_after_ms
            .filter(|ms| rate_limited::is_worth_it(*ms, situation));
        Some(wait_ms.map_or(Remedy::GiveUp, |wait_ms| Remedy::Wait { wait_ms }))
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn a_used_up_daily_quota_ends_at_once() {
        let mut spent = failure(ErrorKind::RateLimit);
        spent.symptom = Some(Symptom::QuotaSpent);
        assert_eq!(
            decide(&spent, &Situation::default(), &mut Ledger::default()).remedy,
            Remedy::GiveUp
        );
    }

    #[test]
    fn a_bucket_that_fills_soon_is_waited_for_once() {
        let mut spent = failure(ErrorKind::RateLimit);
        spent.symptom = Some(Symptom::BucketEmpty);
        spent.retry_after_ms = Some(171_000);
        let mut ledger = Ledger::default();
        let remedies: Vec<Remedy> = (0..2)
            .map(|_| decide(&spent, &Situation::default(), &mut ledger).remedy)
            .collect();
        assert_eq!(remedies, [Remedy::Wait { wait_ms: 171_000 }, Remedy::GiveUp]);
    }

    #[test]
    fn a_plan_that_resets_in_hours_is_not_waited_for() {
        let mut spent = failure(ErrorKind::RateLimit);
        spent.symptom = Some(Symptom::QuotaSpent);
        spent.retry_after_ms = Some(10_800_000);
        let decision = decide(&spent, &Situation::default(), &mut Ledger::default());
        assert_eq!(decision.remedy, Remedy::GiveUp);
        assert!(decision.note.unwrap().contains("3 h"));
    }
}
