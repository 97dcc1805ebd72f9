//! The provider behind an aggregator is limited, for all of its customers.
//! Another key of ours meets the same limit; another provider does not.

use super::{Recoverer, switch};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Goes to the next provider when the one behind an aggregator is limited; never rotates keys.
    pub(super) struct UpstreamRateLimit;
}

impl Recoverer for UpstreamRateLimit {
    fn name(&self) -> &'static str {
        "upstream_rate_limit"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::UpstreamRateLimit]
    }

    fn budget(&self) -> Budget {
        Budget::Fallbacks
    }

    fn propose(&self, _: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        switch(situation)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{failure, with_fallback};
    use super::*;

    #[test]
    fn another_key_is_never_tried_for_a_limit_behind_an_aggregator() {
        let limited = failure(ErrorKind::UpstreamRateLimit);
        let pool = Situation {
            can_rotate: true,
            ..with_fallback()
        };
        assert_eq!(
            decide(&limited, &pool, &mut Ledger::default()).remedy,
            Remedy::SwitchProvider
        );
        let alone = Situation {
            can_rotate: true,
            ..Situation::default()
        };
        assert!(matches!(
            decide(&limited, &alone, &mut Ledger::default()).remedy,
            Remedy::Wait { .. }
        ));
    }
}
