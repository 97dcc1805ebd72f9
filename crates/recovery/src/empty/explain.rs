//! The honest end: no sentinel that looks like an answer, but a sentence that
//! says what happened.

use super::{EmptyAnswer, EmptyRemedy, EmptyRow};
use crate::described::described;
use crate::{Budget, Ledger};

described! {
    /// Ends the turn and says that the model answered with nothing.
    pub(super) struct Explain;
}

impl EmptyRow for Explain {
    fn name(&self) -> &'static str {
        "empty_explain"
    }

    fn budget(&self) -> Budget {
        Budget::Final
    }

    fn propose(&self, _: &EmptyAnswer, _: &Ledger) -> Option<EmptyRemedy> {
        Some(EmptyRemedy::Explain)
    }
}
