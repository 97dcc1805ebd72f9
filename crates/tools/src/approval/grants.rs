//! What the person has allowed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use super::{Danger, FAMILIES};

/// What a model says of a command that was found dangerous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmartVerdict {
    /// It may run.
    Approve,
    /// It must not, for this reason.
    Deny(String),
    /// The person should decide.
    Escalate,
}

/// Asks a model about a command and the reason it was found dangerous.
pub type SmartJudge = Arc<dyn Fn(String, String) -> BoxFuture<'static, SmartVerdict> + Send + Sync>;

/// What the person has allowed for this session, and for good.
#[derive(Default)]
pub struct Grants {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    session: BTreeSet<&'static str>,
    /// Tools of others that were allowed, by name.
    tools: BTreeSet<String>,
    permanent: Vec<String>,
    yolo: bool,
    judge: Option<SmartJudge>,
}

impl Grants {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets who judges in the mode `smart`; until then the person is asked.
    pub fn set_judge(&self, judge: SmartJudge) {
        self.lock().judge = Some(judge);
    }

    /// Allows everything but the hard list and denied commands, or stops doing so (`/yolo`).
    pub fn set_yolo(&self, yolo: bool) {
        self.lock().yolo = yolo;
    }

    /// What `other` allows for its session is allowed here too.
    pub fn join(&self, other: &Self) {
        let (session, yolo) = {
            let other = other.lock();
            (other.session.clone(), other.yolo)
        };
        let mut inner = self.lock();
        inner.session.extend(session);
        inner.yolo |= yolo;
    }

    /// Families that were allowed for good since this was last called, to be added to `command_allowlist`.
    pub fn newly_permanent(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().permanent)
    }

    pub(super) fn judge(&self) -> Option<SmartJudge> {
        self.lock().judge.clone()
    }

    pub(crate) fn is_yolo(&self) -> bool {
        self.lock().yolo
    }

    /// Whether `danger` was allowed, here or in `allowlist`.
    pub(super) fn allow(&self, danger: Danger, allowlist: &[String]) -> bool {
        if !danger.may_keep {
            return false;
        }
        let family = FAMILIES.iter().find(|family| family.key == danger.key);
        let listed = family.is_some_and(|family| allowlist.iter().any(|name| family.is_called(name)));
        listed || self.lock().session.contains(danger.key)
    }

    /// Whether the tool of somebody else was allowed, here or in `allowlist`.
    pub(super) fn allows_tool(&self, tool: &str, allowlist: &[String]) -> bool {
        allowlist.iter().any(|name| name == tool) || self.lock().tools.contains(tool)
    }

    pub(super) fn grant_tool(&self, tool: &str, for_good: bool) {
        let mut inner = self.lock();
        let is_new = inner.tools.insert(tool.to_owned());
        if for_good && is_new {
            inner.permanent.push(tool.to_owned());
        }
    }

    pub(super) fn grant(&self, danger: Danger, for_good: bool) {
        if !danger.may_keep {
            return;
        }
        let mut inner = self.lock();
        let is_new = inner.session.insert(danger.key);
        if for_good && (is_new || !inner.permanent.iter().any(|key| key == danger.key)) {
            inner.permanent.push(danger.key.to_owned());
        }
    }
}
