//! `execute_code`: a script of the model that calls tools and gives back only what it prints.
//!
//! A script runs in a process group and a private folder of its own, without the program's keys, and asks
//! for tools over a socket (Python) or files (shell) in that folder. Its calls go the way of all calls:
//! approvals, path rules, masking; they belong to the call that runs the script.
//!
//! A Python script confines itself before its first line, where the system can (Landlock): it writes to
//! its folders only, reads neither the rest of the person's home nor other programs, and in the mode `strict`
//! has no network. Where it cannot, and where it starts programs or deletes folders itself, the person is asked
//! as for `python3 -c`. A shell script is judged like a command of the terminal, and runs like one.

mod door;
mod script;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use talaria_types::Effect;

use crate::approval::Gate;
use crate::process::{End, quote};
use crate::{Tool, ToolContext, ToolError, ToolOutput};

use door::Door;
use script::{Ran, Script};

/// What a Python script does that no confinement of files makes harmless.
const BY_ITSELF: &[&str] = &[
    "subprocess",
    "os.system",
    "os.popen",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "os.fork",
    "pty.",
    "rmtree",
    "removedirs",
    "ctypes",
    "__import__",
    "importlib",
];

/// See the module.
pub(crate) struct ExecuteCode;

/// What is run.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The script
    code: String,
    /// python (default) or sh
    #[serde(default)]
    language: Language,
}

/// Languages of scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    /// Python 3.
    #[default]
    Python,
    /// A shell.
    Sh,
}

/// What the model reads.
#[derive(Serialize)]
struct Answer {
    status: &'static str,
    output: String,
    tool_calls_made: u32,
    duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    stderr: String,
}

impl Tool for ExecuteCode {
    const NAME: &'static str = "execute_code";
    const DESCRIPTION: &'static str = "Run a script that calls tools in loops and prints only what matters. Python: \
        from hermes_tools import read_file, write_file, search_files, patch, terminal, web_search, web_extract; each \
        returns a dict. sh: tool NAME 'JSON'. At most 50 calls, 300 s";
    const EFFECT: Effect = Effect::Execute;
    type Args = Args;

    fn run<'a>(
        &'a self,
        args: Args,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(execute(args, cx))
    }
}

async fn execute(args: Args, cx: &ToolContext<'_>) -> Result<ToolOutput, ToolError> {
    if args.code.trim().is_empty() || args.code.contains('\0') {
        return Err(ToolError::BadArguments(
            "code is empty, or holds a NUL character".to_owned(),
        ));
    }
    let gate = Gate::of(cx);
    let asked = match args.language {
        Language::Sh => Some(args.code.clone()),
        Language::Python if acts_by_itself(&args.code) => Some(as_command(&args.code)),
        Language::Python => None,
    };
    if let Some(command) = &asked
        && let Err(refusal) = gate.check("execute_code", command).await
    {
        return Err(ToolError::Denied(refusal.message));
    }
    let began = Instant::now();
    let door = Door::new(cx);
    let mut ran = Script::new(&args.code, args.language, cx)?
        .run(&door, true)
        .await?;
    if ran.unconfined {
        // Nothing of it has run yet.
        if asked.is_none()
            && let Err(refusal) = gate.check("execute_code", &as_command(&args.code)).await
        {
            return Err(ToolError::Denied(format!(
                "this system cannot confine scripts, so they need consent. {}",
                refusal.message
            )));
        }
        ran = Script::new(&args.code, args.language, cx)?
            .run(&door, false)
            .await?;
    }
    Ok(output(ran, door.calls(), began.elapsed(), cx))
}

/// Whether a script starts programs, deletes folders, or hides what it does.
fn acts_by_itself(code: &str) -> bool {
    BY_ITSELF.iter().any(|word| code.contains(word))
}

/// The script as a command, for whoever judges commands.
fn as_command(code: &str) -> String {
    format!("python3 -c {}", quote(code))
}

fn output(ran: Ran, calls: u32, took: Duration, cx: &ToolContext<'_>) -> ToolOutput {
    let limit = cx.session.settings().code.timeout_s;
    let (status, error) = match ran.end {
        End::Exited(0) => ("success", None),
        End::Exited(code) => ("error", Some(format!("the script ended with exit code {code}"))),
        End::TimedOut => (
            "timeout",
            Some(format!(
                "the script was ended after {limit} s (code_execution.timeout)"
            )),
        ),
        End::Interrupted => ("interrupted", Some("the user stopped the script".to_owned())),
    };
    let answer = Answer {
        status,
        output: ran.output,
        tool_calls_made: calls,
        duration_seconds: (took.as_secs_f64() * 100.0).round() / 100.0,
        error,
        stderr: ran.errors,
    };
    let brief = format!("[execute_code] {status}, {calls} calls of tools");
    let output = ToolOutput::json(&answer, brief);
    if status == "success" {
        output
    } else {
        output.failed()
    }
}
