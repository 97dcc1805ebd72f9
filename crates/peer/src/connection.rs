//! One run of the program: its three pipes, what waits for an answer, and its end.
//!
//! Four tasks: one writes, one reads, one listens to standard error, and one watches for the end. The
//! last owns the process; whoever drops the connection ends the process group.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use crate::lines::{Line, next_line};
use crate::program::{Limits, Program};
use crate::said::Said;
use crate::wire::{self, Message};
use crate::{Handler, PeerError, Refusal};

/// After the process is gone, what it still said is read for so long; a child of it may hold the pipes.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// Bytes of one line on standard error that are looked at.
const STDERR_LINE: usize = 64 * 1024;

type Outcome = Result<Value, Refusal>;

/// A program that runs.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    /// Taken when the program is to end: the writer then closes its standard input.
    out: Mutex<Option<mpsc::Sender<String>>>,
    ended: watch::Receiver<Option<Arc<str>>>,
    next: AtomicU64,
    group: Option<Pid>,
}

/// What the tasks share.
struct Shared {
    waiting: Mutex<HashMap<u64, oneshot::Sender<Outcome>>>,
    said: Said,
}

impl Connection {
    /// Starts `program`.
    pub(crate) fn open(program: &Program, handler: Arc<dyn Handler>) -> std::io::Result<Self> {
        let mut child = program.command().spawn()?;
        let group = child.id().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(std::io::Error::other("no pipes"));
        };
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            said: Said::default(),
        });
        let (out, lines) = mpsc::channel(program.limits.waiting.max(1));
        let (tell_end, ended) = watch::channel(None);
        tokio::spawn(write(stdin, lines, group));
        let reader = Reader {
            shared: shared.clone(),
            out: out.downgrade(),
            handler,
            limits: program.limits,
        };
        tokio::spawn(watch_over(Watched {
            child,
            group,
            stdout,
            stderr,
            reader,
            tell_end,
        }));
        Ok(Self {
            shared,
            out: Mutex::new(Some(out)),
            ended,
            next: AtomicU64::new(1),
            group,
        })
    }

    /// Whether it still runs.
    pub(crate) fn runs(&self) -> bool {
        self.ended.borrow().is_none()
    }

    /// How it ended, once it did.
    pub(crate) fn end(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    /// Calls and waits for the answer or the end; the caller bounds the time.
    pub(crate) async fn call(&self, name: &str, method: &str, params: &Value) -> Result<Value, PeerError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.shared.waiting().insert(id, sender);
        let _forget = Forget {
            shared: &self.shared,
            id,
        };
        let request = wire::request(id, method, params);
        let sent = match self.sender() {
            Some(out) => out.send(request).await.is_ok(),
            None => false,
        };
        match if sent { answer.await.ok() } else { None } {
            Some(Ok(result)) => Ok(result),
            Some(Err(refusal)) => Err(PeerError::Refused {
                program: name.to_owned(),
                method: method.to_owned(),
                code: refusal.code,
                message: talaria_redact::redact_own(&refusal.message).into_owned(),
            }),
            None => {
                // How it ended is told a moment after its pipes broke.
                let mut ended = self.ended.clone();
                let _ = tokio::time::timeout(LAST_WORDS * 4, ended.wait_for(Option::is_some)).await;
                Err(self.died(name))
            }
        }
    }

    /// Tells without waiting.
    pub(crate) fn notify(&self, name: &str, method: &str, params: &Value) -> Result<(), PeerError> {
        let out = self.sender().ok_or_else(|| self.died(name))?;
        out.try_send(wire::notification(method, params))
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => PeerError::Busy {
                    program: name.to_owned(),
                },
                mpsc::error::TrySendError::Closed(_) => self.died(name),
            })
    }

    /// Closes its standard input, waits at most `grace` for its end, then ends the whole group.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.out.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut ended = self.ended.clone();
        let _ = tokio::time::timeout(grace, ended.wait_for(Option::is_some)).await;
        kill(self.group);
        let _ = tokio::time::timeout(LAST_WORDS * 2, ended.wait_for(Option::is_some)).await;
    }

    fn sender(&self) -> Option<mpsc::Sender<String>> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn died(&self, name: &str) -> PeerError {
        let how = self.end().unwrap_or_else(|| "closed its standard input".into());
        PeerError::Died {
            program: name.to_owned(),
            how: how.to_string(),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        kill(self.group);
    }
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u64, oneshot::Sender<Outcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a call off the list whose caller has gone.
struct Forget<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.waiting().remove(&self.id);
    }
}

fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        // Nobody left to be killed is what is wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>, group: Option<Pid>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() || stdin.flush().await.is_err() {
            // One that closed its ears would look alive and never answer.
            kill(group);
            return;
        }
    }
}

struct Reader {
    shared: Arc<Shared>,
    /// Weak: what reads must not keep the program's standard input open.
    out: mpsc::WeakSender<String>,
    handler: Arc<dyn Handler>,
    limits: Limits,
}

impl Reader {
    /// Reads until nothing more comes; says what was wrong with it.
    async fn run(self, stdout: ChildStdout) -> Option<String> {
        let mut stdout = BufReader::new(stdout);
        let open = Arc::new(Semaphore::new(self.limits.open_requests.max(1)));
        let (told, mut tellings) = mpsc::channel::<(String, Value)>(self.limits.waiting.max(1));
        let handler = self.handler.clone();
        tokio::spawn(async move {
            while let Some((method, params)) = tellings.recv().await {
                handler.notified(&method, params).await;
            }
        });
        loop {
            let line = match next_line(&mut stdout, self.limits.line_bytes).await {
                Line::Whole(line) => line,
                Line::End => return None,
                Line::TooLong => {
                    return Some(format!(
                        "sent a line longer than {} bytes and was ended",
                        self.limits.line_bytes
                    ));
                }
            };
            match wire::read(&line) {
                Some(Message::Answer { id, outcome }) => {
                    let waiting = self.shared.waiting().remove(&id);
                    // Nobody waits any more for one that comes late.
                    let _ = waiting.map(|waiting| waiting.send(outcome));
                }
                Some(Message::Notification { method, params }) => {
                    if told.try_send((method, params)).is_err() {
                        tracing::warn!("a program notifies faster than it is listened to");
                    }
                }
                Some(Message::Request { id, method, params }) => self.answer(&open, id, method, params).await,
                None => self.shared.said.push(&line),
            }
        }
    }

    async fn answer(&self, open: &Arc<Semaphore>, id: Value, method: String, params: Value) {
        let Some(out) = self.out.upgrade() else { return };
        let Ok(permit) = open.clone().try_acquire_owned() else {
            let refusal = Refusal {
                code: -32000,
                message: "too many open requests".to_owned(),
            };
            let _ = out.try_send(wire::answer(&id, Err(refusal)));
            return;
        };
        let handler = self.handler.clone();
        // Weak again while the handler works: stopping must not wait for it.
        let out = out.downgrade();
        tokio::spawn(async move {
            let outcome = handler.call(&method, params).await;
            if let Some(out) = out.upgrade() {
                let _ = out.send(wire::answer(&id, outcome)).await;
            }
            drop(permit);
        });
    }
}

struct Watched {
    child: Child,
    group: Option<Pid>,
    stdout: ChildStdout,
    stderr: ChildStderr,
    reader: Reader,
    tell_end: watch::Sender<Option<Arc<str>>>,
}

/// Waits for the end of the process or of what it sends, and fails what waits for an answer.
async fn watch_over(watched: Watched) {
    let Watched {
        mut child,
        group,
        stdout,
        stderr,
        reader,
        tell_end,
    } = watched;
    let shared = reader.shared.clone();
    let mut listening = tokio::spawn(listen(stderr, shared.clone()));
    let mut reading = tokio::spawn(reader.run(stdout));
    let fault = tokio::select! {
        fault = &mut reading => fault.unwrap_or_default(),
        _ = child.wait() => {
            // An answer given with the last breath still counts.
            let rest = tokio::time::timeout(LAST_WORDS, &mut reading).await;
            rest.ok().and_then(Result::ok).flatten()
        }
    };
    // Without a voice it is of no use; children that hold its pipes go too.
    let status = match tokio::time::timeout(LAST_WORDS, child.wait()).await {
        Ok(status) => status.ok(),
        Err(_) => {
            kill(group);
            let _ = child.wait().await;
            None
        }
    };
    kill(group);
    let _ = tokio::time::timeout(LAST_WORDS, &mut listening).await;
    reading.abort();
    listening.abort();
    let how = describe(fault, status, shared.said.text());
    tell_end.send_replace(Some(how.into()));
    shared.waiting().clear();
}

async fn listen(stderr: ChildStderr, shared: Arc<Shared>) {
    let mut stderr = BufReader::new(stderr);
    loop {
        match next_line(&mut stderr, STDERR_LINE).await {
            Line::Whole(line) => shared.said.push(&line),
            Line::TooLong => {
                // What comes is read on, so that the program does not block on a full pipe.
                let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
                return;
            }
            Line::End => return,
        }
    }
}

fn describe(fault: Option<String>, status: Option<ExitStatus>, said: Option<String>) -> String {
    let how = fault.unwrap_or_else(|| match status {
        Some(status) => format!("ended ({status})"),
        None => "closed its standard output and was ended".to_owned(),
    });
    match said {
        Some(said) => format!("{how}; it said: {said}"),
        None => how,
    }
}
