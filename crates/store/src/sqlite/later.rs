//! Rows that may wait for the disk.
//!
//! A commit that waits for the disk takes longer than all the rest of storing a
//! row. What a program can do again without harm need not wait: once it is in
//! the write-ahead log it outlives the program, and a sync a moment later saves
//! it from a power cut as well. The next commit that does wait takes along all
//! that came before it, so the order on the disk is always that of the calls.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long rows wait at most, so that a burst of them shares one sync.
const MOMENT: Duration = Duration::from_millis(200);

/// Brings the write-ahead log to the disk a moment after it was written.
pub(crate) struct LaterSync {
    log: Option<PathBuf>,
    due: Arc<AtomicBool>,
}

impl LaterSync {
    /// For the database at `path`; a database in memory has no log.
    pub(crate) fn new(path: Option<&Path>) -> Self {
        Self {
            log: path.map(log_of),
            due: Arc::default(),
        }
    }

    /// Sees to it that what is written now is on the disk within [`MOMENT`].
    pub(crate) fn soon(&self) {
        let Some(log) = self.log.clone() else { return };
        if self.due.swap(true, Ordering::AcqRel) {
            return;
        }
        let due = self.due.clone();
        let thread = std::thread::Builder::new()
            .name("store-sync".to_owned())
            .spawn(move || {
                std::thread::sleep(MOMENT);
                due.store(false, Ordering::Release);
                sync(&log);
            });
        if thread.is_err() {
            self.due.store(false, Ordering::Release);
        }
    }
}

/// The write-ahead log of a database.
pub(crate) fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn sync(log: &Path) {
    // SQLite locks the database and its index, never the log, so another handle on it takes no lock away.
    let synced = OpenOptions::new()
        .write(true)
        .open(log)
        .and_then(|log| log.sync_data());
    if let Err(error) = synced {
        // A log that is gone was written into the database, with a sync of its own.
        tracing::debug!(%error, "the write-ahead log was not brought to the disk early");
    }
}
