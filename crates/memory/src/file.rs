//! One file: locked, read whole, replaced whole.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::MemoryError;

/// How long another process's lock is waited for; a write takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long between two tries.
const PAUSE: Duration = Duration::from_millis(2);

/// The exclusive right to change a file, until dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock that stands beside `path`, the one Hermes takes.
    pub(crate) fn take(path: &Path) -> Result<Self, MemoryError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".lock");
        let lock = PathBuf::from(name);
        if let Some(folder) = lock.parent() {
            std::fs::create_dir_all(folder).map_err(MemoryError::at(folder))?;
        }
        let file = File::options()
            .create(true)
            .append(true)
            .open(&lock)
            .map_err(MemoryError::at(&lock))?;
        let began = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(MemoryError::at(lock)(error.into())),
            }
            if began.elapsed() > PATIENCE {
                return Err(MemoryError::Locked {
                    path: lock,
                    seconds: PATIENCE.as_secs(),
                });
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// A file's text; empty when it is not there.
pub(crate) fn read(path: &Path) -> Result<String, MemoryError> {
    match std::fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| MemoryError::NotText(path.to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(MemoryError::at(path)(error)),
    }
}

/// Puts `text` in a file's place in one step. A symbolic link stays one: its target is replaced.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), MemoryError> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().unwrap_or(Path::new("."));
    let failed = |error: std::io::Error| MemoryError::at(&target)(error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".mem_")
        .suffix(".tmp")
        .tempfile_in(folder)
        .map_err(failed)?;
    if let Ok(old) = std::fs::metadata(&target) {
        file.as_file()
            .set_permissions(old.permissions())
            .map_err(failed)?;
    }
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_data().map_err(failed)?;
    file.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Adds a line to a file, in one write.
pub(crate) fn append_line(path: &Path, line: &str) -> Result<(), MemoryError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(MemoryError::at(folder))?;
    }
    let mut file = private(path).map_err(MemoryError::at(path))?;
    file.write_all(format!("{line}\n").as_bytes())
        .map_err(MemoryError::at(path))
}

#[cfg(unix)]
fn private(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().create(true).append(true).mode(0o600).open(path)
}

#[cfg(not(unix))]
fn private(path: &Path) -> std::io::Result<File> {
    File::options().create(true).append(true).open(path)
}
