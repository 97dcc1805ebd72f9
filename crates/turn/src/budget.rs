//! What a turn may spend. Every edge back to a model call spends one of these,
//! or a row of the recovery ledger, so a turn ends.

use serde::{Deserialize, Serialize};

/// What a turn may still spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Model calls (`agent.max_turns`); repeats of a failed call are the ledger's.
    pub calls: u32,
    /// Continuations of an answer that was cut at its length.
    pub continuations: u32,
    /// Rounds in a row in which no call could be understood.
    pub invalid_rounds: u32,
    /// Compressions.
    pub compactions: u32,
    /// Calls that may be given back because their rounds only ran scripts.
    #[serde(default)]
    pub refunds: u32,
}

impl Budget {
    /// A fresh turn's budget with `calls` model calls.
    pub fn with_calls(calls: u32) -> Self {
        Self {
            calls,
            continuations: 3,
            invalid_rounds: 4,
            compactions: 8,
            refunds: calls,
        }
    }
}

/// The tool whose rounds cost nothing: a script does the work of many rounds.
const FREE: &str = "execute_code";

impl Budget {
    /// Gives a call back after a round that ran scripts and nothing else. As many are given back as the turn
    /// had at first, so that it still ends.
    pub(crate) fn refund(&mut self, ran: &[String]) {
        let only_scripts = !ran.is_empty() && ran.iter().all(|name| name == FREE);
        if only_scripts && spend(&mut self.refunds) {
            self.calls += 1;
        }
    }
}

/// Spends one of `left`, if there is one.
pub(crate) fn spend(left: &mut u32) -> bool {
    match left.checked_sub(1) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}
