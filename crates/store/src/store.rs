//! What the engine needs of a store.

use std::path::Path;
use std::sync::Arc;

use talaria_types::{Message, MessageId, SessionId, StoredMessage, Timestamp, TurnId};

use crate::{
    CallJournal, CompactionRow, Delegation, Insights, LeaseOutcome, ListFilter, Listed, NewSession,
    RecordRow, Result, Rotation, RotationIds, SearchQuery, SearchResults, SessionRow, SessionTotals,
    StoreStats, TurnRecord, Undone, UsageRow,
};

/// A store of sessions.
///
/// Calls block, for microseconds as a rule and for seconds while another
/// process writes; an async caller moves them to a blocking thread. What a call
/// has returned `Ok` for survives this process and stays in the order of the calls.
/// Words and deeds are on the disk by then, and with them all that was written
/// before; what only counts or notes (usage, values of `state_meta`, records,
/// leases, a session without messages) is a moment later.
pub trait SessionStore: Send + Sync {
    // Sessions

    /// Adds a session. An id that exists is left as it is, save for fields that are NULL there.
    fn create_session(&self, new: &NewSession) -> Result<()>;
    /// One session's row.
    fn session(&self, id: &SessionId) -> Result<Option<SessionRow>>;
    /// Finds a session by id, unique prefix of an id, or title (the newest `#n` of it), in this order.
    fn resolve(&self, name: &str) -> Result<SessionId>;
    /// The live end of a session's lineage: compressions followed forward.
    fn tip(&self, id: &SessionId) -> Result<SessionId>;
    /// The sessions of a lineage from its root to `id`.
    fn lineage(&self, id: &SessionId) -> Result<Vec<SessionId>>;
    /// The session used last from `source` (any when absent), machine-made ones left out.
    fn newest(&self, source: Option<&str>) -> Result<Option<SessionId>>;
    /// Ends a session; the first reason stays.
    fn end_session(&self, id: &SessionId, reason: &str, at: Timestamp) -> Result<()>;
    /// Opens an ended session again.
    fn reopen(&self, id: &SessionId) -> Result<()>;
    /// Gives a session a title, or takes it away.
    fn set_title(&self, id: &SessionId, title: Option<&str>) -> Result<()>;
    /// Titles a session that has none, numbering the title when it is taken; gives the title when it was set.
    fn title_if_none(&self, id: &SessionId, title: &str) -> Result<Option<String>>;
    /// The next free title of a family: the title itself, else `Name #2`, `Name #3`, …
    fn next_title(&self, title: &str) -> Result<String>;
    /// Stores a rebuilt system prompt.
    fn set_system_prompt(&self, id: &SessionId, prompt: &str) -> Result<()>;
    /// Stores `model` and `model_config` after the person changed the model.
    fn set_model(&self, id: &SessionId, model: &str, config: &serde_json::Value) -> Result<()>;
    /// Adds tokens and money.
    fn add_usage(&self, id: &SessionId, usage: &UsageRow, at: Timestamp) -> Result<()>;
    /// Tokens and money of the whole lineage of a session.
    fn totals(&self, id: &SessionId) -> Result<SessionTotals>;
    /// What was used since `since`.
    fn insights(&self, since: Timestamp) -> Result<Insights>;
    /// What the day of `at` has cost so far in US dollars, as far as prices are known.
    fn day_cost(&self, at: Timestamp) -> Result<f64>;
    /// A copy of the live messages as a new session whose parent is `from`; both stay open to go on.
    fn branch(&self, from: &SessionId, new: &NewSession) -> Result<u64>;

    // Messages

    /// Appends rows in one transaction and gives their ids.
    fn append(&self, session: &SessionId, messages: &[Arc<Message>], at: Timestamp)
    -> Result<Vec<MessageId>>;
    /// Appends rows that could be had again without harm and stand in no journal: the result of a read, or an answer
    /// on whose word nothing was done yet. They survive the death of this program at once, and a power cut a moment later or from the next
    /// other write on. Their order among all rows is that of the calls.
    fn append_repeatable(
        &self,
        session: &SessionId,
        messages: &[Arc<Message>],
        at: Timestamp,
    ) -> Result<Vec<MessageId>>;
    /// The live messages of a session, oldest first: what the next request starts from.
    fn live(&self, session: &SessionId) -> Result<Vec<StoredMessage>>;
    /// Every message of one session, hidden and rewound ones included.
    fn all(&self, session: &SessionId) -> Result<Vec<StoredMessage>>;
    /// Every message of a lineage by its original row, copies left out.
    fn full(&self, session: &SessionId) -> Result<Vec<StoredMessage>>;
    /// Originals by id; an unknown id is simply not in the answer.
    fn recall(&self, ids: &[MessageId]) -> Result<Vec<StoredMessage>>;
    /// Takes the newest `turns` user turns out of what is sent (`/undo`); gives how many rows.
    fn rewind(&self, session: &SessionId, turns: u32) -> Result<u64>;

    // Compression

    /// Writes a compression in one transaction: the pending rows, the end of the old session, the new one with
    /// all that the old one's row says, its goal, its numbered title, its prompt and messages, and the record.
    /// A session that somebody else compressed meanwhile is [`StoreError::AlreadyCompressed`](crate::StoreError).
    fn rotate(&self, rotation: &Rotation) -> Result<RotationIds>;
    /// The compressions of a lineage up to this session, oldest first, without those that were undone in it.
    fn compactions(&self, session: &SessionId) -> Result<Vec<CompactionRow>>;
    /// What a session would start from if the newest `steps` compressions of its lineage were undone.
    fn originals(&self, session: &SessionId, steps: usize) -> Result<Vec<StoredMessage>>;
    /// Writes [`originals`](Self::originals) as the new session, a child of the lineage's tip that continues nothing.
    fn uncompress(&self, session: &SessionId, steps: usize, new: &NewSession) -> Result<Undone>;
    /// Takes the lock on compressing a session until `until`; Hermes honours it and is honoured.
    fn acquire_compression_lock(
        &self,
        session: &SessionId,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<LeaseOutcome>;
    /// Holds the lock longer; false when it is no longer held.
    fn renew_compression_lock(&self, session: &SessionId, holder: &str, until: Timestamp) -> Result<bool>;
    /// Gives the lock back.
    fn release_compression_lock(&self, session: &SessionId, holder: &str) -> Result<()>;

    // The running turn

    /// Writes how far a call has come.
    fn journal(&self, entry: &CallJournal, at: Timestamp) -> Result<()>;
    /// Calls of a session that have no result row yet, oldest first.
    fn open_calls(&self, session: &SessionId) -> Result<Vec<CallJournal>>;
    /// Appends records of a turn.
    fn record(&self, records: &[TurnRecord], at: Timestamp) -> Result<()>;
    /// The records of a turn, oldest first.
    fn records(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<RecordRow>>;
    /// The turns of a session that left records, oldest first.
    fn turns(&self, session: &SessionId) -> Result<Vec<TurnId>>;
    /// Tries to take the lease on a session's turns for `holder` (`pid:start:nonce`, so that a dead holder shows).
    fn acquire_lease(&self, session: &SessionId, holder: &str, now: Timestamp) -> Result<LeaseOutcome>;
    /// Gives the lease back.
    fn release_lease(&self, session: &SessionId, holder: &str) -> Result<()>;

    // Subagents

    /// The sessions of subagents that this session has started, oldest first.
    fn delegates(&self, session: &SessionId) -> Result<Vec<SessionRow>>;
    /// Writes work that goes on beside its session; this process runs it.
    fn delegate(&self, delegation: &Delegation) -> Result<()>;
    /// It has ended in this state, with this result; the first end stays.
    fn end_delegation(&self, id: &str, state: &str, result: &serde_json::Value, at: Timestamp) -> Result<()>;
    /// The work that sessions of this lineage have handed out and not had back, oldest first. What a dead process
    /// ran is `lost` from now on.
    fn open_delegations(&self, session: &SessionId, at: Timestamp) -> Result<Vec<Delegation>>;
    /// Appends what came of it as a row, in one transaction with the mark that it was; nothing when it was before.
    fn deliver(
        &self,
        delegation: &str,
        session: &SessionId,
        message: &Arc<Message>,
        at: Timestamp,
    ) -> Result<Option<MessageId>>;

    // Everything

    /// Lineages, newest first.
    fn list(&self, filter: &ListFilter) -> Result<Vec<Listed>>;
    /// Full-text search over every message.
    fn search(&self, query: &SearchQuery) -> Result<SearchResults>;
    /// The same over the messages of these sessions only (a lineage, for recall by words).
    fn search_within(&self, query: &SearchQuery, sessions: &[SessionId]) -> Result<SearchResults>;
    /// Erases a session with its messages, on the user's word.
    fn delete(&self, id: &SessionId) -> Result<()>;
    /// Erases ended sessions that were last used before `before`; gives how many.
    fn prune(&self, before: Timestamp, source: Option<&str>) -> Result<u64>;
    /// Numbers of the whole store.
    fn stats(&self) -> Result<StoreStats>;
    /// A value of `state_meta`.
    fn meta(&self, key: &str) -> Result<Option<String>>;
    /// Sets a value of `state_meta`, or takes it away.
    fn set_meta(&self, key: &str, value: Option<&str>) -> Result<()>;
    /// Warnings that opening the store gave, for the person.
    fn warnings(&self) -> Vec<String>;
    /// The folder of image bytes.
    fn images(&self) -> &Path;
}
