//! A session's side of its subagents: what they are made of, what it is charged for them, and those that
//! go on beside it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use talaria_types::SessionId;
use tokio::sync::Semaphore;

use super::beside::Beside;
use super::nest::Ledger;
use super::purse::Purse;
use crate::engine::Shared;
use crate::events::Sink;
use crate::inbox::Inbox;

/// What a session keeps of its subagents.
pub(crate) struct Desk {
    pub(crate) shared: Arc<Shared>,
    pub(crate) sink: Sink,
    pub(super) inbox: Arc<Inbox>,
    /// The session's tools.
    tools: Mutex<Vec<String>>,
    /// As many as may work at the same time.
    pub(super) places: Arc<Semaphore>,
    /// The same for what goes on beside the conversation, so that it never keeps a turn waiting.
    pub(super) places_beside: Arc<Semaphore>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// What the running turn has cost, and how much of it is in no row yet.
    spent: (f64, f64),
    /// What the subagents of the running round spend from, all of them.
    purse: Option<Arc<Purse>>,
    /// What subagents have used and the session was not charged for yet.
    ledger: Ledger,
    beside: Vec<Beside>,
}

impl Desk {
    /// The desk of a session that has these rooms.
    pub(crate) fn new(shared: Arc<Shared>, sink: Sink, inbox: Arc<Inbox>) -> Arc<Self> {
        let most = shared.loaded.config.delegation.max_concurrent_children;
        Arc::new(Self {
            shared,
            sink,
            inbox,
            tools: Mutex::default(),
            places: Arc::new(Semaphore::new(most)),
            places_beside: Arc::new(Semaphore::new(most)),
            inner: Mutex::default(),
        })
    }

    /// These are the session's tools from here on.
    pub(crate) fn has_tools(&self, names: &[String]) {
        // The memory provider is the person's conversation's.
        let own = self.shared.external_tools();
        let tools = names.iter().filter(|name| !own.contains(name)).cloned();
        *self.tools.lock().unwrap_or_else(PoisonError::into_inner) = tools.collect();
    }

    pub(super) fn tools(&self) -> Vec<String> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The turn has cost so much, of which `unwritten` is in no row yet.
    pub(crate) fn has_spent(&self, turn: f64, unwritten: f64) {
        let mut inner = self.lock();
        inner.spent = (turn, unwritten);
        inner.purse = None;
    }

    /// What subagents of this session spend from. Those of a subagent spend from its own purse.
    pub(super) fn purse(&self, session: &SessionId, beside: bool) -> Arc<Purse> {
        if let Some(nest) = &self.shared.nest {
            return nest.purse.clone();
        }
        let mut inner = self.lock();
        let (turn, unwritten) = inner.spent;
        if beside {
            // What goes on beside the turn is no part of it.
            return Arc::new(Purse::new(session.clone(), 0.0, unwritten));
        }
        let fresh = || Arc::new(Purse::new(session.clone(), turn, unwritten));
        inner.purse.get_or_insert_with(fresh).clone()
    }

    /// Charges the session for what a subagent has used.
    pub(super) fn charge(&self, ledger: Ledger) {
        self.lock().ledger.extend(ledger);
    }

    /// What the session is to be charged for, once.
    pub(crate) fn take_charges(&self) -> Ledger {
        std::mem::take(&mut self.lock().ledger)
    }

    pub(super) fn beside(&self) -> Vec<Beside> {
        let mut inner = self.lock();
        inner.beside.retain(|beside| !beside.has_ended());
        inner.beside.clone()
    }

    pub(super) fn goes_beside(&self, beside: Beside) {
        self.lock().beside.push(beside);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The prompt of a subagent: all it knows.
pub(super) fn prompt(goal: &str, context: Option<&str>, cwd: &str) -> String {
    let context = context.map(str::trim).filter(|text| !text.is_empty());
    let context = context
        .map(|text| format!("\n\nCONTEXT:\n{text}"))
        .unwrap_or_default();
    format!(
        "You are a subagent: another agent has handed you one task, and you know nothing of its conversation but \
         this. Do the task with your tools, in the folder {cwd}. Nobody can be asked; what is refused to you, leave \
         and report. End with a short account for that agent: what you did, what you found, which files you changed, \
         what is left open.\n\nTASK:\n{goal}{context}",
        goal = goal.trim()
    )
}

/// The result of a call as the model reads it.
pub(super) fn result(reports: &[super::report::Report], seconds: f64, note: Option<String>) -> Value {
    let mut value = serde_json::json!({
        "results": reports,
        "total_duration_seconds": (seconds * 100.0).round() / 100.0,
    });
    // A subagent passes on what it has read, orders included.
    for report in value["results"].as_array_mut().into_iter().flatten() {
        if let Some(said) = report["summary"].as_str() {
            report["summary"] = talaria_tools::untrusted::marked("subagent", said.to_owned()).into();
        }
    }
    if let Some(note) = note {
        value["note"] = note.into();
    }
    value
}
