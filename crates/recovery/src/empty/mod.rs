//! The chain for answers with nothing in them: its table and its one reader.
//!
//! The same idea as [`crate::chain`]: a row recognises what kind of nothing it
//! is and names what is done, the shared [`Ledger`] bounds how often. Scaffolding
//! (a nudge, a prefill) is a matter of the next request only and is never stored.
//! Refusals and content filters are no empty answers and do not come here.

mod earlier_content;
mod explain;
mod fallback;
mod partial_stream;
mod plain_retry;
mod post_tool_nudge;
mod thinking_prefill;

use serde::{Deserialize, Serialize};

use crate::described::Described;
use crate::{Budget, Ledger, Situation};

/// What is known about an answer with no visible text and no calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EmptyAnswer {
    /// Visible text that was streamed in this attempt before it ended.
    pub streamed: String,
    /// Visible text that an earlier answer of this turn gave beside calls, when
    /// all of those were housekeeping (`memory`, `todo`, `skill_manage`, `session_search`).
    pub earlier: Option<String>,
    /// One of the last five messages is a tool result.
    pub after_tools: bool,
    /// It thought, in a field or in tags.
    pub thought: bool,
    /// The dialect takes an assistant message as the last one (a prefill).
    pub takes_prefill: bool,
    /// Providers left in the fallback chain.
    pub fallbacks_left: u32,
}

/// What is done about an empty answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptyRemedy {
    /// Take the streamed text as the answer, marked partial.
    KeepPartial,
    /// Take the earlier text as the answer.
    UseEarlier,
    /// Ask to go on from the tool results, by a user message that is never stored.
    Nudge,
    /// Send the thought back as a prefill (or nudge, where the dialect takes none).
    Prefill,
    /// Ask again, unchanged.
    Retry,
    /// Go to the next provider.
    SwitchProvider,
    /// End honestly, with an explanation.
    Explain,
}

/// One decision of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmptyDecision {
    /// The row's name.
    pub row: String,
    /// What is done.
    pub remedy: EmptyRemedy,
    /// Which attempt of this row it is, from 1.
    pub attempt: u32,
    /// How many it may have.
    pub limit: u32,
    /// Milliseconds to wait before it is done.
    #[serde(default)]
    pub wait_ms: u64,
}

/// One row of the chain for empty answers.
pub trait EmptyRow: Described + Sync {
    /// Its name, as `recoveries` and events show it.
    fn name(&self) -> &'static str;

    /// The counter it draws on.
    fn budget(&self) -> Budget;

    /// What is done, if this row is for this kind of nothing.
    fn propose(&self, answer: &EmptyAnswer, ledger: &Ledger) -> Option<EmptyRemedy>;

    /// How long is waited before it, in milliseconds, for the `attempt`-th time from 1.
    fn wait_ms(&self, _attempt: u32) -> u64 {
        0
    }
}

/// Every row, in the order they are asked.
pub static EMPTY: &[&dyn EmptyRow] = &[
    &partial_stream::PartialStream,
    &earlier_content::EarlierContent,
    &post_tool_nudge::PostToolNudge,
    &thinking_prefill::ThinkingPrefill,
    &plain_retry::PlainRetry,
    &fallback::Fallback,
    &explain::Explain,
];

/// Picks what is done about one empty answer. Total and bounded.
///
/// The ledger is the turn's own. An empty answer is no success:
/// [`Ledger::call_succeeded`] is not called for it, only for one that has text
/// or calls, after which every row has its budget again.
pub fn decide(answer: &EmptyAnswer, ledger: &mut Ledger) -> EmptyDecision {
    let situation = Situation {
        fallbacks_left: answer.fallbacks_left,
        ..Situation::default()
    };
    for row in EMPTY {
        let spent = ledger.spent(row.name(), row.budget());
        let limit = row.budget().limit(spent, &situation);
        if spent >= limit {
            continue;
        }
        let Some(remedy) = row.propose(answer, ledger) else {
            continue;
        };
        let attempt = spent + 1;
        if row.budget() == Budget::Final {
            return EmptyDecision {
                row: row.name().to_owned(),
                remedy,
                attempt: 1,
                limit: 1,
                wait_ms: 0,
            };
        }
        ledger.record(row.name(), row.budget());
        if remedy == EmptyRemedy::SwitchProvider {
            ledger.provider_changed();
        }
        return EmptyDecision {
            row: row.name().to_owned(),
            remedy,
            attempt,
            limit,
            wait_ms: row.wait_ms(attempt),
        };
    }
    let row = explain::Explain.name().to_owned();
    EmptyDecision {
        row,
        remedy: EmptyRemedy::Explain,
        attempt: 1,
        limit: 1,
        wait_ms: 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::EmptyRemedy::{Explain, KeepPartial, Nudge, Prefill, Retry, SwitchProvider, UseEarlier};
    use super::*;

    /// What is done about the same answer again and again, until the turn ends.
    fn sequence(answer: &EmptyAnswer) -> Vec<EmptyRemedy> {
        let mut ledger = Ledger::default();
        let mut answer = answer.clone();
        let mut done = Vec::new();
        loop {
            let decision = decide(&answer, &mut ledger);
            assert!(decision.attempt <= decision.limit, "{decision:?}");
            if decision.remedy == SwitchProvider {
                answer.fallbacks_left -= 1;
            }
            done.push(decision.remedy.clone());
            if matches!(decision.remedy, KeepPartial | UseEarlier | Explain) {
                return done;
            }
            assert!(done.len() < 100);
        }
    }

    #[test]
    fn nothing_at_all_is_asked_again_three_times_and_then_explained() {
        assert_eq!(sequence(&EmptyAnswer::default()), [Retry, Retry, Retry, Explain]);
    }

    #[test]
    fn after_tools_the_model_is_nudged_first() {
        let answer = EmptyAnswer {
            after_tools: true,
            ..EmptyAnswer::default()
        };
        assert_eq!(sequence(&answer), [Nudge, Retry, Retry, Retry, Explain]);
    }

    #[test]
    fn a_thought_without_words_is_handed_back_twice() {
        let answer = EmptyAnswer {
            thought: true,
            takes_prefill: true,
            ..EmptyAnswer::default()
        };
        assert_eq!(
            sequence(&answer),
            [Prefill, Prefill, Retry, Retry, Retry, Explain]
        );
        let tools = EmptyAnswer {
            after_tools: true,
            ..answer
        };
        assert_eq!(
            sequence(&tools),
            [Prefill, Prefill, Nudge, Retry, Retry, Retry, Explain]
        );
    }

    #[test]
    fn a_provider_that_stays_empty_is_left_and_the_next_gets_the_same_chances() {
        let answer = EmptyAnswer {
            fallbacks_left: 1,
            ..EmptyAnswer::default()
        };
        assert_eq!(
            sequence(&answer),
            [Retry, Retry, Retry, SwitchProvider, Retry, Retry, Retry, Explain]
        );
    }

    #[test]
    fn text_that_is_there_is_taken_at_once() {
        let streamed = EmptyAnswer {
            streamed: "Half of".into(),
            ..EmptyAnswer::default()
        };
        assert_eq!(sequence(&streamed), [KeepPartial]);
        let blank = EmptyAnswer {
            streamed: " \n ".into(),
            ..EmptyAnswer::default()
        };
        assert_eq!(sequence(&blank).first(), Some(&Retry));
        let earlier = EmptyAnswer {
            earlier: Some("Noted.".into()),
            after_tools: true,
            ..EmptyAnswer::default()
        };
        assert_eq!(sequence(&earlier), [UseEarlier]);
    }

    #[test]
    fn the_nudge_is_armed_again_after_the_next_tool_round() {
        let answer = EmptyAnswer {
            after_tools: true,
            ..EmptyAnswer::default()
        };
        let mut ledger = Ledger::default();
        assert_eq!(decide(&answer, &mut ledger).remedy, Nudge);
        ledger.call_succeeded();
        assert_eq!(decide(&answer, &mut ledger).remedy, Nudge);
    }

    #[test]
    fn there_is_a_pause_between_plain_retries() {
        let mut ledger = Ledger::default();
        let waits: Vec<u64> = (0..3)
            .map(|_| decide(&EmptyAnswer::default(), &mut ledger).wait_ms)
            .collect();
        assert_eq!(waits, [500, 1_000, 2_000]);
    }

    proptest! {
        #[test]
        fn every_sequence_of_empty_answers_ends(
            after_tools: bool, thought: bool, takes_prefill: bool, fallbacks_left in 0u32..5
        ) {
            let answer = EmptyAnswer { after_tools, thought, takes_prefill, fallbacks_left, ..EmptyAnswer::default() };
            let most = 7 * (usize::try_from(fallbacks_left).unwrap() + 1) + 1;
            prop_assert!(sequence(&answer).len() <= most);
        }
    }
}
