//! Starts a shell on pipes or on a terminal of its own.
//!
//! Both ways come to the same parts: something to read, something to write,
//! and something that waits for the end. They are plain blocking parts for
//! threads, so a process needs no runtime and outlives none.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use super::launch::{Launch, shell_name};
use super::watchdog::Watched;

/// The terminal of a command, as large as Hermes' is.
const TERMINAL: PtySize = PtySize {
    rows: 30,
    cols: 120,
    pixel_width: 0,
    pixel_height: 0,
};

/// What a new process is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wiring {
    /// Nothing to read, both outputs into one pipe.
    Closed,
    /// A pipe to read from, both outputs into one pipe.
    Piped,
    /// A terminal.
    Terminal,
}

/// A process that has started.
pub(crate) struct Started {
    /// Its id, and that of its group.
    pub(crate) pid: u32,
    /// Lets it die with the program.
    pub(crate) watched: Watched,
    /// What it prints.
    pub(crate) output: Box<dyn Read + Send>,
    /// What it reads.
    pub(crate) input: Option<Box<dyn Write + Send>>,
    /// Waits for its end and gives its exit status; 128 and the signal when one ended it.
    pub(crate) wait: Box<dyn FnOnce() -> i32 + Send>,
}

/// Starts `launch`.
///
/// # Errors
/// When the process or its pipes could not be made.
pub(crate) fn start(launch: &Launch, wiring: Wiring) -> io::Result<Started> {
    match wiring {
        Wiring::Closed => on_pipes(launch, Stdio::null()),
        Wiring::Piped => on_pipes(launch, Stdio::piped()),
        Wiring::Terminal => on_terminal(launch).map_err(io::Error::other),
    }
}

fn on_pipes(launch: &Launch, input: Stdio) -> io::Result<Started> {
    let (reader, writer) = io::pipe()?;
    let mut command = launch.command()?;
    command.stdin(input).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // It holds the writing ends; without this the output would never end.
    drop(command);
    let pid = child.id();
    let input = child
        .stdin
        .take()
        .map(|input| Box::new(input) as Box<dyn Write + Send>);
    let wait = move || child.wait().map_or(-1, status_code);
    Ok(Started {
        pid,
        watched: Watched::new(pid),
        output: Box::new(reader),
        input,
        wait: Box::new(wait),
    })
}

fn on_terminal(launch: &Launch) -> Result<Started, Box<dyn std::error::Error + Send + Sync>> {
    let pair = native_pty_system().openpty(TERMINAL)?;
    let mut command = CommandBuilder::new(super::environment::shell());
    command.arg("-c");
    command.arg(launch.argument()?);
    command.arg(shell_name());
    command.cwd(&launch.cwd);
    command.env_clear();
    for (name, value) in &launch.variables {
        command.env(name, value);
    }
    let mut child = pair.slave.spawn_command(command)?;
    // Our copy of the terminal's other end would keep the output open for ever.
    drop(pair.slave);
    let pid = child.process_id().ok_or("the process ended before it began")?;
    let output = pair.master.try_clone_reader()?;
    let input = pair.master.take_writer()?;
    let master = pair.master;
    let wait = move || {
        let status = child.wait();
        drop(master);
        // A shell that a signal ended is reported as 1; the signal's number is not told.
        status.map_or(-1, |status| i32::try_from(status.exit_code()).unwrap_or(-1))
    };
    Ok(Started {
        pid,
        watched: Watched::new(pid),
        output,
        input: Some(input),
        wait: Box::new(wait),
    })
}

fn status_code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}
