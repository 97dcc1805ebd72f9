//! Text that a person has already seen is not taken away because its end never
//! came. It is the answer then, and marked as part of one.

use super::{Recoverer, has_usable_text};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation};

described! {
    /// Takes the text that had arrived as the answer, marked partial.
    pub(super) struct KeepPartial;
}

impl Recoverer for KeepPartial {
    fn name(&self) -> &'static str {
        "keep_partial"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[
            ErrorKind::IncompleteStream,
            ErrorKind::Timeout,
            ErrorKind::Overloaded,
            ErrorKind::ServerError,
            ErrorKind::RateLimit,
            ErrorKind::UpstreamRateLimit,
            ErrorKind::Unknown,
        ]
    }

    fn budget(&self) -> Budget {
        Budget::Final
    }

    fn propose(&self, failure: &Failure, _: &Situation, _: &Ledger) -> Option<Remedy> {
        has_usable_text(failure).then_some(Remedy::KeepPartial)
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::cut;
    use super::*;

    #[test]
    fn visible_text_is_kept_and_half_a_call_is_not() {
        let situation = Situation {
            max_retries: 0,
            ..Situation::default()
        };
        let text = cut(ErrorKind::Overloaded, "The first half", &[]);
        assert_eq!(
            decide(&text, &situation, &mut Ledger::default()).remedy,
            Remedy::KeepPartial
        );
        let call = cut(ErrorKind::Overloaded, "I write it", &["write_file"]);
        assert_eq!(
            decide(&call, &situation, &mut Ledger::default()).remedy,
            Remedy::GiveUp
        );
    }
}
