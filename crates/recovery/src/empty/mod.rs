//! The empty-answer chain.

use serde::{Deserialize, Serialize};

use crate::Ledger;

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

/// Picks what is done about one empty answer. Total and bounded.
pub fn decide(_answer: &EmptyAnswer, _ledger: &mut Ledger) -> EmptyDecision {
    EmptyDecision {
        row: "empty_end".into(),
        remedy: EmptyRemedy::Explain,
        attempt: 1,
        limit: 1,
        wait_ms: 0,
    }
}
