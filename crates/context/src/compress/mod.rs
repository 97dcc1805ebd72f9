//! Hides the older part of a conversation behind a summary.
//!
//! Why: a window is finite and a conversation is not. What goes is told by a
//! summary, its hard facts are listed with the ids of their messages, the
//! originals stay in the store, and nothing is lost when the summary fails.
//!
//! ```text
//! history ──► 1 prune      duplicates, old results, images, long arguments   prune.rs briefs.rs
//!         ──► 2 boundary   head │ hidden │ tail                              boundary.rs
//!         ──► 3 summarise  request() ──► a model ──► accept()                summarize.rs slices.rs reply.rs
//!         ──► 4 assemble   head + summary + anchors + tail                   assemble.rs anchors/ pairs.rs
//!                          give_up(): the history as it is, or a digest      digest.rs
//! ```
//!
//! The caller owns all I/O:
//!
//! ```text
//! let mut plan = plan(&history, &budget, guidance)?;      nothing to hide is an answer
//! loop {
//!     let reply = ask(plan.request()).await;              None: shortening alone was enough
//!     match plan.accept(&reply) {
//!         Ok(Accepted::Done(compressed)) => break compressed,
//!         Ok(Accepted::Next) => continue,                 the next slice of a long middle
//!         Err(rejected) => …                              another model, plan.shrink(), plan.give_up()
//!     }
//! }
//! ```
//!
//! Not here: when to compress ([`crate::meter`]), which model to ask, cool-downs,
//! and the writing of sessions.

mod anchors;
mod assemble;
mod boundary;
mod briefs;
mod digest;
mod foreign;
mod handoff;
mod pairs;
mod plan;
mod prune;
mod reply;
mod rows;
mod slices;
mod strings;
mod summarize;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use talaria_types::{Anchors, Message, MessageId};

pub use briefs::brief;
pub use foreign::{Piece, accept_foreign};
pub use plan::{Accepted, Plan, plan};
pub use reply::Rejected;
pub use strings::{
    ANCHORS_HEADING, ARGUMENT_CUT, COMPACTION_NOTE, DUPLICATE_OUTPUT, END_MARKER, HEADINGS, IMAGE_STRIPPED,
    LEGACY_SUMMARY_TAG, OUTPUT_CLEARED, RESULT_EARLIER, RESULT_SUMMARISED, SCREENSHOT_REMOVED,
    SUMMARY_PREFIX, SUMMARY_TAG, TODO_HEADER, is_summary,
};

/// Sizes a compression is planned by. Tokens are the provider's, as far as known.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The window of the session's model.
    pub window: u64,
    /// From how many prompt tokens on the conversation is compressed
    /// ([`crate::meter::WindowPlan::trigger`], or what a refusal taught).
    pub trigger: u64,
    /// Tokens of system prompt and tools, which nothing here makes smaller.
    pub overhead: u64,
    /// The window of the model that writes the summary.
    pub summariser_window: u64,
    /// `compression.target_ratio`: the tail's share of the trigger.
    pub target_ratio: f64,
    /// `compression.protect_first_n`; counts at the first compression only.
    pub protect_first_n: usize,
    /// `compression.protect_last_n`.
    pub protect_last_n: usize,
    /// `/compress here N`: keep this many exchanges and hide all before them.
    pub keep_exchanges: Option<usize>,
    /// What the provider counts over what is counted here ([`crate::tokens::Counter::calibration`]).
    pub calibration: f64,
}

impl Budget {
    /// The defaults of `config.yaml` for a window, its trigger and the fixed part of the prompt.
    pub fn new(window: u64, trigger: u64, overhead: u64) -> Self {
        Self {
            window,
            trigger,
            overhead,
            summariser_window: window,
            target_ratio: 0.20,
            protect_first_n: 3,
            protect_last_n: 20,
            keep_exchanges: None,
            calibration: 1.0,
        }
    }

    /// Tokens of the tail, in this crate's counts.
    fn tail(&self) -> u64 {
        self.own(self.trigger as f64 * self.target_ratio.clamp(0.10, 0.80))
    }

    /// What rows and summary together should stay below: clearly under the trigger.
    fn target(&self) -> u64 {
        self.own(self.trigger as f64 * 0.8 - self.overhead as f64)
    }

    /// Tokens the summary is asked to have, for a hidden part of this size.
    fn summary(&self, hidden: u64) -> u64 {
        let least = 2_000.min(self.window / 10);
        let most = 12_000.min(self.window / 20);
        (hidden / 5).min(most).max(least)
    }

    /// Tokens the anchor index may have: a thirtieth of the window.
    fn anchors(&self) -> u64 {
        (self.window / 30).clamp(130, 6_000)
    }

    fn own(&self, provider_tokens: f64) -> u64 {
        (provider_tokens / self.calibration.clamp(0.25, 4.0)).max(0.0) as u64
    }
}

/// What a summary is told beside the conversation. All of it may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guidance {
    /// `/compress <focus>`: what matters most.
    pub focus: Option<String>,
    /// What a memory provider wants remembered; masked and cut before it is used.
    pub memory: Option<String>,
    /// The open tasks, one a line, as the todo tool renders them.
    pub todo: Option<String>,
    /// The date in words, so that what was done is told as past.
    pub today: Option<String>,
    /// The facts that the compression before this one knew ([`Compressed::anchor_records`]):
    /// what its summary said and the next one leaves out can go to the index.
    pub known: Vec<AnchorRecord>,
}

/// Why there is nothing to compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum NothingToHide {
    /// There are no messages.
    #[error("the conversation has no messages yet")]
    Empty,
    /// All of it belongs to the protected ends.
    #[error("all {0} messages belong to the newest exchange or to the protected part")]
    AllProtected(usize),
    /// What could be hidden is smaller than its summary would be.
    #[error("the {0} tokens that could be hidden are fewer than their summary would take")]
    TooLittle(u64),
}

/// A row of the compressed conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// What is sent from now on.
    pub message: Arc<Message>,
    /// The row it was: its place in the history that was given, and its original's
    /// id. Nothing for the summary and for stub results.
    pub from: Option<(usize, MessageId)>,
    /// Whether it differs from that row.
    pub changed: bool,
}

/// One fact of the hidden part and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorRecord {
    /// The fact, verbatim.
    pub text: String,
    /// The message that says it.
    pub id: MessageId,
    /// Where it is now.
    pub place: AnchorPlace,
    /// Who said it.
    #[serde(default)]
    pub rank: AnchorRank,
}

/// How much a fact is worth when not all can be listed: the less the further down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorRank {
    /// The person said it.
    Said,
    /// The model said it.
    #[default]
    Told,
    /// A tool failed with it.
    Failed,
    /// The model called a tool with it.
    Used,
    /// A tool printed it.
    Printed,
}

/// Where a fact of the hidden part is after a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnchorPlace {
    /// The summary says it.
    Summary,
    /// The anchor index lists it.
    Index,
    /// Only its message does; search and recall find it.
    Store,
}

/// Who wrote a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WrittenBy {
    /// A model.
    Model,
    /// This program, because no model could.
    Digest,
    /// Nobody: shortening alone was enough.
    Nobody,
}

/// A compressed conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Compressed {
    /// All rows in order, the summary among them.
    pub rows: Vec<Kept>,
    /// The text of the summary message.
    pub summary: Option<String>,
    /// Who wrote it.
    pub written_by: WrittenBy,
    /// Ids of the originals that are no longer sent, oldest first.
    pub hidden: Vec<MessageId>,
    /// How many facts of the hidden part are still in context, of how many.
    pub anchors: Anchors,
    /// Those facts.
    pub anchor_records: Vec<AnchorRecord>,
    /// Tokens of the rows before, estimated, without system prompt and tools.
    pub tokens_before: u64,
    /// The same after.
    pub tokens_after: u64,
}

#[cfg(test)]
mod tests;
