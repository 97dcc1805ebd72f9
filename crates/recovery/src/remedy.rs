//! What can be done about a failure, as data.

use serde::{Deserialize, Serialize};
use talaria_types::{Rewrite, TurnError};

use crate::Failure;

/// The cure a row names. The turn turns it into its next step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// Repair the outgoing copy and call again; kept for the session.
    Rewrite(Rewrite),
    /// Compress the history and call again.
    Compact {
        /// The window the provider stated; the known one stays when absent.
        window: Option<u64>,
    },
    /// Fetch a fresh token for the credential in use and call again.
    RefreshCredential,
    /// Take the next credential of the pool and call again.
    RotateCredential,
    /// Go to the next provider of the fallback chain.
    SwitchProvider,
    /// Drop all connections, wait this long and call again.
    RebuildTransport {
        /// Milliseconds.
        wait_ms: u64,
    },
    /// Wait this long and call again.
    Wait {
        /// Milliseconds.
        wait_ms: u64,
    },
    /// Call again at once.
    Retry,
    /// Go on from the text that had arrived, as after an answer cut at its length.
    Continue,
    /// Take the text that had arrived as the answer, marked partial.
    KeepPartial,
    /// Nothing helps.
    GiveUp,
}

/// One decision: which row, what, and how often that may still be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// The row's name.
    pub row: String,
    /// The cure.
    pub remedy: Remedy,
    /// Which attempt of this row it is, from 1.
    pub attempt: u32,
    /// How many this row may have.
    pub limit: u32,
    /// Why it ends here, in words for the person, when the failure's own words do not say it.
    #[serde(default)]
    pub note: Option<String>,
}

impl Decision {
    /// The turn's end after this decision: the failure's own words, why nothing more is tried, and what to do.
    pub fn turn_error(&self, failure: &Failure) -> TurnError {
        let mut error = failure.to_turn_error();
        error.hint = match (self.note.clone(), error.hint.take()) {
            (Some(note), Some(hint)) => Some(format!("{note}; {hint}")),
            (note, hint) => note.or(hint),
        };
        error
    }
}

/// What a row may know besides the failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Situation {
    /// Providers left in the fallback chain.
    pub fallbacks_left: u32,
    /// The pool holds another usable credential.
    pub can_rotate: bool,
    /// The credential in use can be refreshed.
    pub can_refresh: bool,
    /// `agent.api_max_retries`.
    pub max_retries: u32,
    /// `compression.enabled`.
    pub may_compact: bool,
    /// Entropy for jitter, drawn by the driver.
    pub entropy: u64,
    /// Milliseconds of the turn's waiting that are left.
    pub patience_ms: u64,
    /// The repairs that already hold for this model; none of them is proposed again.
    pub applied: Vec<Rewrite>,
    /// How many answers of this provider in a row stalled, over turns and this one included.
    pub stalls: u32,
}

impl Default for Situation {
    /// One credential, no fallback, the default settings, ten minutes of patience.
    fn default() -> Self {
        Self {
            fallbacks_left: 0,
            can_rotate: false,
            can_refresh: false,
            max_retries: 3,
            may_compact: true,
            entropy: 0,
            patience_ms: 600_000,
            applied: Vec::new(),
            stalls: 0,
        }
    }
}
