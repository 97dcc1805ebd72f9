//! What subagents spend. It is charged to the session that started them, and that session's limits hold
//! for the sum: a subagent asks here before each model call, and what others are about to spend counts too.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use talaria_types::SessionId;

/// The money of one session's subagents.
#[derive(Debug)]
pub(crate) struct Purse {
    /// Whose limits hold.
    pub(crate) session: SessionId,
    /// What its running turn had cost before.
    turn: f64,
    /// What of that is in no row yet.
    unwritten: f64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    spent: f64,
    unwritten: f64,
    /// What calls that are under way may cost at worst, by session.
    reserved: BTreeMap<String, f64>,
}

/// How much is spent, calls under way included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Standing {
    /// In the turn.
    pub(crate) turn: f64,
    /// Beyond what is in rows.
    pub(crate) unwritten: f64,
}

impl Purse {
    /// The purse of a session whose turn has cost `turn`, of which `unwritten` is in no row yet.
    pub(crate) fn new(session: SessionId, turn: f64, unwritten: f64) -> Self {
        Self {
            session,
            turn,
            unwritten,
            inner: Mutex::default(),
        }
    }

    /// Sets `worst` aside for the next call of `who`, unless `refuse` has something against it.
    pub(crate) fn reserve(
        &self,
        who: &str,
        worst: f64,
        refuse: impl FnOnce(Standing) -> Option<String>,
    ) -> Option<String> {
        let mut inner = self.lock();
        inner.reserved.remove(who);
        let aside: f64 = inner.reserved.values().sum();
        let standing = Standing {
            turn: self.turn + inner.spent + aside,
            unwritten: self.unwritten + inner.unwritten + aside,
        };
        let refused = refuse(standing);
        if refused.is_none() {
            inner.reserved.insert(who.to_owned(), worst);
        }
        refused
    }

    /// A call of `who` has cost this much; `written` when that stands in a row already.
    pub(crate) fn spend(&self, who: &str, usd: f64, written: bool) {
        let mut inner = self.lock();
        inner.reserved.remove(who);
        inner.spent += usd;
        if !written {
            inner.unwritten += usd;
        }
    }

    /// So much of it stands in rows now.
    pub(crate) fn wrote(&self, usd: f64) {
        let mut inner = self.lock();
        inner.unwritten = (inner.unwritten - usd).max(0.0);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(purse: &Purse, who: &str) -> Standing {
        let mut seen = None;
        purse.reserve(who, 1.0, |standing| {
            seen = Some(standing);
            None
        });
        seen.unwrap()
    }

    #[test]
    fn what_others_are_about_to_spend_counts_and_ones_own_last_call_does_not() {
        let purse = Purse::new(SessionId::new("s"), 2.0, 0.5);
        assert_eq!(standing(&purse, "a").turn, 2.0);
        assert_eq!(standing(&purse, "b").turn, 3.0);
        assert_eq!(standing(&purse, "a").turn, 3.0);
        purse.spend("a", 0.25, false);
        purse.spend("b", 0.25, true);
        assert_eq!(
            standing(&purse, "c"),
            Standing {
                turn: 2.5,
                unwritten: 0.75
            }
        );
        purse.wrote(0.25);
        purse.spend("c", 0.0, true);
        assert_eq!(standing(&purse, "a").unwritten, 0.5);
    }

    #[test]
    fn a_call_that_is_refused_sets_nothing_aside() {
        let purse = Purse::new(SessionId::new("s"), 0.0, 0.0);
        let refused = purse.reserve("a", 9.0, |_| Some("too much".to_owned()));
        assert_eq!(refused.as_deref(), Some("too much"));
        assert_eq!(standing(&purse, "b").turn, 0.0);
    }
}
