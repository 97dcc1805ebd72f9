//! A line that breaks before any text, or in the middle of a call, leaves
//! nothing that could be used: half a call must never run. The next attempt most
//! often goes through at once.

use super::{Recoverer, has_usable_text};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Sends the same request again when a stream broke before its text or inside of a call.
    pub(super) struct StreamCut;
}

impl Recoverer for StreamCut {
    fn name(&self) -> &'static str {
        "stream_cut"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::IncompleteStream]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(2)
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        (!has_usable_text(failure)).then_some(Remedy::Retry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::cut;
    use super::*;

    #[test]
    fn a_stream_that_breaks_before_any_text_is_repeated_twice_and_then_with_pauses() {
        let mut ledger = Ledger::default();
        let broken = cut(ErrorKind::IncompleteStream, "  ", &[]);
        let rows: Vec<String> = (0..7)
            .map(|_| decide(&broken, &Situation::default(), &mut ledger).row)
            .collect();
        let want = [
            "stream_cut",
            "stream_cut",
            "back_off",
            "back_off",
            "back_off",
            "transport_rebuild",
            "give_up",
        ];
        assert_eq!(rows, want);
    }

    #[test]
    fn a_call_lost_in_flight_is_requested_again() {
        let broken = cut(
            ErrorKind::IncompleteStream,
            "I will write the file.",
            &["write_file"],
        );
        let decision = decide(&broken, &Situation::default(), &mut Ledger::default());
        assert_eq!(decision.remedy, Remedy::Retry);
    }
}
