//! What the model reads of a command.

use std::path::Path;

use serde_json::{Map, Value, json};
use talaria_types::Content;

use super::{TerminalArgs, exit_codes};
use crate::ToolOutput;
use crate::process::{End, Finished, Job};

/// What a shell says of a command that was ended for taking too long.
const TIMED_OUT: i32 = 124;
/// What a shell says of a command that was interrupted.
const INTERRUPTED: i32 = 130;
/// What a shell says of a command that cannot be run.
const CANNOT_RUN: i32 = 126;

/// A command that has ended; `moved` when the folder is another one now.
pub(super) fn finished(command: &str, finished: &Finished, limit: u64, moved: Option<&Path>) -> ToolOutput {
    let (code, error, note) = match finished.end {
        End::Exited(code) => (code, None, None),
        End::TimedOut => {
            let note = format!("[Command timed out after {limit}s]");
            (
                TIMED_OUT,
                Some(format!("timed out after {limit} seconds and was ended")),
                Some(note),
            )
        }
        End::Interrupted => (
            INTERRUPTED,
            Some("interrupted by the user".to_owned()),
            Some("[Command interrupted]".to_owned()),
        ),
    };
    let mut output = finished.output.text.clone();
    if let Some(note) = note {
        if !output.is_empty() && !output.ends_with('\n') {
            output.push('\n');
        }
        output.push_str(&note);
    }
    let mut members = object(json!({"output": output, "exit_code": code, "error": error}));
    if let Some(meaning) = exit_codes::meaning(command, code) {
        members.insert("exit_code_meaning".into(), meaning.into());
    }
    if let Some(file) = &finished.output.file {
        members.insert("output_file".into(), file.display().to_string().into());
    }
    if let Some(moved) = moved {
        members.insert("cwd".into(), moved.display().to_string().into());
    }
    if finished.still_runs {
        members.insert(
            "note".into(),
            "a child of this command still runs in the background".into(),
        );
    }
    output_of(
        members,
        brief(command, &code.to_string(), finished.output.lines),
        code == 0,
    )
}

/// A background process that has been started.
pub(super) fn started(args: &TerminalArgs, job: &Job, watch_ignored: bool) -> ToolOutput {
    let mut members = object(json!({
        "output": "Background process started",
        "session_id": job.id,
        "pid": job.pid,
        "exit_code": 0,
        "error": null,
    }));
    if args.notify_on_complete {
        members.insert("notify_on_complete".into(), true.into());
    }
    if watch_ignored {
        members.insert(
            "watch_patterns_ignored".into(),
            "notify_on_complete was asked for too".into(),
        );
    } else if !args.watch_patterns.is_empty() {
        members.insert("watch_patterns".into(), json!(args.watch_patterns));
    }
    output_of(
        members,
        format!("[terminal] started `{}` as {}", short(&args.command), job.id),
        true,
    )
}

/// A command that was not run.
pub(super) fn refused(command: &str, message: &str, status: &str) -> ToolOutput {
    let members = object(json!({"output": "", "exit_code": -1, "error": message, "status": status}));
    output_of(
        members,
        format!("[terminal] did not run `{}`: {status}", short(command)),
        false,
    )
}

/// A command whose folder does not exist.
pub(super) fn no_folder(command: &str, reason: &str) -> ToolOutput {
    let members = object(json!({"output": "", "exit_code": CANNOT_RUN, "error": reason}));
    output_of(members, brief(command, &CANNOT_RUN.to_string(), 0), false)
}

/// The line that may stand in for a result later.
fn brief(command: &str, code: &str, lines: u64) -> String {
    format!(
        "[terminal] ran `{}` -> exit {code}, {lines} lines output",
        short(command)
    )
}

/// The command in at most 80 characters. Secrets are masked first: half of one is
/// no longer known for what it is.
fn short(command: &str) -> String {
    let command = talaria_redact::redact_code(command);
    if command.chars().count() <= 80 {
        return command.into_owned();
    }
    let start: String = command.chars().take(77).collect();
    format!("{start}...")
}

fn output_of(members: Map<String, Value>, brief: String, ok: bool) -> ToolOutput {
    ToolOutput {
        content: Content::Text(Value::Object(members).to_string()),
        brief,
        ok,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
