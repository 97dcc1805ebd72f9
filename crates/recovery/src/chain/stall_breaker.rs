//! A provider once stalled 494 times in a row over three days, each time until
//! the time limit. After five in a row it is not given another.

use super::{Recoverer, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, Symptom};

described! {
    /// Leaves a provider whose streams stalled five times in a row, over turns.
    pub(super) struct StallBreaker;
}

/// Stalls in a row that are suffered.
const STALLS: u32 = 5;

impl Recoverer for StallBreaker {
    fn name(&self) -> &'static str {
        "stall_breaker"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::Timeout]
    }

    fn budget(&self) -> Budget {
        Budget::Fallbacks
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let broken = failure.symptom == Some(Symptom::Stalled) && situation.stalls >= STALLS;
        broken.then(|| switch(situation).unwrap_or(Remedy::GiveUp))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure, with_fallback};
    use super::*;

    #[test]
    fn the_fifth_stall_in_a_row_is_the_last() {
        let mut stalled = failure(ErrorKind::Timeout);
        stalled.symptom = Some(Symptom::Stalled);
        let at = |stalls, situation| Situation { stalls, ..situation };
        assert_eq!(asked(&StallBreaker, &stalled, &at(4, with_fallback())), None);
        assert_eq!(
            asked(&StallBreaker, &stalled, &at(5, with_fallback())),
            Some(Remedy::SwitchProvider)
        );
        assert_eq!(
            asked(&StallBreaker, &stalled, &at(5, Situation::default())),
            Some(Remedy::GiveUp)
        );
    }
}
