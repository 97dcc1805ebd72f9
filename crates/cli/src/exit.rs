//! Exit codes, and the one place where errors become texts for people.

use std::fmt;

use serde_json::json;
use talaria_config::ConfigError;
use talaria_runtime::EngineError;
use talaria_runtime::replay::ReplayError;
use talaria_store::StoreError;
use talaria_types::{ErrorKind, ExitReason, TurnResult};

/// Done.
pub(crate) const DONE: u8 = 0;
/// The turn failed, or what was asked could not be done.
pub(crate) const FAILED: u8 = 1;
/// Bad usage, bad configuration, something that does not exist.
pub(crate) const USAGE: u8 = 2;
/// No provider or no credential.
pub(crate) const NO_PROVIDER: u8 = 3;
/// The turn's calls were spent.
pub(crate) const TURN_LIMIT: u8 = 4;
/// The turn's money was spent.
pub(crate) const SPEND_LIMIT: u8 = 5;
/// The context cannot be made to fit.
pub(crate) const NO_FIT: u8 = 6;
/// Interrupted.
pub(crate) const INTERRUPTED: u8 = 130;

/// Why a command ends without having done what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    /// What happened and where.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

/// What a command comes to: its exit code, or why there is none of its own.
pub(crate) type Outcome = Result<u8, Failure>;

impl Failure {
    /// Bad usage.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: USAGE,
            message: message.into(),
            hint: None,
        }
    }

    /// Something that could not be done.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self {
            code: FAILED,
            message: message.into(),
            hint: None,
        }
    }

    /// With advice.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The result of a turn that never began, in the shape of one that did.
    pub(crate) fn as_result(&self) -> serde_json::Value {
        let kind = match self.code {
            USAGE | NO_PROVIDER => ErrorKind::Config,
            INTERRUPTED => ErrorKind::Interrupted,
            NO_FIT => ErrorKind::ContextOverflow,
            _ => ErrorKind::Internal,
        };
        let reason = match self.code {
            INTERRUPTED => ExitReason::Interrupted,
            NO_FIT => ExitReason::ContextOverflow,
            _ => ExitReason::Error,
        };
        json!({
            "final_response": null, "session_id": null, "root_session_id": null,
            "completed": false, "failed": true, "partial": false, "interrupted": self.code == INTERRUPTED,
            "exit_reason": reason,
            "error": {"kind": kind, "message": self.message, "status": null, "hint": self.hint},
            "api_calls": 0, "compressions": 0, "model": "", "provider": "",
            "usage": talaria_types::Usage::default(), "usage_by_task": {},
            "estimated_cost_usd": null, "cost_status": "unknown", "recoveries": [], "warnings": [],
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\n  {hint}"))
    }
}

/// The exit code of a turn.
pub(crate) fn of_turn(result: &TurnResult) -> u8 {
    let kind = result.error.as_ref().map(|error| error.kind);
    match result.exit_reason {
        ExitReason::Interrupted => INTERRUPTED,
        _ if result.interrupted => INTERRUPTED,
        ExitReason::TurnLimit => TURN_LIMIT,
        ExitReason::SpendLimit => SPEND_LIMIT,
        ExitReason::ContextOverflow => NO_FIT,
        _ if kind == Some(ErrorKind::ContextOverflow) => NO_FIT,
        _ if result.failed => FAILED,
        ExitReason::TextResponse | ExitReason::PartialStream | ExitReason::GuardrailHalt => DONE,
        ExitReason::Error | ExitReason::EmptyAnswer | ExitReason::Refused => FAILED,
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let hint = match &error {
            ConfigError::File { source, .. } => file_hint(source),
            ConfigError::Syntax { .. } => {
                Some("fix that line (`talaria config edit` opens the file)".to_owned())
            }
            ConfigError::Value { place, .. } if place.starts_with('$') => Some(format!(
                "change or unset the variable {place} (it may stand in the home folder's .env)"
            )),
            ConfigError::Value { key, place, .. } if place != "config set" && !key.contains(' ') => Some(
                format!("set it with `talaria config set {key} VALUE`, or edit the file"),
            ),
            ConfigError::Value { .. }
            | ConfigError::CannotEdit { .. }
            | ConfigError::Managed { .. }
            | ConfigError::NoHome => None,
        };
        Self {
            code: USAGE,
            message: error.to_string(),
            hint,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (code, hint) = match &error {
            StoreError::UnknownSession { .. } => {
                (USAGE, Some("`talaria sessions list` shows ids and titles".to_owned()))
            }
            StoreError::AmbiguousSession { .. } => (USAGE, Some("give more of the id".to_owned())),
            StoreError::TitleTaken { .. } | StoreError::BadTitle { .. } | StoreError::NothingToUndo { .. } => (USAGE, None),
            StoreError::Damaged { .. } => (
                FAILED,
                Some("`talaria db check` says what is damaged, `talaria db repair` saves what can be read".to_owned()),
            ),
            StoreError::SessionBusy { .. } => (FAILED, Some("wait for it to end, or stop it".to_owned())),
            StoreError::Locked => (FAILED, Some("try again when the other program is done".to_owned())),
            StoreError::DiskFull => (FAILED, Some("free some space and try again; nothing was lost".to_owned())),
            StoreError::ReadOnly { .. } | StoreError::Open { .. } => (
                FAILED,
                Some("check that the home folder can be written (`talaria doctor`), or give another with --home".to_owned()),
            ),
            StoreError::File { source, .. } => (FAILED, file_hint(source)),
            StoreError::AlreadyCompressed { .. }
            | StoreError::OriginalsGone { .. }
            | StoreError::Sqlite(_) => (FAILED, None),
        };
        Self {
            code,
            message: with_causes(&error),
            hint,
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::NoProvider(message) => Self {
                code: NO_PROVIDER,
                message,
                hint: None,
            },
            EngineError::Usage(message) => Self::usage(message),
            EngineError::TooLarge(message) => Self {
                code: NO_FIT,
                message,
                hint: None,
            },
            EngineError::Busy(message) => Self::failed(message),
            EngineError::Store(error) => error.into(),
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::NoSuchTurn { .. } => Self::usage(error.to_string()),
            ReplayError::BadRecord { .. } => Self::failed(error.to_string()),
            ReplayError::Store(error) => error.into(),
        }
    }
}

/// The error with its causes, each said once.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        cause = inner.source();
    }
    text
}

fn file_hint(error: &std::io::Error) -> Option<String> {
    use std::io::ErrorKind;
    let hint = match error.kind() {
        ErrorKind::PermissionDenied => "check who owns it and its permissions",
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only; give another home with --home",
        ErrorKind::StorageFull => "free some space and try again",
        ErrorKind::InvalidData => "the file is not UTF-8 text",
        _ => return None,
    };
    Some(hint.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_failure_says_what_where_and_what_to_do() {
        let error = StoreError::UnknownSession {
            name: "2020".to_owned(),
        };
        assert_eq!(
            Failure::from(error).to_string(),
            "error: no session is called \"2020\"\n  `talaria sessions list` shows ids and titles"
        );
        let error = StoreError::File {
            path: PathBuf::from("/x"),
            source: std::io::ErrorKind::StorageFull.into(),
        };
        assert!(Failure::from(error).to_string().starts_with("error: /x: "));
    }

    #[test]
    fn bad_configuration_is_bad_usage() {
        let error = ConfigError::Value {
            place: "config.yaml:3".to_owned(),
            key: "agent.max_turns".to_owned(),
            expected: "a whole number".to_owned(),
            found: "\"x\"".to_owned(),
        };
        assert_eq!(Failure::from(error).code, USAGE);
        let error = ConfigError::Value {
            place: "$HERMES_MAX_ITERATIONS".to_owned(),
            key: "agent.max_turns".to_owned(),
            expected: "a whole number".to_owned(),
            found: "\"x\"".to_owned(),
        };
        let hint = Failure::from(error).hint.unwrap();
        assert!(
            hint.contains("unset the variable $HERMES_MAX_ITERATIONS"),
            "{hint}"
        );
    }

    #[test]
    fn a_turn_that_never_began_has_the_shape_of_one_that_did() {
        let shape = Failure {
            code: NO_PROVIDER,
            message: "no key".to_owned(),
            hint: None,
        }
        .as_result();
        assert_eq!(shape["error"]["kind"], "config");
        assert_eq!(shape["final_response"], serde_json::Value::Null);
        assert!(shape["failed"].as_bool().unwrap());
        assert_eq!(shape["usage"]["prompt_tokens"], 0);
    }
}
