//! What a parent reads of a subagent.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use talaria_types::{ExitReason, Message, Role, TurnResult, Usage};

/// Calls of a trace that are shown; the newest ones.
const TRACED: usize = 30;
/// Refused commands and changed files that are named.
const NAMED: usize = 20;

/// How a subagent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    /// With an answer.
    Completed,
    /// Without one.
    Failed,
    /// It was stopped.
    Interrupted,
    /// It took too long.
    Timeout,
    /// It could not even be started.
    Error,
    /// The program ended while it worked; what came of it is not known.
    Lost,
}

impl Status {
    /// The word in the result.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Timeout => "timeout",
            Self::Error => "error",
            Self::Lost => "lost",
        }
    }
}

/// One subagent's end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Report {
    pub(crate) task_index: usize,
    pub(crate) status: Status,
    /// Its answer.
    pub(crate) summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// Its conversation, for `session_search`.
    pub(crate) session_id: String,
    pub(crate) api_calls: u64,
    pub(crate) duration_seconds: f64,
    pub(crate) model: String,
    pub(crate) exit_reason: &'static str,
    pub(crate) tokens: Tokens,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files_written: Vec<String>,
    /// What it was not allowed to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) refused: Vec<String>,
    pub(crate) tool_calls: usize,
    pub(crate) tool_trace: Vec<Traced>,
}

/// Tokens of a subagent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// One call of a subagent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Traced {
    tool: String,
    args_bytes: usize,
    result_bytes: usize,
    status: &'static str,
}

impl Report {
    /// The report of a subagent of which nothing is known but that it ended like this.
    pub(crate) fn bare(task_index: usize, session_id: &str, status: Status, error: Option<String>) -> Self {
        Self {
            task_index,
            status,
            summary: None,
            error,
            session_id: session_id.to_owned(),
            api_calls: 0,
            duration_seconds: 0.0,
            model: String::new(),
            exit_reason: status.as_str(),
            tokens: Tokens::default(),
            cost_usd: None,
            files_written: Vec::new(),
            refused: Vec::new(),
            tool_calls: 0,
            tool_trace: Vec::new(),
        }
    }

    /// Takes over what its turn says.
    pub(crate) fn ended(&mut self, result: &TurnResult, stopped_for: Option<Status>, most: usize) {
        let text = result.final_response.as_deref().map(str::trim);
        let text = text.filter(|text| !text.is_empty());
        self.status = match (stopped_for, text) {
            (Some(status), _) => status,
            (None, _) if result.interrupted => Status::Interrupted,
            (None, Some(_)) if !result.failed || result.partial => Status::Completed,
            (None, _) => Status::Failed,
        };
        self.exit_reason = match (stopped_for, result.exit_reason) {
            (Some(status), _) => status.as_str(),
            (None, ExitReason::TextResponse) => "completed",
            (None, ExitReason::TurnLimit) => "max_iterations",
            (None, ExitReason::Interrupted) => "interrupted",
            (None, ExitReason::SpendLimit) => "spend_limit",
            (None, _) => "error",
        };
        self.summary = text.map(|text| cut(text, most, &self.session_id));
        self.error = result
            .error
            .as_ref()
            .filter(|_| self.status != Status::Completed)
            .map(|error| error.message.clone());
        self.api_calls = u64::from(result.api_calls);
        self.model.clone_from(&result.model);
        self.tokens = Tokens::of(&result.usage);
        self.cost_usd = result.estimated_cost_usd;
    }

    /// Takes over what its conversation shows.
    pub(crate) fn saw(&mut self, messages: &[Arc<Message>]) {
        let mut files = BTreeSet::new();
        for message in messages {
            for call in &message.tool_calls {
                let answer = messages
                    .iter()
                    .find(|other| other.tool_call_id.as_deref() == Some(&call.id));
                let text = answer.map(|answer| answer.content.text().into_owned());
                let status = status_of(text.as_deref());
                if status == "ok" {
                    files.extend(written(&call.name, &call.arguments));
                }
                if status == "denied" && self.refused.len() < NAMED {
                    self.refused.push(asked(&call.name, &call.arguments));
                }
                self.tool_calls += 1;
                self.tool_trace.push(Traced {
                    tool: call.name.clone(),
                    args_bytes: call.arguments.len(),
                    result_bytes: text.map_or(0, |text| text.len()),
                    status,
                });
            }
        }
        let excess = self.tool_trace.len().saturating_sub(TRACED);
        self.tool_trace.drain(..excess);
        self.files_written = files.into_iter().take(NAMED).collect();
    }
}

impl Tokens {
    pub(crate) fn of(usage: &Usage) -> Self {
        Self {
            input: usage.prompt_tokens,
            output: usage.completion_tokens,
        }
    }
}

/// The answer of a conversation that ended with one.
pub(crate) fn answer(messages: &[Arc<Message>]) -> Option<String> {
    let last = messages.last()?;
    let text = last.content.text();
    let done = last.role == Role::Assistant && last.tool_calls.is_empty() && !text.trim().is_empty();
    done.then(|| text.trim().to_owned())
}

/// At most so many characters of an answer; its whole can be read.
pub(crate) fn cut(text: &str, most: usize, session: &str) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!(
            "{}\n[cut here; the whole answer is the last message of session {session}]",
            &text[..end]
        ),
    }
}

fn status_of(result: Option<&str>) -> &'static str {
    let Some(text) = result else {
        return "no result";
    };
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let error = value.get("error").and_then(Value::as_str).unwrap_or_default();
    let refused = matches!(
        value.get("status").and_then(Value::as_str),
        Some("denied" | "blocked")
    );
    if refused || error.starts_with("DENIED") || error.starts_with("BLOCKED") {
        "denied"
    } else if !error.is_empty() || value.get("exit_code").and_then(Value::as_i64).unwrap_or(0) != 0 {
        "error"
    } else {
        "ok"
    }
}

/// The files that a call has written.
fn written(tool: &str, arguments: &str) -> Vec<String> {
    if !matches!(tool, "write_file" | "patch") {
        return Vec::new();
    }
    let args: Value = serde_json::from_str(arguments).unwrap_or_default();
    let path = args["path"].as_str().map(str::to_owned);
    let patch = args["patch"].as_str().unwrap_or_default();
    let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let named = patch
        .lines()
        .filter_map(|line| marks.iter().find_map(|mark| line.strip_prefix(mark)));
    path.into_iter()
        .chain(named.map(|path| path.trim().to_owned()))
        .collect()
}

/// What a call wanted, in one line.
fn asked(tool: &str, arguments: &str) -> String {
    let args: Value = serde_json::from_str(arguments).unwrap_or_default();
    let what = ["command", "path", "url"]
        .iter()
        .find_map(|name| args[*name].as_str());
    let line = what
        .unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let line: String = line.chars().take(120).collect();
    talaria_redact::redact(format!("{tool} {line}").trim()).into()
}
