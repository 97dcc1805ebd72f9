//! The processes of one session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::environment::{Variables, filtered, is_kept_back};
use super::foreground::Finished;
use super::group::{end_all, group_runs};
use super::job::{Job, JobOptions, Status};
use super::launch::Launch;
use super::memory::{Exports, read, script};
use super::spawn::{Started, Wiring, start};
use super::watchdog::Watched;
use crate::{ToolSession, ToolSettings};

/// Background processes that are kept, ended ones included.
const MOST: usize = 64;
/// How long an ended process is remembered.
const REMEMBERED: Duration = Duration::from_secs(1800);
/// What [`ProcessTable::shutdown`] may take.
const SHUTDOWN: Duration = Duration::from_millis(200);

/// The processes of one session, and what its shell remembers.
#[derive(Default)]
pub struct ProcessTable {
    jobs: Mutex<Vec<Arc<Job>>>,
    /// Groups of foreground commands that left something running.
    leftovers: Mutex<Vec<(u32, Watched)>>,
    shell: Mutex<ShellMemory>,
}

#[derive(Default)]
struct ShellMemory {
    exports: Exports,
    /// Whether the init files have been read.
    begun: bool,
    folder: Option<tempfile::TempDir>,
}

/// A foreground command that has been prepared.
pub(crate) struct Prepared {
    /// What is started.
    pub(crate) launch: Launch,
    state: PathBuf,
}

impl ProcessTable {
    /// Ends every process that was started and waits until it is gone (at most 200 ms).
    pub fn shutdown(&self) {
        let jobs = std::mem::take(&mut *lock(&self.jobs));
        let leftovers = std::mem::take(&mut *lock(&self.leftovers));
        let leaders: Vec<u32> = jobs
            .iter()
            .filter(|job| job.may_run())
            .map(|job| job.pid)
            .chain(leftovers.iter().map(|(leader, _)| *leader))
            .filter(|leader| group_runs(*leader))
            .collect();
        end_all(&leaders, SHUTDOWN);
    }

    /// What the model should be told of its processes without having asked: ends, watched words.
    ///
    /// Each text is given once, to be sent as a message of the user's.
    pub fn take_notices(&self) -> Vec<String> {
        let jobs = lock(&self.jobs).clone();
        jobs.iter().flat_map(|job| job.notices()).collect()
    }

    /// Whether a background process runs.
    pub fn any_running(&self) -> bool {
        lock(&self.jobs).iter().any(|job| job.status() == Status::Running)
    }

    /// Prepares a foreground command.
    ///
    /// # Errors
    /// When there is no place for its private files.
    pub(crate) fn prepare(
        &self,
        command: &str,
        cwd: &Path,
        session: &ToolSession,
        pty: bool,
    ) -> std::io::Result<Prepared> {
        let mut shell = lock(&self.shell);
        let folder = shell.folder()?;
        let state = folder.join("state");
        let variables = variables(session, pty);
        let init = if shell.begun {
            Vec::new()
        } else {
            init_files(session.settings())
        };
        let script = script(command, &shell.exports, Some(&state), &init);
        let launch = Launch {
            script,
            cwd: cwd.to_owned(),
            variables,
            folder,
        };
        Ok(Prepared { launch, state })
    }

    /// Where the whole output of call `id` goes when it is too long to be shown.
    pub(crate) fn spill_file(&self, session: &ToolSession, id: &str) -> PathBuf {
        let plain = |text: &str| -> String {
            text.chars()
                .map(|c| {
                    if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') {
                        c
                    } else {
                        '_'
                    }
                })
                .take(80)
                .collect()
        };
        // The home is private and lasts as long as the conversation that names the file.
        let folder = session.settings().home.join("cache").join("tool-results");
        folder.join(format!("{}-{}-output.txt", plain(&session.id()), plain(id)))
    }

    /// Takes in what a foreground command left; its last folder.
    pub(crate) fn settle(
        &self,
        prepared: &Prepared,
        finished: &mut Finished,
        settings: &ToolSettings,
    ) -> Option<PathBuf> {
        let mut leftovers = lock(&self.leftovers);
        leftovers.retain(|(leader, _)| group_runs(*leader));
        leftovers.extend(finished.leftover.take());
        drop(leftovers);
        let state = std::fs::read(&prepared.state).ok()?;
        let _ = std::fs::remove_file(&prepared.state);
        let state = String::from_utf8_lossy(&state);
        let left = read(&state, &prepared.launch.variables, |name| {
            is_kept_back(name, settings)
        });
        if left.cwd.is_some() {
            let mut shell = lock(&self.shell);
            shell.exports = left.exports;
            shell.begun = true;
        }
        left.cwd
    }

    /// Starts a background process.
    ///
    /// # Errors
    /// When it could not be started, or too many run already.
    pub(crate) fn start(
        &self,
        options: JobOptions,
        cwd: &Path,
        session: &ToolSession,
    ) -> std::io::Result<Arc<Job>> {
        let pty = options.pty;
        self.make_room()?;
        let mut shell = lock(&self.shell);
        let folder = shell.folder()?;
        // A background shell tells nothing back; its folder and exports are its own.
        let init = if shell.begun {
            Vec::new()
        } else {
            init_files(session.settings())
        };
        let script = script(&options.command, &shell.exports, None, &init);
        drop(shell);
        let launch = Launch {
            script,
            cwd: cwd.to_owned(),
            variables: variables(session, pty),
            folder,
        };
        let wiring = if pty { Wiring::Terminal } else { Wiring::Piped };
        let started: Started = start(&launch, wiring)?;
        let job = Job::new(new_id()?, started, options)?;
        lock(&self.jobs).push(Arc::clone(&job));
        Ok(job)
    }

    /// The process with this id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Job>> {
        lock(&self.jobs).iter().find(|job| job.id == id).cloned()
    }

    /// All processes, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        self.forget_old();
        lock(&self.jobs).clone()
    }

    fn forget_old(&self) {
        lock(&self.jobs).retain(|job| match job.ended_at() {
            Some(ended) => job.may_run() || ended.elapsed() < REMEMBERED,
            None => true,
        });
    }

    /// Forgets the process that ended first when the table is full.
    fn make_room(&self) -> std::io::Result<()> {
        self.forget_old();
        let mut jobs = lock(&self.jobs);
        while jobs.len() >= MOST {
            let oldest: Option<(usize, Instant)> = jobs
                .iter()
                .enumerate()
                .filter_map(|(index, job)| Some((index, job.ended_at()?)))
                .min_by_key(|(_, ended)| *ended);
            let Some((index, _)) = oldest else {
                return Err(std::io::Error::other(format!(
                    "{MOST} background processes are running already; end one with the process tool"
                )));
            };
            jobs.remove(index);
        }
        Ok(())
    }
}

impl Drop for ProcessTable {
    fn drop(&mut self) {
        self.shutdown();
    }
}

impl ShellMemory {
    fn folder(&mut self) -> std::io::Result<PathBuf> {
        // Someone may have cleaned the temporary folder meanwhile.
        if let Some(folder) = self.folder.as_ref().filter(|folder| folder.path().is_dir()) {
            return Ok(folder.path().to_owned());
        }
        let folder = tempfile::Builder::new().prefix("talaria-shell-").tempdir()?;
        let path = folder.path().to_owned();
        self.folder = Some(folder);
        Ok(path)
    }
}

fn variables(session: &ToolSession, pty: bool) -> Variables {
    filtered(std::env::vars_os(), session.settings(), &session.id(), pty)
}

/// Files that a session's first shell reads.
fn init_files(settings: &ToolSettings) -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let expand = |file: &String| match file.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(file),
    };
    if !settings.shell_init_files.is_empty() {
        return settings.shell_init_files.iter().map(expand).collect();
    }
    // A program that was started from a shell has that shell's environment already.
    if !settings.auto_source_bashrc || std::env::var_os("SHLVL").is_some() {
        return Vec::new();
    }
    [".profile", ".bash_profile", ".bashrc"]
        .iter()
        .map(|file| home.join(file))
        .collect()
}

fn new_id() -> std::io::Result<String> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(bytes
        .iter()
        .fold(String::from("proc_"), |id, byte| format!("{id}{byte:02x}")))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
