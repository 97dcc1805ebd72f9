//! Some models fall silent after a tool result, as if it had been the answer.
//! One sentence that asks them to go on is most often enough.

use super::{EmptyAnswer, EmptyRemedy, EmptyRow, thinking_prefill};
use crate::described::described;
use crate::{Budget, Ledger};

described! {
    /// Asks a model that fell silent after a tool result to go on.
    pub(super) struct PostToolNudge;
}

impl EmptyRow for PostToolNudge {
    fn name(&self) -> &'static str {
        "empty_post_tool_nudge"
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, answer: &EmptyAnswer, ledger: &Ledger) -> Option<EmptyRemedy> {
        // A model that thought was on its way; handing the thought back comes first.
        let thought = answer.thought && !thinking_prefill::is_spent(ledger);
        (answer.after_tools && !thought).then_some(EmptyRemedy::Nudge)
    }
}
