//! What a session's tools remember between calls.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use talaria_types::Message;

use crate::approval::Grants;
use crate::process::ProcessTable;

/// How tools are set up; from `config.yaml` and the command line.
#[derive(Clone, Debug)]
pub struct ToolSettings {
    /// The home folder.
    pub home: PathBuf,
    /// The session's id, for file names and environment.
    pub session_id: String,
    /// The folder commands start in.
    pub cwd: PathBuf,
    /// `terminal.timeout`, seconds.
    pub terminal_timeout_s: u64,
    /// `terminal.env_passthrough`.
    pub env_passthrough: Vec<String>,
    /// `terminal.shell_init_files`.
    pub shell_init_files: Vec<String>,
    /// `terminal.auto_source_bashrc`.
    pub auto_source_bashrc: bool,
    /// `approvals.mode`.
    pub approval_mode: crate::approval::Mode,
    /// `--yolo`.
    pub yolo: bool,
    /// `approvals.deny`: globs of commands that never run.
    pub deny: Vec<String>,
    /// `command_allowlist`: families that were allowed for good.
    pub allowlist: Vec<String>,
    /// `file_read_max_chars`.
    pub read_max_chars: usize,
    /// `tool_loop_guardrails.hard_stop_enabled`.
    pub hard_stop: bool,
    /// The model's window in tokens; result budgets scale with it.
    pub window: u64,
    /// Names of environment variables that hold this program's own secrets.
    pub secret_env: Vec<String>,
}

impl ToolSettings {
    /// The defaults, for a home folder and a folder to work in.
    pub fn for_folder(home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            session_id: String::new(),
            cwd: cwd.into(),
            terminal_timeout_s: 180,
            env_passthrough: Vec::new(),
            shell_init_files: Vec::new(),
            auto_source_bashrc: true,
            approval_mode: crate::approval::Mode::default(),
            yolo: false,
            deny: Vec::new(),
            allowlist: Vec::new(),
            read_max_chars: 100_000,
            hard_stop: false,
            window: 200_000,
            secret_env: Vec::new(),
        }
    }
}

/// One session's memory between calls.
pub struct ToolSession {
    settings: ToolSettings,
    cwd: Mutex<PathBuf>,
    processes: ProcessTable,
    grants: Grants,
}

impl ToolSession {
    /// A session without a past.
    pub fn new(settings: ToolSettings) -> Arc<Self> {
        Arc::new(Self {
            cwd: Mutex::new(settings.cwd.clone()),
            processes: ProcessTable::default(),
            grants: Grants::default(),
            settings,
        })
    }

    /// The session's id as it is now.
    pub fn id(&self) -> String {
        self.settings.session_id.clone()
    }

    /// The folder that relative paths and commands start from.
    pub fn cwd(&self) -> PathBuf {
        self.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Moves to `folder`, as a `cd` of a command did.
    pub fn set_cwd(&self, folder: PathBuf) {
        *self.cwd.lock().unwrap_or_else(PoisonError::into_inner) = folder;
    }

    /// Background processes of this session.
    pub fn processes(&self) -> &ProcessTable {
        &self.processes
    }

    /// What the person allowed for this session.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// How it is set up.
    pub fn settings(&self) -> &ToolSettings {
        &self.settings
    }

    /// Takes back what a stored conversation shows: the todo list, the folder.
    pub fn hydrate(&self, _history: &[Arc<Message>]) {
        unimplemented!()
    }

    /// Forgets which files were read; after a compression the model no longer has them.
    pub fn forget_reads(&self) {
        unimplemented!()
    }

    /// The todo list as the text that a summary carries; nothing when all is done.
    pub fn todo_snapshot(&self) -> Option<String> {
        unimplemented!()
    }

    /// The session has another id now.
    pub fn rename(&self, _session_id: &str) {
        unimplemented!()
    }

    /// `path` as an absolute one, seen from the session's folder; `~` is the user's home.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd().join(path)
    }

    /// Ends every process that was started and waits until it is gone (at most 200 ms).
    pub fn shutdown(&self) {
        self.processes.shutdown();
    }
}
