//! Builds the shell of a command.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::environment::{Variables, find_program, shell};

/// A longer script does not fit into one argument of a program (128 KiB on Linux).
const LONGEST_ARGUMENT: usize = 120_000;

/// Everything a new shell is given.
#[derive(Debug)]
pub(crate) struct Launch {
    /// What it runs.
    pub(crate) script: String,
    /// Where.
    pub(crate) cwd: PathBuf,
    /// Its environment, whole.
    pub(crate) variables: Variables,
    /// A private folder for files that pass between us.
    pub(crate) folder: PathBuf,
}

impl Launch {
    /// A command whose process will lead a group of its own, without its streams.
    ///
    /// # Errors
    /// When a long script could not be written to a file.
    pub(crate) fn command(&self) -> std::io::Result<Command> {
        let mut command = match setsid() {
            // In a session of its own it cannot reach our terminal: a program that asks for a
            // password there fails at once instead of being stopped for ever.
            Some(setsid) => {
                let mut command = Command::new(setsid);
                command.arg(shell());
                command
            }
            None => {
                let mut command = Command::new(shell());
                command.process_group(0);
                command
            }
        };
        command.arg("-c").arg(self.argument()?).arg(shell_name());
        command.current_dir(&self.cwd).env_clear().envs(&self.variables);
        Ok(command)
    }

    /// The script as an argument of the shell.
    ///
    /// # Errors
    /// When it is too long and could not be written to a file.
    pub(crate) fn argument(&self) -> std::io::Result<String> {
        if self.script.len() <= LONGEST_ARGUMENT {
            return Ok(self.script.clone());
        }
        let mut file = tempfile::Builder::new()
            .prefix("script")
            .tempfile_in(&self.folder)?;
        std::io::Write::write_all(&mut file, self.script.as_bytes())?;
        let (_, path) = file.keep()?;
        let quoted = super::memory::quote(&path.to_string_lossy());
        Ok(format!(". {quoted}"))
    }
}

/// What the shell calls itself in its messages.
pub(crate) fn shell_name() -> &'static OsStr {
    shell().file_name().unwrap_or(OsStr::new("sh"))
}

/// The program that starts another in a new session; only needed where we have a terminal.
fn setsid() -> Option<PathBuf> {
    let terminal = std::fs::File::open("/dev/tty").is_ok();
    if terminal { find_program("setsid") } else { None }
}

/// Why a command cannot run in `cwd`.
pub(crate) fn unusable(cwd: &Path) -> Option<String> {
    if cwd.is_dir() {
        None
    } else {
        Some(format!("the folder {} does not exist", cwd.display()))
    }
}
