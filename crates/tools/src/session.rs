//! What a session's tools remember between calls.

mod reads;
mod todo;

use std::any::Any;
use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde_json::Value;
use talaria_types::{Message, Role};

use crate::approval::Grants;
use crate::mask::Mask;
use crate::process::ProcessTable;

pub(crate) use reads::{ReadLog, Repeat, Stamp};
pub(crate) use todo::{Entry, Summary as TodoSummary, TodoList};

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
    /// `tool_loop_guardrails.warnings_enabled`.
    pub loop_warnings: bool,
    /// The model's window in tokens; result budgets scale with it. 0 when unknown.
    pub window: u64,
    /// `code_execution`.
    pub code: CodeSettings,
    /// Names of environment variables that hold this program's own secrets.
    pub secret_env: Vec<String>,
}

/// `code_execution`: how scripts are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeSettings {
    /// `mode: strict`.
    pub strict: bool,
    /// `timeout`, seconds.
    pub timeout_s: u64,
    /// `max_tool_calls`.
    pub max_calls: u32,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self {
            strict: false,
            timeout_s: 300,
            max_calls: 50,
        }
    }
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
            loop_warnings: true,
            window: 200_000,
            code: CodeSettings::default(),
            secret_env: Vec::new(),
        }
    }
}

/// One session's memory between calls.
pub struct ToolSession {
    settings: ToolSettings,
    user_home: PathBuf,
    id: Mutex<String>,
    cwd: Mutex<PathBuf>,
    todo: Mutex<TodoList>,
    reads: Mutex<ReadLog>,
    processes: ProcessTable,
    grants: Grants,
    mask: Mask,
    room: OnceLock<Arc<dyn Any + Send + Sync>>,
}

impl ToolSession {
    /// A session without a past.
    pub fn new(settings: ToolSettings) -> Arc<Self> {
        let user_home = std::env::home_dir().unwrap_or_else(|| settings.cwd.clone());
        Self::for_user(settings, user_home)
    }

    /// A session of a user whose own folder is `user_home`.
    pub fn for_user(settings: ToolSettings, user_home: PathBuf) -> Arc<Self> {
        let mask = Mask::default();
        mask.hide(secret_values(&settings));
        Arc::new(Self {
            user_home,
            id: Mutex::new(settings.session_id.clone()),
            cwd: Mutex::new(settings.cwd.clone()),
            todo: Mutex::default(),
            reads: Mutex::default(),
            processes: ProcessTable::default(),
            grants: Grants::default(),
            mask,
            room: OnceLock::new(),
            settings,
        })
    }

    /// How it is set up.
    pub fn settings(&self) -> &ToolSettings {
        &self.settings
    }

    /// The user's own folder, that `~` stands for.
    pub fn user_home(&self) -> &Path {
        &self.user_home
    }

    /// The session's id as it is now.
    pub fn id(&self) -> String {
        lock(&self.id).clone()
    }

    /// The folder that relative paths and commands start from.
    pub fn cwd(&self) -> PathBuf {
        lock(&self.cwd).clone()
    }

    /// Moves to `folder`, as a `cd` of a command did.
    pub fn set_cwd(&self, folder: PathBuf) {
        *lock(&self.cwd) = folder;
    }

    /// Background processes of this session.
    pub fn processes(&self) -> &ProcessTable {
        &self.processes
    }

    /// Gives the session a room of its own for a tool of another crate; the first one stays.
    pub fn furnish(&self, room: Arc<dyn Any + Send + Sync>) {
        let _ = self.room.set(room);
    }

    /// That room, when it is one of this kind.
    pub fn room<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.room.get().cloned()?.downcast().ok()
    }

    /// What the person allowed for this session.
    pub fn grants(&self) -> &Grants {
        &self.grants
    }

    /// Takes back what a stored conversation shows: the todo list, the folder.
    ///
    /// The newest todo list counts, whether a result of the tool or the snapshot
    /// that a compression left. The folder is the `cwd` of the newest command
    /// result that tells one and still exists.
    pub fn hydrate(&self, history: &[Arc<Message>]) {
        let todo = history.iter().rev().find_map(|message| match message.role {
            Role::Tool if message.tool_name.as_deref() == Some("todo") => {
                TodoList::from_result(&message.content.text())
            }
            Role::User => TodoList::from_snapshot(&message.content.text()),
            _ => None,
        });
        if let Some(todo) = todo {
            *lock(&self.todo) = todo;
        }
        let folder = history.iter().rev().find_map(|message| {
            let terminal = message.role == Role::Tool && message.tool_name.as_deref() == Some("terminal");
            terminal.then(|| told_folder(&message.content.text())).flatten()
        });
        if let Some(folder) = folder.filter(|folder| folder.is_dir()) {
            self.set_cwd(folder);
        }
    }

    /// Forgets which files were read; after a compression the model no longer has them.
    pub fn forget_reads(&self) {
        self.reads().forget_views();
    }

    /// The files that were read here and changed since by somebody else; what was seen of them is void.
    pub fn changed_reads(&self) -> Vec<String> {
        let now = |path: &Path| std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata));
        let paths = self.reads().take_changed(now);
        paths.iter().map(|path| self.shown(path)).collect()
    }

    /// The files that this session has written, by its tools or its commands.
    pub(crate) fn made_files(&self) -> HashSet<PathBuf> {
        self.reads().made().clone()
    }

    /// A command may write these.
    pub(crate) fn makes_files(&self, files: Vec<PathBuf>) {
        self.reads().makes(files);
    }

    /// The todo list as the text that a summary carries; nothing when all is done.
    pub fn todo_snapshot(&self) -> Option<String> {
        self.todo().snapshot()
    }

    /// The session has another id now.
    pub fn rename(&self, session_id: &str) {
        session_id.clone_into(&mut lock(&self.id));
    }

    /// `path` as an absolute one without `.` and `..`, seen from the session's folder;
    /// `~` is the user's home. Symbolic links are not followed.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        let full = match path.strip_prefix("~") {
            Ok(rest) => self.user_home.join(rest),
            Err(_) => self.cwd().join(path),
        };
        let mut plain = PathBuf::new();
        for part in full.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => {
                    plain.pop();
                }
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
            }
        }
        plain
    }

    /// `path` as it is shown: relative to the session's folder where it lies below it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let cwd = self.cwd();
        let short = path
            .strip_prefix(&cwd)
            .ok()
            .filter(|rest| !rest.as_os_str().is_empty());
        short.unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Hides `values`, the secrets this program was given, wherever they turn up in results.
    /// Keys and tokens among the variables of [`ToolSettings::secret_env`] are hidden from the start.
    pub fn hide_secrets(&self, values: impl IntoIterator<Item = String>) {
        self.mask.hide(secret_values(&self.settings).chain(values));
    }

    pub(crate) fn mask(&self) -> &Mask {
        &self.mask
    }

    pub(crate) fn todo(&self) -> MutexGuard<'_, TodoList> {
        lock(&self.todo)
    }

    pub(crate) fn reads(&self) -> MutexGuard<'_, ReadLog> {
        lock(&self.reads)
    }

    /// Ends every process that was started and waits until it is gone (at most 200 ms).
    pub fn shutdown(&self) {
        self.processes.shutdown();
    }
}

/// What a panicking tool left behind is still whole: each guard covers one assignment or map access.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The values of the variables that are secrets themselves; others are only kept from commands,
/// and hiding them would shred what tools say (the home folder is one).
fn secret_values(settings: &ToolSettings) -> impl Iterator<Item = String> {
    const SECRET: &[&str] = &[
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "CREDENTIALS",
    ];
    let names = settings
        .secret_env
        .iter()
        .filter(|name| SECRET.iter().any(|end| name.ends_with(end)));
    let values = names.filter_map(|name| std::env::var(name).ok());
    values.filter(|value| !Path::new(value).is_absolute())
}

fn told_folder(result: &str) -> Option<PathBuf> {
    let value: Value = serde_json::Deserializer::from_str(result)
        .into_iter()
        .next()?
        .ok()?;
    value["cwd"].as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests;
