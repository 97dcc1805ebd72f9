//! Counts how often each row fired, so that every sequence of failures ends.
//!
//! A ledger lives for one turn. It knows nothing of what the rows do; it only
//! counts, over the span each [`Budget`] names, and says whether a row has
//! something left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Situation;

/// How often a row may fire, and over what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Budget {
    /// So often per model call (one answer).
    PerCall(u32),
    /// So often per turn.
    PerTurn(u32),
    /// So often per turn for the credential in use.
    PerCredential(u32),
    /// As often as `agent.api_max_retries` per model call, together with every
    /// other row that waits.
    Retries,
    /// As long as the fallback chain has entries.
    Fallbacks,
    /// So often per turn, together with every other row that names the same counter.
    Shared {
        /// The counter.
        name: &'static str,
        /// How often.
        limit: u32,
    },
    /// It ends the call, so it needs no bound and is not counted.
    Final,
}

impl Budget {
    /// How often a row with this budget may fire, given how often it did.
    pub fn limit(self, fired: u32, situation: &Situation) -> u32 {
        match self {
            Self::PerCall(n) | Self::PerTurn(n) | Self::PerCredential(n) => n,
            Self::Shared { limit, .. } => limit,
            Self::Retries => situation.max_retries,
            Self::Fallbacks => fired.saturating_add(situation.fallbacks_left.max(1)),
            Self::Final => fired.saturating_add(1),
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::PerCall(n) => write!(out, "{n} per call"),
            Self::PerTurn(n) => write!(out, "{n} per turn"),
            Self::PerCredential(n) => write!(out, "{n} per credential and turn"),
            Self::Retries => write!(
                out,
                "`agent.api_max_retries` per call, shared by all rows that wait"
            ),
            Self::Fallbacks => write!(out, "once per entry of `fallback_providers`"),
            Self::Shared { name, limit } => write!(out, "{limit} per turn, shared by all rows of `{name}`"),
            Self::Final => write!(out, "ends the call"),
        }
    }
}

/// What fired in this turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    call: BTreeMap<String, u32>,
    turn: BTreeMap<String, u32>,
    #[serde(default)]
    credential: BTreeMap<String, u32>,
    #[serde(default)]
    shared: BTreeMap<String, u32>,
    /// Rows that wait, together, in this call.
    #[serde(default)]
    retries: u32,
    /// Failures in this call.
    #[serde(default)]
    failures: u32,
}

impl Ledger {
    /// A model call gave an answer that is used (text, calls, a part to be
    /// continued after its length limit): what counts per call starts again.
    ///
    /// Not to be called for an empty answer; its chain counts here, too.
    pub fn call_succeeded(&mut self) {
        self.call.clear();
        self.retries = 0;
        self.failures = 0;
    }

    /// How often each row fired in this turn, by name.
    pub fn fired(&self) -> impl Iterator<Item = (&str, u32)> {
        self.turn.iter().map(|(row, times)| (row.as_str(), *times))
    }

    /// How often this row fired in this call.
    pub fn in_call(&self, row: &str) -> u32 {
        self.call.get(row).copied().unwrap_or(0)
    }

    /// How often this row fired in this turn.
    pub fn in_turn(&self, row: &str) -> u32 {
        self.turn.get(row).copied().unwrap_or(0)
    }

    /// How often this row fired for the credential in use.
    pub fn for_credential(&self, row: &str) -> u32 {
        self.credential.get(row).copied().unwrap_or(0)
    }

    /// How often the rows that wait fired in this call, together.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// How many failures this call has had, the one being decided included.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// How much of its budget a row has used.
    pub fn spent(&self, row: &str, budget: Budget) -> u32 {
        match budget {
            Budget::PerCall(_) => self.in_call(row),
            Budget::PerTurn(_) | Budget::Fallbacks => self.in_turn(row),
            Budget::PerCredential(_) => self.for_credential(row),
            Budget::Retries => self.retries,
            Budget::Shared { name, .. } => self.shared.get(name).copied().unwrap_or(0),
            Budget::Final => 0,
        }
    }

    pub(crate) fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
    }

    pub(crate) fn record(&mut self, row: &str, budget: Budget) {
        bump(&mut self.call, row);
        bump(&mut self.turn, row);
        bump(&mut self.credential, row);
        match budget {
            Budget::Retries => self.retries = self.retries.saturating_add(1),
            Budget::Shared { name, .. } => bump(&mut self.shared, name),
            Budget::PerCall(_)
            | Budget::PerTurn(_)
            | Budget::PerCredential(_)
            | Budget::Fallbacks
            | Budget::Final => {}
        }
    }

    /// Another credential is in use: what was tried for the last one is open again.
    pub(crate) fn credential_changed(&mut self) {
        self.credential.clear();
    }

    /// Another provider is asked: it gets what any provider gets for one call.
    pub(crate) fn provider_changed(&mut self) {
        self.credential.clear();
        self.call_succeeded();
    }
}

fn bump(counter: &mut BTreeMap<String, u32>, key: &str) {
    let times = counter.entry(key.to_owned()).or_default();
    *times = times.saturating_add(1);
}
