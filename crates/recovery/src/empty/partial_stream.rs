//! Text that was already shown is the answer, even if its end never came.

use super::{EmptyAnswer, EmptyRemedy, EmptyRow};
use crate::described::described;
use crate::{Budget, Ledger};

described! {
    /// Takes the text that had been streamed as the answer, marked partial.
    pub(super) struct PartialStream;
}

impl EmptyRow for PartialStream {
    fn name(&self) -> &'static str {
        "empty_partial_stream"
    }

    fn budget(&self) -> Budget {
        Budget::Final
    }

    fn propose(&self, answer: &EmptyAnswer, _: &Ledger) -> Option<EmptyRemedy> {
        (!answer.streamed.trim().is_empty()).then_some(EmptyRemedy::KeepPartial)
    }
}
