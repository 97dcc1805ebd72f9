//! Counts how often each row fired, so that every sequence of failures ends.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How often a row may fire, and over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Budget {
    /// So often per model call (one answer).
    PerCall(u32),
    /// So often per turn.
    PerTurn(u32),
    /// As often as `agent.api_max_retries` per model call.
    Retries,
    /// As long as the fallback chain has entries.
    Fallbacks,
}

/// What fired in this turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    call: BTreeMap<String, u32>,
    turn: BTreeMap<String, u32>,
}

impl Ledger {
    /// A model call succeeded: what counts per call starts again.
    pub fn call_succeeded(&mut self) {
        self.call.clear();
    }

    /// How often each row fired in this turn, by name.
    pub fn fired(&self) -> impl Iterator<Item = (&str, u32)> {
        self.turn.iter().map(|(row, times)| (row.as_str(), *times))
    }
}
