//! The `process` tool: asks about background processes and ends them.

mod log;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use talaria_types::{Content, Effect};

use crate::approval::{Gate, takes_commands};
use crate::process::{Job, Status};
use crate::{Tool, ToolContext, ToolError, ToolOutput};

/// A write to a process that does not read gives up after this.
const WRITE: Duration = Duration::from_secs(5);

/// Asks about background processes and ends them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Process;

/// What is done with which process.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ProcessArgs {
    /// list: all processes; poll: state and newest output; log: output by lines; wait: until it ends;
    /// kill: end it and its children; write: send data; submit: send data and a line break; close: end its input.
    pub action: Action,
    /// The process, as terminal named it; for all actions but list.
    #[serde(default)]
    pub session_id: Option<String>,
    /// For write and submit: what to send.
    #[serde(default)]
    pub data: Option<String>,
    /// For wait: seconds at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub timeout: Option<u64>,
    /// For log: the first line, from 0. Without it the last lines are shown.
    #[serde(default)]
    pub offset: Option<usize>,
    /// For log: lines at most (200).
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Action {
    /// Names all processes.
    List,
    /// Tells where one stands.
    Poll,
    /// Shows its output.
    Log,
    /// Waits for its end.
    Wait,
    /// Ends it.
    Kill,
    /// Sends it a text.
    Write,
    /// Sends it a line.
    Submit,
    /// Ends its input.
    Close,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Poll => "poll",
            Self::Log => "log",
            Self::Wait => "wait",
            Self::Kill => "kill",
            Self::Write => "write",
            Self::Submit => "submit",
            Self::Close => "close",
        }
    }
}

impl Tool for Process {
    const NAME: &'static str = "process";
    const DESCRIPTION: &'static str = "Follows, feeds and ends background processes that terminal started.";
    const EFFECT: Effect = Effect::Execute;
    type Args = ProcessArgs;

    fn run<'a>(
        &'a self,
        args: ProcessArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(run(args, cx))
    }
}

async fn run(args: ProcessArgs, cx: &ToolContext<'_>) -> Result<ToolOutput, ToolError> {
    if args.action == Action::List {
        let jobs = cx.session.processes().all();
        let all: Vec<Value> = jobs.iter().map(|job| listed(job)).collect();
        return Ok(output("[process] list".into(), true, json!({ "processes": all })));
    }
    let id = args.session_id.clone().unwrap_or_default();
    let id = id.trim();
    if id.is_empty() {
        return Err(ToolError::BadArguments(format!(
            "{} needs a session_id",
            args.action.as_str()
        )));
    }
    let brief = format!("[process] {} session={id}", args.action.as_str());
    let Some(job) = cx.session.processes().find(id) else {
        let error = format!("there is no process {id}; list names those that are known");
        return Ok(output(
            brief,
            false,
            json!({"status": "not_found", "error": error}),
        ));
    };
    let result = match args.action {
        Action::List | Action::Poll => polled(&job),
        Action::Log => log::lines(&job, args.offset, args.limit),
        Action::Wait => wait(&job, args.timeout, cx).await,
        Action::Kill => kill(&job).await,
        Action::Write | Action::Submit => send(&job, &args, cx).await?,
        Action::Close => {
            job.close();
            json!({"status": "ok", "bytes_written": 0})
        }
    };
    let ok = result.get("error").is_none();
    // Whatever showed its end to the model, the end need not be announced.
    job.tell();
    Ok(output(brief, ok, result))
}

fn listed(job: &Job) -> Value {
    let command: String = job.options.command.chars().take(200).collect();
    let value = json!({
        "session_id": job.id,
        "command": command,
        "cwd": job.options.cwd,
        "pid": job.pid,
        "started_at": job.started_at,
        "uptime_seconds": job.uptime(),
        "output_preview": job.preview(200),
    });
    with_status(value, job.status())
}

fn polled(job: &Job) -> Value {
    let value = json!({
        "session_id": job.id,
        "command": job.options.command,
        "pid": job.pid,
        "uptime_seconds": job.uptime(),
        "output_preview": job.preview(1000),
    });
    with_status(value, job.status())
}

fn with_status(mut value: Value, status: Status) -> Value {
    match status {
        Status::Running => value["status"] = "running".into(),
        Status::Exited(code) => {
            value["status"] = "exited".into();
            value["exit_code"] = code.into();
        }
    }
    value
}

async fn wait(job: &Job, timeout: Option<u64>, cx: &ToolContext<'_>) -> Value {
    let most = cx.session.settings().terminal_timeout_s.max(1);
    let seconds = timeout.unwrap_or(most).clamp(1, most);
    let mut value = tokio::select! {
        status = job.ended() => with_status(json!({"session_id": job.id, "output": job.preview(2000)}), status),
        () = tokio::time::sleep(Duration::from_secs(seconds)) => json!({
            "session_id": job.id,
            "status": "timeout",
            "note": format!("it still runs after {seconds} seconds"),
            "output": job.preview(1000),
        }),
        () = cx.cancel.cancelled() => json!({
            "session_id": job.id,
            "status": "interrupted",
            "note": "the user stopped the wait; the process still runs",
            "output": job.preview(1000),
        }),
    };
    if let Some(asked) = timeout.filter(|asked| *asked > most) {
        value["timeout_note"] =
            format!("{asked} seconds were asked for; at most {most} are waited at once").into();
    }
    value
}

async fn kill(job: &Job) -> Value {
    if job.kill().await {
        let code = match job.status() {
            Status::Exited(code) => json!(code),
            Status::Running => Value::Null,
        };
        json!({"session_id": job.id, "status": "killed", "exit_code": code})
    } else {
        let value = json!({"session_id": job.id});
        let mut value = with_status(value, job.status());
        value["status"] = "already_exited".into();
        value
    }
}

async fn send(job: &Arc<Job>, args: &ProcessArgs, cx: &ToolContext<'_>) -> Result<Value, ToolError> {
    let mut data = args.data.clone().unwrap_or_default();
    if job.status() != Status::Running {
        return Ok(
            json!({"status": "already_exited", "error": "the process has ended and reads nothing any more"}),
        );
    }
    // What a shell is told is a command like any other.
    if takes_commands(&job.options.command)
        && let Err(refusal) = Gate::of(cx).check("process", &data).await
    {
        return Ok(json!({"status": refusal.status, "error": refusal.message}));
    }
    if args.action == Action::Submit {
        // A terminal's return key, which it turns into a line break where the program wants one.
        data.push(if job.options.pty { '\r' } else { '\n' });
    }
    let written = data.len();
    let (done, written_all) = tokio::sync::oneshot::channel();
    let target = Arc::clone(job);
    // On a thread of its own: a process that does not read must not hold up the runtime's end.
    std::thread::Builder::new()
        .name("process-input".into())
        .spawn(move || done.send(target.write(data.as_bytes())))
        .map_err(|error| ToolError::Failed(format!("nothing could be sent: {error}")))?;
    Ok(match tokio::time::timeout(WRITE, written_all).await {
        Ok(Ok(Ok(()))) => json!({"status": "ok", "bytes_written": written}),
        Ok(Ok(Err(error))) => json!({"status": "error", "error": format!("nothing could be sent: {error}")}),
        Ok(Err(_)) => json!({"status": "error", "error": "nothing could be sent"}),
        Err(_) => json!({"status": "error", "error": "the process does not read its input"}),
    })
}

fn output(brief: String, ok: bool, value: Value) -> ToolOutput {
    let members = match value {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    ToolOutput {
        content: Content::Text(Value::Object(members).to_string()),
        brief,
        ok,
    }
}
