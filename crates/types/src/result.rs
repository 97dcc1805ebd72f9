//! What is left when a turn has ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{SessionId, TurnError, Usage};

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitReason {
    /// With an answer.
    TextResponse,
    /// Its calls were spent.
    TurnLimit,
    /// Its money was spent.
    SpendLimit,
    /// The context could not be made to fit.
    ContextOverflow,
    /// The person stopped it.
    Interrupted,
    /// A failure that no recovery cured.
    Error,
    /// The model answered with nothing, again and again.
    EmptyAnswer,
    /// The model or the provider declined.
    Refused,
    /// The same call was made again and again.
    GuardrailHalt,
    /// The stream broke; what had arrived is the answer.
    PartialStream,
}

/// How often one recovery row fired in a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryCount {
    /// The row's name.
    pub row: String,
    /// How often it fired.
    pub times: u32,
}

/// The result of one turn, as `--json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnResult {
    /// The answer; null when there is none.
    pub final_response: Option<String>,
    /// The session that holds the turn now (a compression moves it).
    pub session_id: SessionId,
    /// The first session of the lineage.
    pub root_session_id: SessionId,
    /// The turn did what it was asked.
    pub completed: bool,
    /// The turn failed.
    pub failed: bool,
    /// There is an answer, but not all of it.
    pub partial: bool,
    /// The person stopped it.
    pub interrupted: bool,
    /// How it ended.
    pub exit_reason: ExitReason,
    /// Why it failed.
    pub error: Option<TurnError>,
    /// Main calls of this turn, each attempt and the closing call counted.
    pub api_calls: u32,
    /// Compressions during this turn.
    pub compressions: u32,
    /// The model that answered last.
    pub model: String,
    /// Its provider.
    pub provider: String,
    /// Tokens of the main calls of this turn.
    pub usage: Usage,
    /// Tokens of this turn's side tasks, by task.
    pub usage_by_task: BTreeMap<String, Usage>,
    /// Price of all calls of this turn in US dollars; null when a price is unknown.
    pub estimated_cost_usd: Option<f64>,
    /// `known`, `unknown` or `partial`.
    pub cost_status: String,
    /// Which recoveries fired.
    pub recoveries: Vec<RecoveryCount>,
    /// What the person should know.
    pub warnings: Vec<String>,
}
