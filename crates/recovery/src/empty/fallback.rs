//! A provider that stays silent is left; the next one starts with every chance.

use super::{EmptyAnswer, EmptyRemedy, EmptyRow};
use crate::described::described;
use crate::{Budget, Ledger};

described! {
    /// Goes to the next provider when this one stays silent.
    pub(super) struct Fallback;
}

impl EmptyRow for Fallback {
    fn name(&self) -> &'static str {
        "empty_fallback"
    }

    fn budget(&self) -> Budget {
        Budget::Fallbacks
    }

    fn propose(&self, answer: &EmptyAnswer, _: &Ledger) -> Option<EmptyRemedy> {
        (answer.fallbacks_left > 0).then_some(EmptyRemedy::SwitchProvider)
    }
}
