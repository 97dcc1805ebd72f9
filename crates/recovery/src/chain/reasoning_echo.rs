//! DeepSeek, Kimi and a few others refuse a history with calls whose thinking is
//! not sent back. Which servers do so is mostly known before; this is for those
//! that are not.

use super::{Recoverer, first_new};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Rewrite, Situation, Symptom};

described! {
    /// Sends stored thinking back to a server that demands it and calls again.
    pub(super) struct ReasoningEcho;
}

impl Recoverer for ReasoningEcho {
    fn name(&self) -> &'static str {
        "reasoning_echo"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::FormatError]
    }

    fn budget(&self) -> Budget {
        Budget::PerCall(1)
    }

    fn propose(&self, failure: &Failure, situation: &Situation, _: &Ledger) -> Option<Remedy> {
        let ours = failure.symptom == Some(Symptom::ReasoningNotEchoed);
        ours.then(|| first_new(situation, [Rewrite::EchoReasoning]))
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::failure;
    use super::*;

    #[test]
    fn thinking_is_sent_back_once_and_a_second_refusal_ends() {
        let mut missing = failure(ErrorKind::FormatError);
        missing.symptom = Some(Symptom::ReasoningNotEchoed);
        let mut ledger = Ledger::default();
        let remedies: Vec<Remedy> = (0..2)
            .map(|_| decide(&missing, &Situation::default(), &mut ledger).remedy)
            .collect();
        assert_eq!(
            remedies,
            [Remedy::Rewrite(Rewrite::EchoReasoning), Remedy::GiveUp]
        );
    }
}
