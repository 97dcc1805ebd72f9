//! The conversation outgrew the model's window, or the window is smaller than
//! was believed. A number the server states is learnt; none is ever guessed,
//! since a guess once shrank windows of a million tokens to a quarter.

use super::{COMPRESSION, Recoverer};
use crate::described::described;
use crate::{Budget, ErrorKind, Failure, Ledger, Remedy, Situation, Symptom};

described! {
    /// Learns the window the server states, compresses and calls again.
    pub(super) struct ContextOverflow;
}

impl Recoverer for ContextOverflow {
    fn name(&self) -> &'static str {
        "context_overflow"
    }

    fn kinds(&self) -> &'static [ErrorKind] {
        &[ErrorKind::ContextOverflow, ErrorKind::Timeout]
    }

    fn budget(&self) -> Budget {
        COMPRESSION
    }

    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy> {
        let first = ledger.in_turn(self.name()) == 0;
        let ours = if failure.kind == ErrorKind::ContextOverflow {
            failure.symptom != Some(Symptom::LikelyOverflow) || first
        } else {
            first && hangs_up_on_a_large_prompt(failure, ledger)
        };
        if !ours || !situation.may_compact {
            return None;
        }
        let known = failure.request.window;
        let window = failure
            .limits
            .window
            .filter(|stated| known == 0 || *stated < known);
        Some(Remedy::Compact { window })
    }
}

/// Some servers drop the line instead of saying that a prompt is too long. That is
/// believed only after other retries were in vain, and once.
fn hangs_up_on_a_large_prompt(failure: &Failure, ledger: &Ledger) -> bool {
    let request = &failure.request;
    failure.symptom == Some(Symptom::HungUp)
        && request.window > 0
        && request.prompt_tokens > request.window / 5 * 3
        && ledger.failures() >= 3
}

#[cfg(test)]
mod tests {
    use super::super::decide;
    use super::super::testing::{asked, failure};
    use super::*;

    #[test]
    fn an_overflow_is_compacted_at_most_three_times() {
        let over = failure(ErrorKind::ContextOverflow);
        let mut ledger = Ledger::default();
        for attempt in 1..=3 {
            let decision = decide(&over, &Situation::default(), &mut ledger);
            assert_eq!(
                (decision.attempt, decision.remedy),
                (attempt, Remedy::Compact { window: None })
            );
            ledger.call_succeeded();
        }
        assert_eq!(
            decide(&over, &Situation::default(), &mut ledger).remedy,
            Remedy::GiveUp
        );
    }

    #[test]
    fn overflow_and_payload_share_their_three_attempts() {
        let mut large = failure(ErrorKind::PayloadTooLarge);
        large.request.images = 0;
        let over = failure(ErrorKind::ContextOverflow);
        let mut ledger = Ledger::default();
        let rows: Vec<String> = [&over, &large, &over, &large]
            .map(|f| decide(f, &Situation::default(), &mut ledger).row)
            .to_vec();
        assert_eq!(
            rows,
            [
                "context_overflow",
                "payload_too_large",
                "context_overflow",
                "give_up"
            ]
        );
    }

    #[test]
    fn a_stated_window_is_learnt_only_if_it_is_smaller() {
        let mut over = failure(ErrorKind::ContextOverflow);
        for (stated, window) in [(Some(40_000), Some(40_000)), (Some(400_000), None), (None, None)] {
            over.limits.window = stated;
            let remedy = asked(&ContextOverflow, &over, &Situation::default());
            assert_eq!(remedy, Some(Remedy::Compact { window }), "{stated:?}");
        }
    }

    #[test]
    fn with_compression_switched_off_it_is_said_and_nothing_is_compressed() {
        let situation = Situation {
            may_compact: false,
            ..Situation::default()
        };
        let decision = decide(
            &failure(ErrorKind::ContextOverflow),
            &situation,
            &mut Ledger::default(),
        );
        assert_eq!(decision.remedy, Remedy::GiveUp);
        assert!(decision.note.unwrap().contains("compression is switched off"));
    }

    #[test]
    fn a_guess_is_tried_once() {
        let mut maybe = failure(ErrorKind::ContextOverflow);
        maybe.symptom = Some(Symptom::LikelyOverflow);
        let mut ledger = Ledger::default();
        let remedies: Vec<Remedy> = (0..2)
            .map(|_| decide(&maybe, &Situation::default(), &mut ledger).remedy)
            .collect();
        assert_eq!(remedies, [Remedy::Compact { window: None }, Remedy::GiveUp]);
    }

    #[test]
    fn a_server_that_hangs_up_three_times_on_a_large_prompt_gets_a_smaller_one_once() {
        let mut broken = failure(ErrorKind::Timeout);
        broken.symptom = Some(Symptom::HungUp);
        broken.request.prompt_tokens = 150_000;
        let mut ledger = Ledger::default();
        let rows: Vec<String> = (0..4)
            .map(|_| decide(&broken, &Situation::default(), &mut ledger).row)
            .collect();
        assert_eq!(rows, ["back_off", "back_off", "context_overflow", "back_off"]);
    }
}
