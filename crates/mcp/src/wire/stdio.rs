//! A server that is a program: started with few variables in a group of its own, read line by line.
//!
//! What it writes to stderr goes to `logs/mcp-stderr.log`, and its last lines into errors. A line of stdout
//! that is no message is noise of its start and is passed over.

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio as Pipe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::settings::Door;
use crate::{McpError, ServerSettings};

/// Variables a server gets of this program's own; the rest may be secrets.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "SHELL",
    "TMPDIR",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
/// The longest message, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;
/// Lines of stderr that errors show.
const LAST_LINES: usize = 8;
/// The longest line of stderr that is kept, in bytes.
const LINE: usize = 1_000;
/// The size at which the log of stderr begins anew, in bytes.
const LOG: u64 = 5 * 1024 * 1024;
/// How long a program may take to end after its stdin is closed, and after it is told to: a person who
/// leaves waits for both.
const GRACE: Duration = Duration::from_millis(80);

/// The last lines a program wrote to stderr.
#[derive(Clone, Default)]
pub(super) struct LastWords(Arc<Mutex<VecDeque<String>>>);

impl LastWords {
    fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(talaria_redact::redact_own(line).into_owned());
    }

    /// `why`, with the last lines.
    pub(super) fn after(&self, why: &str) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return why.to_owned();
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        format!("{why}; it said last: {}", lines.join(" | "))
    }
}

/// Ends a whole group of processes when it is dropped.
struct Group(Option<Pid>);

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// A running program.
pub(super) struct Stdio {
    child: Child,
    group: Group,
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
    server: String,
}

/// Starts the program of these settings in `cwd`.
pub(super) fn start(
    settings: &ServerSettings,
    home: &Path,
    cwd: &Path,
) -> Result<(Stdio, LastWords), McpError> {
    let unreachable = |detail: String| McpError::Unreachable {
        server: settings.name.clone(),
        detail,
    };
    let Door::Stdio {
        command,
        args,
        env,
        cwd: own,
    } = &settings.door
    else {
        return Err(unreachable("it is no program".to_owned()));
    };
    let folder = own
        .as_ref()
        .map_or_else(|| cwd.to_owned(), |own| cwd.join(tilde(own)));
    let passed = std::env::vars_os().filter(|(name, _)| {
        let name = name.to_string_lossy();
        PASSED.contains(&&*name) || name.starts_with("XDG_")
    });
    let mut child = Command::new(tilde(Path::new(command)))
        .args(args)
        .env_clear()
        .envs(passed)
        .envs(env)
        .current_dir(&folder)
        .stdin(Pipe::piped())
        .stdout(Pipe::piped())
        .stderr(Pipe::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| {
            unreachable(format!(
                "{command} cannot be started in {}: {error}",
                folder.display()
            ))
        })?;
    let pid = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw);
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(unreachable("its pipes are gone".to_owned()));
    };
    let words = LastWords::default();
    let log = home.join("logs").join("mcp-stderr.log");
    tokio::spawn(listen(
        BufReader::new(stderr),
        words.clone(),
        log,
        settings.name.clone(),
    ));
    let stdio = Stdio {
        child,
        group: Group(pid),
        stdin: Arc::new(tokio::sync::Mutex::new(Some(stdin))),
        stdout: BufReader::new(stdout),
        line: Vec::new(),
        server: settings.name.clone(),
    };
    Ok((stdio, words))
}

fn tilde(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::home_dir()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path.to_owned(),
    }
}

/// Keeps what the program says beside its messages.
async fn listen(
    mut stderr: impl tokio::io::AsyncBufRead + Unpin,
    words: LastWords,
    log: PathBuf,
    server: String,
) {
    let mut file = open_log(&log);
    let mut line = Vec::new();
    loop {
        line.clear();
        match stderr.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line[..line.len().min(LINE)]);
        let text = text.trim_end();
        if text.is_empty() {
            continue;
        }
        words.push(text);
        if let Some(file) = &mut file {
            let _ = writeln!(file, "[{server}] {}", talaria_redact::redact_own(text));
        }
    }
}

fn open_log(path: &Path) -> Option<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::create_dir_all(path.parent()?).ok()?;
    let anew = path.metadata().is_ok_and(|meta| meta.len() > LOG);
    let mut options = std::fs::OpenOptions::new();
    options.create(true).mode(0o600);
    if anew {
        options.write(true).truncate(true);
    } else {
        options.append(true);
    }
    options.open(path).ok()
}

impl Stdio {
    /// The next line; what was read of it before an interrupted wait is kept.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let read = self
                .stdout
                .fill_buf()
                .await
                .ok()
                .filter(|read| !read.is_empty())?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            self.line.extend_from_slice(&read[..taken]);
            self.stdout.consume(taken);
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
            if self.line.len() > LONGEST {
                tracing::warn!(server = %self.server, "a message of an MCP server is too long");
                return None;
            }
        }
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let stdin = self.stdin.clone();
        async move {
            let mut text = serde_json::to_vec(&item)?;
            text.push(b'\n');
            match stdin.lock().await.as_mut() {
                Some(stdin) => {
                    stdin.write_all(&text).await?;
                    stdin.flush().await
                }
                None => Err(std::io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.line().await?;
            let mended = super::mend::tools(&line).and_then(|mended| serde_json::from_value(mended).ok());
            if mended.is_some() {
                return mended;
            }
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(error) => {
                    let start = String::from_utf8_lossy(&line[..line.len().min(120)])
                        .trim()
                        .to_owned();
                    if !start.is_empty() {
                        tracing::debug!(server = %self.server, %error, "no message: {start}");
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        drop(self.stdin.lock().await.take());
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            self.group.signal(Signal::TERM);
            let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
        }
        self.group.signal(Signal::KILL);
        let _ = self.child.wait().await;
        // The number may belong to somebody else from here on.
        self.group.0 = None;
        Ok(())
    }
}
