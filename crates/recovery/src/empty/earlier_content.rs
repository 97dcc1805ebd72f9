//! A model that answers and files a note in the same breath often has nothing to
//! add once the note is filed. Its words beside the note are the answer.

use super::{EmptyAnswer, EmptyRemedy, EmptyRow};
use crate::described::described;
use crate::{Budget, Ledger};

described! {
    /// Takes the text that came beside housekeeping calls as the answer.
    pub(super) struct EarlierContent;
}

impl EmptyRow for EarlierContent {
    fn name(&self) -> &'static str {
        "empty_earlier_content"
    }

    fn budget(&self) -> Budget {
        Budget::Final
    }

    fn propose(&self, answer: &EmptyAnswer, _: &Ledger) -> Option<EmptyRemedy> {
        answer
            .earlier
            .as_ref()
            .is_some_and(|text| !text.trim().is_empty())
            .then_some(EmptyRemedy::UseEarlier)
    }
}
