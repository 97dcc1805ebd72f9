//! What makes a session a subagent.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use talaria_types::{ModelIdentity, SessionId, Usage};

use super::purse::Purse;
use crate::bill::Bill;
use crate::models::Model;

/// Tools that no subagent has: they act for the person's own conversation, or hand work on.
const NEVER: &[&str] = &[
    "clarify",
    "delegate_task",
    "execute_code",
    "memory",
    "send_message",
    "cronjob",
];

/// Calls by the model that was asked.
pub(crate) type Ledger = Vec<(ModelIdentity, Bill)>;

/// Whose work a session does, and what it may use for it.
pub(crate) struct Nest {
    /// 1 for the subagent of a person's session.
    pub(crate) depth: u32,
    /// The session that started it.
    pub(crate) parent: SessionId,
    /// Its parent's call, and which of its tasks this is.
    pub(crate) call: (String, usize),
    /// It may start others.
    pub(crate) may_delegate: bool,
    /// The tools its parent has.
    pub(crate) tools: Vec<String>,
    pub(crate) purse: Arc<Purse>,
    pub(crate) ledger: Mutex<Ledger>,
}

impl Nest {
    /// Whether a tool of this name may be used here.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        let never = NEVER.contains(&tool) && !(tool == "delegate_task" && self.may_delegate);
        !never && self.tools.iter().any(|name| name == tool)
    }

    /// What its row says of it, so that it is told from a person's session and found again.
    pub(crate) fn marks(&self) -> Map<String, Value> {
        let marks = json!({
            "_delegate_from": self.parent.as_str(),
            "_delegate_call": self.call.0,
            "_delegate_task": self.call.1,
        });
        match marks {
            Value::Object(marks) => marks,
            _ => Map::new(),
        }
    }

    /// Counts a call of the session `who`.
    pub(crate) fn charge(&self, who: &str, model: &Model, usage: Option<Usage>) {
        let mut bill = Bill::default();
        bill.add(model, usage);
        self.purse.spend(who, bill.known_usd(), false);
        self.note(model.provider.identity(), &bill);
    }

    /// Counts what stands in a row already: a side task, or (`inner`) its own subagents, who have paid for
    /// themselves.
    pub(crate) fn charge_written(&self, who: &str, identity: &ModelIdentity, bill: &Bill, inner: bool) {
        if !inner {
            self.purse.spend(who, bill.known_usd(), true);
        }
        self.note(identity, bill);
    }

    /// What was used, once.
    pub(crate) fn take_ledger(&self) -> Ledger {
        std::mem::take(&mut *self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn note(&self, identity: &ModelIdentity, bill: &Bill) {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        match ledger.iter_mut().find(|(known, _)| known == identity) {
            Some((_, known)) => known.join(bill),
            None => ledger.push((identity.clone(), *bill)),
        }
    }
}
