//! What goes into the store and what comes out of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use talaria_types::{Anchors, Effect, Message, MessageId, SessionId, Timestamp, Trigger, TurnId, Usage};

/// A session that is about to exist.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Where it comes from: `cli`, `telegram`, `cron`, …
    pub source: String,
    /// The session it continues or branched from.
    pub parent: Option<SessionId>,
    /// The model it starts with.
    pub model: String,
    /// Column `model_config`, a JSON object.
    pub model_config: Value,
    /// The system prompt, built before the row is (a row never lacks it).
    pub system_prompt: String,
    /// The folder it works in.
    pub cwd: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// Who bills it: provider, base address, mode.
    pub billing: (String, String, String),
}

/// One row of `sessions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// Where it comes from.
    pub source: String,
    /// The session it continues or branched from.
    pub parent_session_id: Option<SessionId>,
    /// The model it started with.
    pub model: Option<String>,
    /// Column `model_config`, parsed; null when it is none or no JSON.
    pub model_config: Value,
    /// The system prompt it is sent with.
    pub system_prompt: Option<String>,
    /// When it started.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it ended.
    pub end_reason: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The folder it works in.
    pub cwd: Option<String>,
    /// Rows of `messages`.
    pub message_count: u64,
    /// Calls among them.
    pub tool_call_count: u64,
    /// Model calls.
    pub api_call_count: u64,
    /// Prompt tokens without cached ones, as Hermes counts.
    pub input_tokens: u64,
    /// Completion tokens.
    pub output_tokens: u64,
    /// Prompt tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Prompt tokens written to the cache.
    pub cache_write_tokens: u64,
    /// Reasoning tokens.
    pub reasoning_tokens: u64,
    /// Price so far in US dollars.
    pub estimated_cost_usd: Option<f64>,
    /// `known`, `unknown` or `partial`.
    pub cost_status: Option<String>,
}

/// One entry of a listing: a lineage, by its live tip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The tip.
    pub id: SessionId,
    /// The first session of the lineage.
    pub root_session_id: SessionId,
    /// The tip's title.
    pub title: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// The tip's model.
    pub model: Option<String>,
    /// When the lineage started.
    pub started_at: Timestamp,
    /// Its newest message, or its start.
    pub last_active: Timestamp,
    /// Live messages of the tip.
    pub message_count: u64,
    /// The beginning of the first user message.
    pub preview: String,
}

/// Which sessions are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// At most this many; all when absent.
    pub limit: Option<u64>,
    /// Skip this many.
    pub offset: u64,
    /// Only of this source.
    pub source: Option<String>,
}

/// One search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// What is looked for, in words people write; never a syntax error.
    pub text: String,
    /// At most this many hits.
    pub limit: u64,
    /// Skip this many.
    pub offset: u64,
    /// Only messages of this role.
    pub role: Option<String>,
    /// Only sessions of this source.
    pub source: Option<String>,
}

/// One message that was found, once, by its original row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// The session that owns the row.
    pub session_id: SessionId,
    /// The first session of its lineage.
    pub root_session_id: SessionId,
    /// The row.
    pub message_id: MessageId,
    /// Who spoke.
    pub role: String,
    /// When.
    pub timestamp: Timestamp,
    /// Where the session comes from.
    pub source: String,
    /// The session's title.
    pub title: Option<String>,
    /// The words around the match, secrets masked.
    pub snippet: String,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How many there are in all.
    pub total: u64,
    /// A remark, such as that only the newest hits were ranked.
    pub note: Option<String>,
}

/// Tokens and money to add to a session.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    /// The task, `main` or a side task (those are counted in `session_model_usage` only).
    pub task: String,
    /// The model that answered.
    pub model: String,
    /// Who bills it.
    pub billing: (String, String, String),
    /// Model calls.
    pub calls: u64,
    /// Their tokens.
    pub usage: Usage,
    /// Their price; null when unknown.
    pub cost_usd: Option<f64>,
}

/// What one model was used for in one task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelUsage {
    /// The model.
    pub model: String,
    /// Its provider.
    pub provider: String,
    /// `main` or a side task.
    pub task: String,
    /// Model calls.
    pub api_calls: u64,
    /// Their tokens.
    pub usage: Usage,
    /// What of it has a known price has cost this much, US dollars.
    pub known_cost_usd: f64,
    /// The price of all of it is known.
    pub is_priced: bool,
}

/// What was used over a span of days.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Insights {
    /// Sessions that started.
    pub sessions: u64,
    /// Messages.
    pub messages: u64,
    /// By model and task, what cost most first.
    pub models: Vec<ModelUsage>,
    /// Calls of each tool.
    pub tools: Vec<(String, u64)>,
    /// Sessions of each source.
    pub sources: Vec<(String, u64)>,
    /// What each day has cost, as far as prices are known.
    pub days: Vec<(String, f64)>,
}

/// How far a tool call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It is about to run.
    Intended,
    /// It runs.
    Started,
    /// Its result is known and kept.
    Finished,
}

/// One row of `tool_journal`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallJournal {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// How far it reaches.
    pub effect: Effect,
    /// How far it has come.
    pub state: CallState,
    /// When it was started.
    pub started_at: Option<Timestamp>,
    /// The process it runs in, when it is another one.
    pub pid: Option<u32>,
    /// Its result as a message, when finished.
    pub result: Option<Arc<Message>>,
}

/// One record of a running turn: what replay needs, and scaffolding that is no row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnRecord {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// What kind of record: `begin`, `request`, `completion`, `failure`, `tools`, `scaffold`, `end`, …
    pub kind: String,
    /// The record.
    pub payload: Value,
}

/// A turn record with its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordRow {
    /// Rising over the store.
    pub id: i64,
    /// When it was written.
    pub timestamp: Timestamp,
    /// The record.
    #[serde(flatten)]
    pub record: TurnRecord,
}

/// Whether a turn of a session may run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It may; the lease is held until it is released or its time is over.
    Held,
    /// Another live process runs one.
    Busy {
        /// Who, for people.
        holder: String,
    },
}

/// Tokens and money of a lineage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionTotals {
    /// Tokens.
    pub usage: Usage,
    /// Model calls.
    pub api_calls: u64,
    /// Price; null when any part of it is unknown.
    pub cost_usd: Option<f64>,
}

/// Numbers of the whole store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoreStats {
    /// Rows of `sessions`.
    pub sessions: u64,
    /// Lineages.
    pub lineages: u64,
    /// Rows of `messages`.
    pub messages: u64,
    /// Bytes of the database file.
    pub bytes: u64,
    /// Sessions by source.
    pub by_source: std::collections::BTreeMap<String, u64>,
}

/// A compression that is ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    /// The session that is compressed.
    pub session: SessionId,
    /// Messages of the running turn that have no rows yet; they are stored in `session` first.
    pub pending: Vec<Arc<Message>>,
    /// The session that goes on; `None` compresses in place.
    pub child: Option<SessionId>,
    /// The system prompt from now on.
    pub system_prompt: String,
    /// What a request starts from now, in order.
    pub messages: Vec<Compacted>,
    /// Which of `messages` holds the summary.
    pub summary_at: Option<usize>,
    /// What is remembered of the compression.
    pub facts: CompactionFacts,
    /// When it happened.
    pub at: Timestamp,
}

/// A message of a compressed session, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    /// The words; they may be shorter than those of the original.
    pub message: Arc<Message>,
    /// Its original.
    pub origin: Origin,
}

/// The original of a compressed session's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// There is none: a summary, a list of tasks.
    New,
    /// This row, or the row that it is a copy of.
    Row(MessageId),
    /// This one of [`Rotation::pending`].
    Pending(usize),
}

/// What is remembered of a compression beside its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionFacts {
    /// What set it off.
    pub trigger: Trigger,
    /// The summary, anchors included.
    pub summary: String,
    /// The facts of the hidden part and the rows they stand in, as the anchor index has them.
    pub anchor_index: Value,
    /// How many of them are still in context.
    pub anchors: Anchors,
    /// Size before.
    pub tokens_before: u64,
    /// Size after.
    pub tokens_after: u64,
    /// Tokens of the summary calls.
    pub usage: Usage,
    /// Their price; null when unknown.
    pub cost_usd: Option<f64>,
    /// The model that summarised; null when none did.
    pub model: Option<String>,
    /// How long it took.
    pub duration_ms: u64,
}

/// What a compression wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationIds {
    /// The session that goes on; the same one when it was compressed in place.
    pub session: SessionId,
    /// Rows of [`Rotation::pending`].
    pub pending: Vec<MessageId>,
    /// Rows of [`Rotation::messages`].
    pub messages: Vec<MessageId>,
    /// The row of `compactions`.
    pub compaction: i64,
    /// Messages that are no longer sent.
    pub hidden: u64,
    /// The title of the session that goes on.
    pub title: Option<String>,
}

/// One row of `compactions`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompactionRow {
    /// Rising over the store.
    pub id: i64,
    /// The session that was compressed.
    pub session_before: SessionId,
    /// The session that went on; the same when it was compressed in place.
    pub session_after: SessionId,
    /// When.
    pub created_at: Timestamp,
    /// The originals that were hidden, rising.
    pub hidden: Vec<MessageId>,
    /// The row that holds the summary.
    pub summary_message: Option<MessageId>,
    /// What is remembered beside.
    #[serde(flatten)]
    pub facts: CompactionFacts,
    /// The session in which it was undone.
    pub undone_by: Option<SessionId>,
}

/// What undoing a compression wrote.
#[derive(Clone, Debug, PartialEq)]
pub struct Undone {
    /// The new session.
    pub session: SessionId,
    /// The session that was the lineage's live end.
    pub from: SessionId,
    /// Rows of the new session.
    pub messages: u64,
    /// The compression that is undone.
    pub compaction: CompactionRow,
}

/// Work that a session has handed to subagents and does not wait for: a row of `async_delegations`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delegation {
    /// Its id.
    pub id: String,
    /// The session it was handed out in.
    pub session: SessionId,
    /// `running`, `completed`, `failed`, `interrupted` or `lost` (whoever ran it is dead).
    pub state: String,
    /// What was asked for.
    pub task: Value,
    /// What came of it, once it has ended.
    pub result: Option<Value>,
    /// When it was handed out.
    pub dispatched_at: Timestamp,
}
