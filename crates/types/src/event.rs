//! What a front end is told.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ApprovalAnswer, ApprovalRequest, Question, SessionId, Task, TurnId, TurnResult, Usage};

/// One event with its place in the stream; one JSON object a line in `--stream-json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// What happened; its members stand beside those below.
    #[serde(flatten)]
    pub event: Event,
    /// The session it happened in.
    pub session_id: SessionId,
    /// The turn it happened in.
    pub turn_id: TurnId,
    /// From 1, rising per process.
    pub seq: u64,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A turn began; always the first event of it.
    TurnStarted {
        /// What the person said.
        prompt: String,
    },
    /// More of the answer.
    MessageDelta {
        /// The new text.
        text: String,
    },
    /// More of the model's thinking.
    ReasoningDelta {
        /// The new text.
        text: String,
    },
    /// A tool runs.
    ToolStarted {
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments, secrets masked.
        args: Value,
    },
    /// A tool has run.
    ToolFinished {
        /// The call.
        call_id: String,
        /// The tool.
        name: String,
        /// Whether it did what it was asked.
        ok: bool,
        /// How long it took.
        duration_ms: u64,
        /// One line about the result.
        brief: String,
    },
    /// Something went wrong and this is what is done about it.
    Recovery {
        /// The recovery row.
        row: String,
        /// Which attempt this is, from 1.
        attempt: u32,
        /// How many there may be.
        limit: u32,
        /// What is done, in words.
        remedy: String,
        /// How long is waited before it.
        wait_ms: u64,
    },
    /// A compression began.
    CompactionStarted {
        /// What set it off.
        trigger: Trigger,
        /// The session before it.
        session_before: SessionId,
        /// Its size.
        tokens_before: u64,
    },
    /// A compression ended.
    CompactionFinished(Box<CompactionReport>),
    /// The conversation goes on under another id.
    SessionRotated {
        /// The id it had.
        from: SessionId,
        /// The id it has.
        to: SessionId,
        /// Why.
        reason: String,
    },
    /// A command waits for consent.
    ApprovalRequested(ApprovalRequest),
    /// Consent was given or refused.
    ApprovalAnswered {
        /// The request.
        id: String,
        /// The decision.
        answer: ApprovalAnswer,
    },
    /// The model asks the person.
    QuestionAsked(Question),
    /// A call was counted.
    Usage {
        /// What it was for.
        task: Task,
        /// Its tokens.
        #[serde(flatten)]
        usage: Usage,
    },
    /// The person should know this.
    Warning {
        /// What.
        text: String,
    },
    /// What is going on.
    Status {
        /// What.
        text: String,
    },
    /// The turn ended; always the last event of it.
    TurnFinished {
        /// What came of it.
        result: Box<TurnResult>,
    },
}

/// What sets off a compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// Before the first call of a turn: the stored session is already too large.
    Preflight,
    /// Before a later call: what is about to be sent would not fit.
    BeforeCall,
    /// After tools: the provider reported a size over the threshold.
    AfterTools,
    /// The provider refused the request as too long.
    Overflow,
    /// The person asked for it.
    Command,
}

/// What a compression did, as `talaria compress --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionReport {
    /// Whether anything was hidden.
    pub compressed: bool,
    /// Why not, or a remark.
    pub reason: Option<String>,
    /// The session before.
    pub session_before: SessionId,
    /// The session after; the same when nothing was hidden or `in_place` is set.
    pub session_after: SessionId,
    /// What set it off.
    pub trigger: Trigger,
    /// Size before.
    pub tokens_before: u64,
    /// Size after.
    pub tokens_after: u64,
    /// Messages that are no longer sent.
    pub messages_hidden: u64,
    /// Facts of the hidden part: how many are still in context, of how many.
    pub anchors: Anchors,
    /// Tokens of the summary calls.
    pub usage: Usage,
    /// Their price; null when unknown.
    pub cost_usd: Option<f64>,
}

impl CompactionReport {
    /// Tokens and price of the summary calls in words; nothing when none was made.
    pub fn bill_in_words(&self) -> Option<String> {
        let usage = self.usage;
        if usage == Usage::default() {
            return None;
        }
        let price = self
            .cost_usd
            .map_or_else(|| "price unknown".to_owned(), |usd| format!("{usd:.4} USD"));
        Some(format!(
            "the summary took {} prompt tokens ({} cached) and {} out, {price}",
            usage.prompt_tokens, usage.cache_read_tokens, usage.completion_tokens
        ))
    }
}

/// How many of the hidden facts are still in context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchors {
    /// In the summary or in the anchor index.
    pub kept: u64,
    /// Found in the hidden part.
    pub total: u64,
}
