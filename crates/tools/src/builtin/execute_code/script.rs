//! A script's process: its folder, its environment, its end.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::UnixListener;

use super::Language;
use super::door::Door;
use crate::process::{
    Capture, End, Running, SHOWN, Started, Tree, Variables, Watched, filtered, find_program, thread,
};
use crate::{ToolContext, ToolError};

/// The module that a Python script calls tools with.
const STUB: &str = include_str!("hermes_tools.py");
/// Confines a Python script, then runs it.
const RUNNER: &str = include_str!("runner.py");
/// The function that a shell script calls tools with.
const PRELUDE: &str = include_str!("prelude.sh");
/// The runner's exit code when it could not confine anything; nothing has run then.
const UNCONFINED: i32 = 97;
/// Bytes of what a script says on its error stream; the end is kept.
const ERRORS: usize = 10_000;

/// Parts of names whose variables no script sees.
const SECRET: &[&str] = &[
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "CREDENTIAL",
    "PASSWD",
    "AUTH",
];
/// How the names of variables begin that a script sees.
const KEPT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_",
    "TERM",
    "TZ",
    "TMP",
    "TEMP",
    "SHELL",
    "XDG_",
    "PYTHON",
    "PYENV",
    "VIRTUAL_ENV",
    "CONDA",
    "PWD",
    "TALARIA_SESSION_ID",
    "HERMES_SESSION_ID",
];

/// A script that is about to run.
pub(super) struct Script<'a> {
    cx: &'a ToolContext<'a>,
    language: Language,
    folder: TempDir,
    cwd: PathBuf,
    program: PathBuf,
}

/// A script that has ended.
pub(super) struct Ran {
    pub(super) end: End,
    pub(super) output: String,
    pub(super) errors: String,
    /// It was to be confined and could not be; nothing of it has run.
    pub(super) unconfined: bool,
}

impl<'a> Script<'a> {
    /// Puts everything it needs into a folder of its own.
    pub(super) fn new(code: &str, language: Language, cx: &'a ToolContext<'a>) -> Result<Self, ToolError> {
        let failed =
            |error: std::io::Error| ToolError::Failed(format!("the script could not be prepared: {error}"));
        let folder = tempfile::Builder::new()
            .prefix("talaria-code-")
            .tempdir()
            .map_err(failed)?;
        let strict = cx.session.settings().code.strict;
        let inside = folder.path().join("work");
        std::fs::create_dir(&inside).map_err(failed)?;
        let cwd = Some(cx.session.cwd())
            .filter(|cwd| !strict && cwd.is_dir())
            .unwrap_or(inside);
        let program = match language {
            Language::Sh => PathBuf::from("/bin/sh"),
            Language::Python => python(&cwd, strict).ok_or_else(|| {
                ToolError::Failed(
                    "there is no python3 on this machine; use language sh, or the tools one by one"
                        .to_owned(),
                )
            })?,
        };
        let files = match language {
            Language::Python => vec![
                ("script.py", code),
                ("runner.py", RUNNER),
                ("hermes_tools.py", STUB),
                ("talaria_tools.py", "from hermes_tools import *\n"),
            ],
            Language::Sh => vec![("script.sh", code), ("prelude.sh", PRELUDE)],
        };
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).map_err(failed)?;
        }
        Ok(Self {
            cx,
            language,
            folder,
            cwd,
            program,
        })
    }

    /// Runs it to its end, answering what it asks.
    pub(super) async fn run(self, door: &Door<'_>, confined: bool) -> Result<Ran, ToolError> {
        let failed =
            |error: std::io::Error| ToolError::Failed(format!("the script could not be started: {error}"));
        let socket = self.folder.path().join("door");
        let listener = UnixListener::bind(&socket).map_err(failed)?;
        std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        let confined = confined && self.language == Language::Python;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let started = self.start(confined, &errors).map_err(failed)?;
        self.cx.host.spawned(self.cx.call, started.pid);
        let spill = self
            .cx
            .session
            .processes()
            .spill_file(self.cx.session, &self.cx.call.id);
        let running = Running::new(started, Capture::new(spill, SHOWN)).map_err(failed)?;
        let limit = Duration::from_secs(self.cx.session.settings().code.timeout_s);
        let answering = async {
            match self.language {
                Language::Python => door.on_socket(listener).await,
                Language::Sh => door.in_folder(self.folder.path()).await,
            }
        };
        let finished = tokio::select! {
            biased;
            finished = running.finish(limit, self.cx.cancel) => finished,
            never = answering => match never {},
        };
        // What it has left behind could ask nobody any more.
        if let Some((pid, _)) = &finished.leftover {
            Tree::of(*pid).kill();
        }
        let errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors = String::from_utf8_lossy(&errors).into_owned();
        Ok(Ran {
            unconfined: confined && finished.end == End::Exited(UNCONFINED),
            end: finished.end,
            output: finished.output.text,
            errors: crate::process::strip_escapes(&errors).trim_end().to_owned(),
        })
    }

    fn start(&self, confined: bool, errors: &Arc<Mutex<Vec<u8>>>) -> std::io::Result<Started> {
        let folder = self.folder.path();
        let mut command = Command::new(&self.program);
        match self.language {
            Language::Python => {
                command.arg("-u").arg(folder.join("runner.py"));
                command.arg(if confined { "confined" } else { "free" });
            }
            Language::Sh => {
                command
                    .arg("-c")
                    .arg(". \"$TALARIA_TOOLS/prelude.sh\"; . \"$TALARIA_TOOLS/script.sh\"");
            }
        }
        command
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.variables())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let pid = child.id();
        let watched = Watched::new(pid);
        if let Some(stream) = child.stderr.take() {
            let errors = errors.clone();
            thread("script-errors", move || keep_end(stream, &errors))?;
        }
        let output: Box<dyn Read + Send> = match child.stdout.take() {
            Some(stream) => Box::new(stream),
            None => Box::new(std::io::empty()),
        };
        let wait = move || {
            child.wait().map_or(-1, |status| {
                status
                    .code()
                    .unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
            })
        };
        Ok(Started {
            pid,
            watched,
            output,
            input: None,
            wait: Box::new(wait),
        })
    }

    fn variables(&self) -> Variables {
        let settings = self.cx.session.settings();
        let id = self.cx.session.id();
        let mut variables = filtered(std::env::vars_os(), settings, &id, false);
        variables.retain(|name, _| {
            let name = name.to_string_lossy().to_uppercase();
            let passed = settings.env_passthrough.contains(&name);
            let secret = SECRET.iter().any(|part| name.contains(part));
            passed || !secret && KEPT.iter().any(|start| name.starts_with(start))
        });
        let folder = self.folder.path().as_os_str();
        let strict: &OsStr = OsStr::new(if settings.code.strict { "1" } else { "" });
        for (name, value) in [
            ("TALARIA_TOOLS", folder),
            ("TMPDIR", folder),
            ("TALARIA_STRICT", strict),
        ] {
            variables.insert(name.into(), value.to_owned());
        }
        variables.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
        variables
    }
}

/// The Python of the project, or the machine's.
fn python(cwd: &Path, strict: bool) -> Option<PathBuf> {
    let own = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let own = own.into_iter().chain([cwd.join(".venv"), cwd.join("venv")]);
    let own = own
        .map(|folder| folder.join("bin/python3"))
        .find(|file| !strict && file.is_file());
    own.or_else(|| find_program("python3"))
}

/// Reads to the end and keeps the last bytes.
fn keep_end(mut stream: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = stream.read(&mut buffer) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..count]);
        let excess = kept.len().saturating_sub(ERRORS);
        kept.drain(..excess);
    }
}
