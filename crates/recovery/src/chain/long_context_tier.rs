//! Beyond 200 000 tokens Anthropic asks for a tier that not every account has.
//! The model's window is then the smaller one.

use super::{COMPRESSION, Recoverer};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Takes 200 000 tokens as the window, compresses and calls again.
    pub(super) struct LongContextTier;
}

/// The window without the tier.
const WINDOW: u64 = 200_000;

impl Recoverer for LongContextTier {
    fn name(&self) -> &'static str {
        "long_context_tier"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::LongContextTier]
    }

    fn budget(&self) -> Budget {
        COMPRESSION
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let known = failure.request.window;
        let window = (known == 0 || known > WINDOW).then_some(WINDOW);
        situation.may_compact.then_some(Remedy::Compact { window })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn a_larger_window_becomes_the_smaller_one_and_a_smaller_one_stays() {
        let mut failure = failure(ErrorKind::LongContextTier);
        for (known, window) in [(1_000_000, Some(200_000)), (200_000, None), (128_000, None)] {
            failure.request.window = known;
            let remedy = asked(&LongContextTier, &failure, &Situation::default());
            assert_eq!(remedy, Some(Remedy::Compact { window }), "{known}");
        }
    }
}
