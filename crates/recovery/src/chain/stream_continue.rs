//! What a broken stream had already said is worth keeping: the model goes on
//! from there instead of saying it all again, as after a length limit.

use super::{Recoverer, has_usable_text};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Goes on from the text that had arrived when a stream broke.
    pub(super) struct StreamContinue;
}

impl Recoverer for StreamContinue {
    fn name(&self) -> &'static str {
        "stream_continue"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::IncompleteStream]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(3)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        has_usable_text(failure).then_some(Remedy::Continue)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{cut, with_fallback};
    use super::*;

    #[test]
    fn an_answer_cut_again_and_again_is_continued_three_times_and_then_kept_as_it_is() {
        let mut ledger = Ledger::default();
        let broken = cut(ErrorKind::IncompleteStream, "That call failed, looking at", &[]);
        let remedies: Vec<Remedy> = (0..4)
            .map(|_| decide(&broken, &Situation::default(), &mut ledger).remedy)
            .collect();
        assert_eq!(
            remedies,
            [
                Remedy::Continue,
                Remedy::Continue,
                Remedy::Continue,
                Remedy::KeepPartial
            ]
        );
    }

    #[test]
    fn a_second_cut_goes_to_the_fallback() {
        let mut ledger = Ledger::default();
        let broken = cut(ErrorKind::IncompleteStream, "That call failed, looking at", &[]);
        let remedies: Vec<Remedy> = (0..2)
            .map(|_| decide(&broken, &with_fallback(), &mut ledger).remedy)
            .collect();
        assert_eq!(remedies, [Remedy::Continue, Remedy::SwitchProvider]);
    }
}
