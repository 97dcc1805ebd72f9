//! Memory outside of the two files: one provider at most, which is told what happens and asked what it recalls.
//!
//! A provider may be slow, hang, fail or answer with a stranger's words. So it is never called by a turn
//! itself but through [`External`], which bounds every call, keeps them in order on one worker, masks
//! secrets in what leaves, and says once what went wrong. What comes back is put into a fence
//! ([`fence`]), which says that it is no word of the person.
//!
//! ```text
//! turn ──► on_turn_start, prefetch (≤ 8 s) ──► the fenced text goes with the person's message
//!  end ──► queue: sync_turn, queue_prefetch ─┐
//! /new ──► queue: on_session_end, on_session_switch ─┼─► one worker, in order ──► the provider
//! tool ──► queue: on_memory_write ───────────┘
//! ```
//!
//! A provider is a file here and a line in [`table`].

mod external;
pub mod fence;
mod honcho;
mod http;
mod local;
mod mem0;
mod process;
mod queue;
pub mod table;

pub use external::{Bounds, External, Introduced, Teller};
pub use table::Place;

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use talaria_types::ToolSpec;

/// What a call gives.
pub type Call<'a, T = ()> = BoxFuture<'a, Result<T, ProviderError>>;

/// Why a provider did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// Something it needs is not configured; says what and where.
    #[error("{0}")]
    Unset(String),
    /// The program failed.
    #[error(transparent)]
    Peer(#[from] talaria_peer::PeerError),
    /// The service could not be reached or refused; secrets masked.
    #[error("{0}")]
    Service(String),
    /// The facts could not be read or written.
    #[error("the facts in {path}: {source}")]
    Facts {
        /// The database.
        path: String,
        /// What it says.
        #[source]
        source: rusqlite::Error,
    },
    /// The model asked for what cannot be.
    #[error("{0}")]
    BadCall(String),
}

/// One message of a conversation, as providers are shown it: text only, secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said {
    /// `user`, `assistant` or `tool`.
    pub role: String,
    /// The text.
    pub content: String,
}

/// A session that begins or goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Opening {
    /// Its id.
    pub session_id: String,
    /// The home folder.
    pub hermes_home: String,
    /// The face: `cli`, `api`, …
    pub platform: String,
    /// Always `primary`: reviews and helpers have no provider.
    pub agent_context: String,
    /// The person's title of the session, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_title: Option<String>,
    /// The session it goes on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
}

/// A finished turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// The session.
    pub session_id: String,
    /// What the person said.
    pub user: String,
    /// What was answered.
    pub assistant: String,
}

/// A conversation that goes on under another id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Switch {
    /// The new id.
    pub session_id: String,
    /// The id before.
    pub parent_session_id: String,
    /// Nothing of the conversation before is carried over.
    pub reset: bool,
    /// Why.
    pub reason: String,
    /// Turns were taken out of the same session.
    pub rewound: bool,
}

/// A change of the curated memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryWrite {
    /// `add`, `replace` or `remove`.
    pub action: String,
    /// `memory` or `user`.
    pub target: String,
    /// The entry's new text; empty for `remove`.
    pub content: String,
    /// Who, where, and `old_text`.
    pub metadata: Value,
}

/// A piece of work another agent did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Delegation {
    /// The session that gave it.
    pub session_id: String,
    /// What was to be done.
    pub task: String,
    /// What came of it.
    pub result: String,
    /// The session it was done in.
    pub child_session_id: String,
}

/// A call of one of the provider's tools.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: Value,
    /// The session that calls.
    pub session_id: String,
}

/// Something that remembers. Every call but [`name`](Self::name) may be left as it is.
///
/// Calls are made one after the other, except that `on_turn_start`, `prefetch`, `on_pre_compress` and
/// `handle_tool_call` may come while another one runs.
pub trait MemoryProvider: Send + Sync + 'static {
    /// Its name in the configuration.
    fn name(&self) -> &str;

    /// Whether what it gives back may be a stranger's words; what it keeps itself on this machine is not.
    fn is_outside(&self) -> bool {
        true
    }

    /// Makes it ready, before any other call and before there is a session.
    fn connect(&self) -> Call<'_> {
        done(())
    }

    /// Its tools; known once it is connected.
    fn tool_schemas(&self) -> Vec<ToolSpec> {
        Vec::new()
    }

    /// What stands about it in the system prompt; known once it is connected.
    fn system_prompt_block(&self) -> String {
        String::new()
    }

    /// A session begins or is gone on with in this process.
    fn initialize<'a>(&'a self, _opening: &'a Opening) -> Call<'a> {
        done(())
    }

    /// A turn begins, the `number`-th of the person's in this process.
    fn on_turn_start<'a>(&'a self, _number: u64, _message: &'a str, _session: &'a str) -> Call<'a> {
        done(())
    }

    /// What it recalls about `query`; the turn waits for it.
    fn prefetch<'a>(&'a self, _query: &'a str, _session: &'a str) -> Call<'a, String> {
        done(String::new())
    }

    /// A turn ended; what the next one may ask for can be looked up now.
    fn queue_prefetch<'a>(&'a self, _query: &'a str, _session: &'a str) -> Call<'a> {
        done(())
    }

    /// A turn ended by itself, and this was said.
    fn sync_turn<'a>(&'a self, _turn: &'a Exchange) -> Call<'a> {
        done(())
    }

    /// The session ends; `session` is still its old id.
    fn on_session_end<'a>(&'a self, _session: &'a str, _messages: &'a [Said]) -> Call<'a> {
        done(())
    }

    /// The conversation goes on under another id, or turns were taken out of it.
    fn on_session_switch<'a>(&'a self, _switch: &'a Switch) -> Call<'a> {
        done(())
    }

    /// A compression comes; what is given may enter the summary.
    fn on_pre_compress<'a>(&'a self, _session: &'a str, _messages: &'a [Said]) -> Call<'a, String> {
        done(String::new())
    }

    /// The curated memory was changed.
    fn on_memory_write<'a>(&'a self, _write: &'a MemoryWrite) -> Call<'a> {
        done(())
    }

    /// Work that was handed on has come back.
    fn on_delegation<'a>(&'a self, _delegation: &'a Delegation) -> Call<'a> {
        done(())
    }

    /// Answers a call of one of its tools.
    fn handle_tool_call<'a>(&'a self, call: &'a ToolUse) -> Call<'a, Value> {
        let text = format!("{} has no tool {}", self.name(), call.name);
        Box::pin(std::future::ready(Err(ProviderError::BadCall(text))))
    }

    /// No session is left. Another one may still begin.
    fn shutdown(&self) -> Call<'_> {
        done(())
    }
}

fn done<'a, T: Send + 'a>(value: T) -> Call<'a, T> {
    Box::pin(std::future::ready(Ok(value)))
}
