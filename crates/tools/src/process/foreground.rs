//! Runs one command to its end and keeps what it printed.
//!
//! The end is the shell's end, not the end of its output: a child in the
//! background may hold the pipe open for ever, and is left running. A timeout
//! or an interrupt ends the whole tree.

use std::io::{self, Read};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::capture::{Capture, Captured};
use super::group::{Tree, group_runs};
use super::spawn::Started;
use super::watchdog::Watched;

/// After the shell has ended, how long its output is read in all, and while nothing comes.
const DRAIN: Duration = Duration::from_millis(300);
const QUIET: Duration = Duration::from_millis(50);
/// The same in all for a command that was interrupted: the program is about to end.
const DRAIN_INTERRUPT: Duration = Duration::from_millis(30);
/// What a tree gets between being asked to end and being killed.
const GRACE_TIMEOUT: Duration = Duration::from_millis(200);
const GRACE_INTERRUPT: Duration = Duration::from_millis(80);
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this status; 128 and the signal when one ended it.
    Exited(i32),
    /// It took too long.
    TimedOut,
    /// The person stopped it.
    Interrupted,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Finished {
    /// What it printed, both streams as they came.
    pub(crate) output: Captured,
    /// How it ended.
    pub(crate) end: End,
    /// Its group, when something of it still runs.
    pub(crate) leftover: Option<(u32, Watched)>,
    /// Whether something of it still runs.
    pub(crate) still_runs: bool,
}

/// A running command; dropping it ends the tree.
pub(crate) struct Running {
    guard: Guard,
    output: mpsc::Receiver<Vec<u8>>,
    /// Held so that the command does not read the end of its input; a terminal has no such end.
    _input: Option<Box<dyn io::Write + Send>>,
    ended: oneshot::Receiver<i32>,
    capture: Capture,
}

/// Kills the tree unless it was given up.
struct Guard {
    pid: u32,
    watched: Option<Watched>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.watched.is_some() {
            Tree::of(self.pid).kill();
        }
    }
}

impl Running {
    /// Takes a process that has started; what it prints goes to `capture`.
    ///
    /// # Errors
    /// When there are no more threads.
    pub(crate) fn new(started: Started, capture: Capture) -> io::Result<Self> {
        let Started {
            pid,
            watched,
            output: reader,
            input,
            wait,
        } = started;
        let guard = Guard {
            pid,
            watched: Some(watched),
        };
        let (chunks, output) = mpsc::channel(8);
        let (end, ended) = oneshot::channel();
        thread("terminal-output", move || forward(reader, &chunks))?;
        thread("terminal-wait", move || {
            let _ = end.send(wait());
        })?;
        Ok(Self {
            guard,
            output,
            _input: input,
            ended,
            capture,
        })
    }

    /// Waits for its end, at most for `limit` or until `cancel` fires.
    pub(crate) async fn finish(mut self, limit: Duration, cancel: &CancellationToken) -> Finished {
        let deadline = Instant::now() + limit;
        let mut open = true;
        let end = loop {
            tokio::select! {
                code = &mut self.ended => break End::Exited(code.unwrap_or(-1)),
                chunk = self.output.recv(), if open => open = keep(&mut self.capture, chunk.as_deref()),
                () = tokio::time::sleep_until(deadline) => break End::TimedOut,
                () = cancel.cancelled() => break End::Interrupted,
            }
        };
        match end {
            End::Exited(_) => {}
            End::TimedOut => Tree::of(self.guard.pid).end(GRACE_TIMEOUT).await,
            End::Interrupted => Tree::of(self.guard.pid).end(GRACE_INTERRUPT).await,
        }
        self.drain(
            open,
            if end == End::Interrupted {
                DRAIN_INTERRUPT
            } else {
                DRAIN
            },
        )
        .await;
        let leftover = self.guard.watched.take().filter(|_| group_runs(self.guard.pid));
        Finished {
            output: self.capture.finish(),
            end,
            still_runs: leftover.is_some(),
            leftover: leftover.map(|watched| (self.guard.pid, watched)),
        }
    }

    /// Reads what is there; nobody waits for a child that keeps the pipe open.
    async fn drain(&mut self, mut open: bool, patience: Duration) {
        let deadline = Instant::now() + patience;
        while open && Instant::now() < deadline {
            match tokio::time::timeout(QUIET.min(patience), self.output.recv()).await {
                Ok(chunk) => open = keep(&mut self.capture, chunk.as_deref()),
                Err(_) => break,
            }
        }
    }
}

/// Keeps what was read; whether there may be more.
fn keep(capture: &mut Capture, chunk: Option<&[u8]>) -> bool {
    if let Some(chunk) = chunk {
        capture.push(chunk);
    }
    chunk.is_some()
}

/// Reads to the end. When nobody wants it any more it is read all the same:
/// a child that was left in the background must not die of a closed pipe.
fn forward(mut reader: Box<dyn Read + Send>, chunks: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                let _ = chunks.blocking_send(buffer[..count].to_vec());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Starts a thread with a small stack.
pub(crate) fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new()
        .name(name.into())
        .stack_size(256 * 1024)
        .spawn(work)
        .map(drop)
}
