//! Z.AI's coding plan is overloaded for minutes at a time at busy hours. The
//! ordinary retries are over before it is; patient ones get through.

use super::Recoverer;
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, Symptom, backoff};

described! {
    /// Waits longer and more often for a provider that is known to be overloaded for minutes.
    pub(super) struct OverloadSchedule;
}

/// The waits after three short ones, in milliseconds.
const LONG_MS: [u64; 5] = [30_000, 60_000, 90_000, 120_000, 120_000];

impl Recoverer for OverloadSchedule {
    fn name(&self) -> &'static str {
        "overload_schedule"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Overloaded]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(8)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        if failure.symptom != Some(Symptom::LongOverload) {
            return None;
        }
        let attempt = ledger.in_call(self.name()) + 1;
        let wait_ms = match usize::try_from(attempt)
            .ok()
            .and_then(|n| LONG_MS.get(n.checked_sub(4)?))
        {
            Some(long) => long + situation.entropy % (long / 5),
            None => backoff::wait_ms(failure, attempt, situation.entropy),
        };
        (wait_ms <= situation.patience_ms).then_some(Remedy::Wait { wait_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn three_short_waits_are_followed_by_five_long_ones() {
        let mut busy = failure(ErrorKind::Overloaded);
        busy.symptom = Some(Symptom::LongOverload);
        let mut ledger = Ledger::default();
        let mut waits = Vec::new();
        for _ in 0..8 {
            let decision = decide(&busy, &Situation::default(), &mut ledger);
            assert_eq!((decision.row.as_str(), decision.limit), ("overload_schedule", 8));
            if let Remedy::Wait { wait_ms } = decision.remedy {
                waits.push(wait_ms / 1_000);
            }
        }
        assert_eq!(waits.get(3..), Some(&[30, 60, 90, 120, 120][..]));
        assert!(waits.iter().take(3).all(|wait| *wait <= 12), "{waits:?}");
    }
}
