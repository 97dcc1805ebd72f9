//! A model may think to the end and then say nothing. Seeing its own thought at
//! the beginning of its answer, it says what it had decided to say.

use super::{EmptyAnswer, EmptyRemedy, EmptyRow};
use crate::described::described;
use crate::{Budget, Ledger};

described! {
    /// Hands a thought back to the model that had it and said nothing.
    pub(super) struct ThinkingPrefill;
}

const LIMIT: u32 = 2;

/// Whether this row has nothing left in this call.
pub(super) fn is_spent(ledger: &Ledger) -> bool {
    ledger.in_call(ThinkingPrefill.name()) >= LIMIT
}

impl EmptyRow for ThinkingPrefill {
    fn name(&self) -> &'static str {
        "empty_thinking_prefill"
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(LIMIT)
    }

    fn propose(&self, answer: &EmptyAnswer, _: &Ledger) -> Option<EmptyRemedy> {
        answer.thought.then_some(EmptyRemedy::Prefill)
    }
}
