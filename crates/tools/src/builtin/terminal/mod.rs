//! The `terminal` tool: runs commands of the model in a shell.

mod exit_codes;
mod result;
mod servers;

#[cfg(test)]
pub(crate) mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use talaria_types::Effect;

use crate::approval::Gate;
use crate::process::{Capture, End, Finished, JobOptions, Running, Wiring, start, unusable};
use crate::{Tool, ToolContext, ToolError, ToolOutput, ToolSession};

/// A foreground command may not be given more seconds.
const LONGEST_TIMEOUT: u64 = 600;

/// Runs commands in a shell.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal;

/// What a command is run with.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct TerminalArgs {
    /// The command, for bash.
    pub command: String,
    /// Start it and return at once with a session_id for the process tool.
    #[serde(default)]
    pub background: bool,
    /// Seconds before a foreground command is ended, at most 600.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub timeout: Option<u64>,
    /// Folder for this command only.
    #[serde(default)]
    pub workdir: Option<String>,
    /// Give it a terminal of its own, for programs that want one.
    #[serde(default)]
    pub pty: bool,
    /// With background: be told when it ends.
    #[serde(default)]
    pub notify_on_complete: bool,
    /// With background: be told of output lines with any of these texts.
    #[serde(default)]
    pub watch_patterns: Vec<String>,
}

impl Tool for Terminal {
    const NAME: &'static str = "terminal";
    const DESCRIPTION: &'static str = "Runs a command in bash and returns its output and exit code. \
        The folder and exported variables last from one call to the next. There is no input to read: \
        use flags instead of prompts. Long output is cut in the middle and saved to a file. Use \
        background for servers and long jobs, and the file tools to read, search and edit files.";
    const EFFECT: Effect = Effect::Execute;
    type Args = TerminalArgs;

    fn run<'a>(
        &'a self,
        args: TerminalArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(run(args, cx))
    }
}

async fn run(args: TerminalArgs, cx: &ToolContext<'_>) -> Result<ToolOutput, ToolError> {
    if args.command.trim().is_empty() {
        return Err(ToolError::BadArguments("command is empty".into()));
    }
    if args.command.contains('\0') {
        return Err(ToolError::BadArguments("command holds a NUL character".into()));
    }
    let limit = args
        .timeout
        .unwrap_or(cx.session.settings().terminal_timeout_s)
        .max(1);
    if !args.background && args.timeout.is_some_and(|asked| asked > LONGEST_TIMEOUT) {
        return Err(ToolError::BadArguments(format!(
            "timeout {limit} is over {LONGEST_TIMEOUT} seconds; start it with background: true and follow it with the process tool"
        )));
    }
    if !args.background
        && !args.pty
        && let Some(advice) = servers::advice(&args.command)
    {
        return Ok(result::refused(&args.command, &advice, "error"));
    }
    if let Err(refusal) = Gate::of(cx).check("terminal", &args.command).await {
        return Ok(result::refused(&args.command, &refusal.message, refusal.status));
    }
    let cwd = match &args.workdir {
        Some(workdir) if !workdir.is_empty() => cx.absolute(workdir),
        _ => usable_cwd(cx.session),
    };
    if let Some(reason) = unusable(&cwd) {
        return Ok(result::no_folder(&args.command, &reason));
    }
    if args.background {
        background(&args, cx, &cwd)
    } else {
        foreground(&args, cx, &cwd, limit).await
    }
}

/// The session's folder; its first one when that is gone.
fn usable_cwd(session: &ToolSession) -> PathBuf {
    let cwd = session.cwd();
    if cwd.is_dir() {
        cwd
    } else {
        session.settings().cwd.clone()
    }
}

async fn foreground(
    args: &TerminalArgs,
    cx: &ToolContext<'_>,
    cwd: &Path,
    limit: u64,
) -> Result<ToolOutput, ToolError> {
    let processes = cx.session.processes();
    let failed =
        |error: std::io::Error| ToolError::Failed(format!("the command could not be started: {error}"));
    let prepared = processes
        .prepare(&args.command, cwd, cx.session, args.pty)
        .map_err(failed)?;
    // As JSON a text is a little longer; a result over its budget would be cut again.
    let shown = crate::executor::result_chars(cx.session.settings().window) / 5 * 4;
    let capture = Capture::new(processes.spill_file(cx.session, &cx.call.id), shown);
    let wiring = if args.pty {
        Wiring::Terminal
    } else {
        Wiring::Closed
    };
    let started = start(&prepared.launch, wiring).map_err(failed)?;
    cx.host.spawned(cx.call, started.pid);
    let running = Running::new(started, capture).map_err(failed)?;
    let mut finished = running.finish(Duration::from_secs(limit), cx.cancel).await;
    transform(&mut finished, args, cx, shown).await;
    let left = processes.settle(&prepared, &mut finished, cx.session.settings());
    // A folder that was asked for is for this command only, unless it moved on from there.
    let moved = left.filter(|left| {
        let from = std::fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
        *left != from
    });
    if let Some(moved) = &moved {
        cx.session.set_cwd(moved.clone());
    }
    Ok(result::finished(
        &args.command,
        &finished,
        limit,
        moved.as_deref(),
    ))
}

/// Lets others put something in the place of what a command printed.
async fn transform(finished: &mut Finished, args: &TerminalArgs, cx: &ToolContext<'_>, most: usize) {
    if !cx.host.consults() || cx.cancel.is_cancelled() {
        return;
    }
    let mask = cx.session.mask();
    let printed = mask
        .text(&finished.output.text, crate::mask::Mode::Output)
        .into_owned();
    let code = match finished.end {
        End::Exited(code) => code,
        End::TimedOut | End::Interrupted => -1,
    };
    let other = tokio::select! {
        other = cx.host.printed(&args.command, &printed, code) => other,
        () = cx.cancel.cancelled() => None,
    };
    if let Some(text) = other {
        finished.output.text = text.chars().take(most).collect();
    }
}

fn background(args: &TerminalArgs, cx: &ToolContext<'_>, cwd: &Path) -> Result<ToolOutput, ToolError> {
    let both = args.notify_on_complete && !args.watch_patterns.is_empty();
    let options = JobOptions {
        command: args.command.clone(),
        cwd: cwd.display().to_string(),
        pty: args.pty,
        notify_on_complete: args.notify_on_complete,
        watch_patterns: if both {
            Vec::new()
        } else {
            args.watch_patterns.clone()
        },
    };
    let job = cx
        .session
        .processes()
        .start(options, cwd, cx.session)
        .map_err(|error| ToolError::Failed(format!("the process could not be started: {error}")))?;
    cx.host.spawned(cx.call, job.pid);
    Ok(result::started(args, &job, both))
}
