//! One background process.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use super::capture::last_chars;
use super::clean::plain;
use super::foreground::thread;
use super::group::Tree;
use super::notice::Watcher;
use super::spawn::Started;
use super::watchdog::Watched;

/// Characters of the output that are kept.
const KEPT: usize = 200_000;
/// Bytes of the output that are kept: a character may have four.
const KEPT_BYTES: usize = 2 * KEPT;
/// After the shell has ended, how long its output is awaited.
const DRAIN: Duration = Duration::from_millis(200);
/// What a tree gets between being asked to end and being killed.
const GRACE: Duration = Duration::from_millis(200);
/// What a killed process is said to have ended with: minus SIGTERM.
const KILLED: i32 = -15;

/// What is remembered of how a process was started.
#[derive(Clone, Debug, Default)]
pub(crate) struct JobOptions {
    /// The command as the model wrote it.
    pub(crate) command: String,
    /// Where it runs.
    pub(crate) cwd: String,
    /// Whether it has a terminal.
    pub(crate) pty: bool,
    /// Whether its end is announced.
    pub(crate) notify_on_complete: bool,
    /// Texts whose appearance in a line is announced.
    pub(crate) watch_patterns: Vec<String>,
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It runs.
    Running,
    /// It has ended with this status.
    Exited(i32),
}

/// One process in the background, running or ended.
pub(crate) struct Job {
    /// Its id, `proc_` and twelve hex digits.
    pub(crate) id: String,
    /// The shell's process id.
    pub(crate) pid: u32,
    /// How it was started.
    pub(crate) options: JobOptions,
    /// When, in seconds since 1970.
    pub(crate) started_at: f64,
    started: Instant,
    inner: Mutex<Inner>,
    output_ended: Condvar,
    status: watch::Sender<Status>,
}

struct Inner {
    output: VecDeque<u8>,
    /// Whether the beginning of the output is no longer there.
    cut: bool,
    open: bool,
    input: Option<Box<dyn Write + Send>>,
    killed: bool,
    ended: Option<Instant>,
    /// Whether the model has seen that it ended.
    told: bool,
    watched: Option<Watched>,
    watcher: Watcher,
}

impl Job {
    /// Takes a process that has started.
    ///
    /// # Errors
    /// When there are no more threads.
    pub(crate) fn new(id: String, started: Started, options: JobOptions) -> io::Result<Arc<Self>> {
        let Started {
            pid,
            watched,
            output,
            input,
            wait,
        } = started;
        let inner = Inner {
            output: VecDeque::new(),
            cut: false,
            open: true,
            input,
            killed: false,
            ended: None,
            told: false,
            watched: Some(watched),
            watcher: Watcher::new(options.watch_patterns.clone(), options.notify_on_complete),
        };
        let job = Arc::new(Self {
            id,
            pid,
            options,
            started_at: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |since| since.as_secs_f64()),
            started: Instant::now(),
            inner: Mutex::new(inner),
            output_ended: Condvar::new(),
            status: watch::Sender::new(Status::Running),
        });
        let reading = Arc::clone(&job);
        thread("process-output", move || reading.read(output))?;
        let waiting = Arc::clone(&job);
        thread("process-wait", move || waiting.end(wait()))?;
        Ok(job)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut reader: Box<dyn Read + Send>) {
        let mut buffer = vec![0; 16 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => self.keep(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        self.lock().open = false;
        self.output_ended.notify_all();
    }

    fn keep(&self, bytes: &[u8]) {
        let mut inner = self.lock();
        inner.output.extend(bytes);
        let excess = inner.output.len().saturating_sub(KEPT_BYTES);
        if excess > 0 {
            inner.output.drain(..excess);
            inner.cut = true;
        }
        inner.watcher.look(bytes, Instant::now());
    }

    fn end(&self, code: i32) {
        let inner = self.lock();
        // What it printed last may still be in the pipe; a child of it may keep the pipe open for ever.
        let (mut inner, _) = self
            .output_ended
            .wait_timeout_while(inner, DRAIN, |inner| inner.open)
            .unwrap_or_else(PoisonError::into_inner);
        inner.ended = Some(Instant::now());
        inner.input = None;
        let code = if inner.killed { KILLED } else { code };
        if !super::group::group_runs(self.pid) {
            inner.watched = None;
        }
        drop(inner);
        self.status.send_replace(Status::Exited(code));
    }

    /// Where it stands.
    pub(crate) fn status(&self) -> Status {
        *self.status.borrow()
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> Status {
        let mut status = self.status.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        let seen = status
            .wait_for(|status| *status != Status::Running)
            .await
            .map(|status| *status);
        seen.unwrap_or(Status::Exited(-1))
    }

    /// When it ended.
    pub(crate) fn ended_at(&self) -> Option<Instant> {
        self.lock().ended
    }

    /// Seconds it has been running, or ran.
    pub(crate) fn uptime(&self) -> u64 {
        let end = self.ended_at().unwrap_or_else(Instant::now);
        end.duration_since(self.started).as_secs()
    }

    /// What it has printed as plain text, at most the last 200 000 characters; and whether that is all.
    pub(crate) fn output(&self) -> (String, bool) {
        let mut inner = self.lock();
        let whole = !inner.cut;
        let text = plain(inner.output.make_contiguous());
        drop(inner);
        (last_chars(&text, KEPT).to_owned(), whole)
    }

    /// The last `count` characters it has printed.
    pub(crate) fn preview(&self, count: usize) -> String {
        let mut inner = self.lock();
        let bytes = inner.output.make_contiguous();
        // Escape sequences take room too.
        let end = &bytes[bytes.len().saturating_sub(16 * count)..];
        let text = plain(end);
        drop(inner);
        last_chars(&text, count).to_owned()
    }

    /// Notes that the model has seen its end, so that it need not be announced.
    pub(crate) fn tell(&self) {
        if self.status() != Status::Running {
            self.lock().told = true;
        }
    }

    /// What the model should be told of it without having asked.
    pub(crate) fn notices(&self) -> Vec<String> {
        let status = self.status();
        let mut inner = self.lock();
        let mut notices: Vec<String> = inner
            .watcher
            .take()
            .into_iter()
            .map(|lines| super::notice::matched(&self.id, &self.options.command, &lines))
            .collect();
        let Status::Exited(code) = status else {
            return notices;
        };
        if inner.told || !inner.watcher.notify_on_complete() {
            return notices;
        }
        inner.told = true;
        drop(inner);
        notices.push(super::notice::completed(
            &self.id,
            &self.options.command,
            code,
            &self.preview(2000),
        ));
        notices
    }

    /// Writes `bytes` to its input; the write is done by the calling thread.
    ///
    /// # Errors
    /// When its input is closed or it does not read.
    pub(crate) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        // Taken out so that a process that does not read blocks only this writer.
        let taken = self.lock().input.take();
        let Some(mut input) = taken else {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "its input is closed"));
        };
        let written = input.write_all(bytes).and_then(|()| input.flush());
        let mut inner = self.lock();
        if inner.ended.is_none() {
            inner.input = Some(input);
        }
        written
    }

    /// Closes its input.
    pub(crate) fn close(&self) {
        self.lock().input = None;
    }

    /// Ends its whole tree; whether it was still running.
    pub(crate) async fn kill(&self) -> bool {
        if self.status() != Status::Running {
            return false;
        }
        self.lock().killed = true;
        Tree::of(self.pid).end(GRACE).await;
        let _ = tokio::time::timeout(Duration::from_secs(2), self.ended()).await;
        true
    }

    /// Whether anything of it may still run.
    pub(crate) fn may_run(&self) -> bool {
        self.lock().watched.is_some()
    }
}
