//! Repair: the search index from the rows, the rows from what can be read.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde::Serialize;

use super::{beside, integrity, rebuild_indexes, salvage};
use crate::sqlite::{connection, schema};
use crate::{Result, StoreError};

/// What a repair did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RepairReport {
    /// What was done, in words.
    pub done: Vec<String>,
    /// Where the damaged file is kept, when a new one took its place.
    pub kept: Option<PathBuf>,
    /// Rows of `sessions` afterwards.
    pub sessions: u64,
    /// Rows of `messages` afterwards.
    pub messages: u64,
}

/// Repairs the file at `path`.
///
/// A damaged search index is built anew in place. When rows are damaged, all that
/// can be read goes into a new file, and the damaged one is kept beside it under
/// a dated name; this needs every other program to have closed the database.
pub fn repair(path: &Path) -> Result<RepairReport> {
    let mut report = RepairReport::default();
    match connection::open(path, false) {
        Ok((mut connection, _)) => {
            if rebuild_in_place(&mut connection, path, &mut report)? {
                return counted(&connection, report);
            }
            drop(connection);
            renew(path, &mut report)?;
        }
        Err(StoreError::Damaged { .. } | StoreError::Sqlite(_)) => renew(path, &mut report)?,
        Err(error) => return Err(error),
    }
    let (connection, _) = connection::open(path, false)?;
    let mut report = counted(&connection, report)?;
    if report.messages == 0 {
        report.done.push(
            "no message could be read; if there is a backup, put it in the place of the new, empty file"
                .to_owned(),
        );
    }
    Ok(report)
}

/// Builds the search indexes anew; tells whether the file is sound then.
fn rebuild_in_place(connection: &mut Connection, path: &Path, report: &mut RepairReport) -> Result<bool> {
    let before = integrity(connection);
    let rebuilt = schema::bring_up_to_date(connection, path.parent())
        .map_err(StoreError::from)
        .and_then(|_| rebuild_indexes(connection));
    match rebuilt {
        Ok(()) => report
            .done
            .push("the search index was built anew from the messages".to_owned()),
        Err(StoreError::Sqlite(error)) if connection::is_busy(&error) => return Err(StoreError::Locked),
        Err(_) if !before.is_empty() => return Ok(false),
        Err(StoreError::Sqlite(error)) => return Err(StoreError::from_sqlite(path, error)),
        Err(error) => return Err(error),
    }
    // A table with a broken index can be mended without moving a row.
    if !integrity(connection).is_empty() && connection.execute_batch("REINDEX").is_ok() {
        report
            .done
            .push("the indexes of the tables were built anew".to_owned());
    }
    Ok(integrity(connection).is_empty())
}

/// Puts a new file with all that can be read in the place of the damaged one.
fn renew(path: &Path, report: &mut RepairReport) -> Result<()> {
    report.done.clear();
    let file_error = |source| StoreError::File {
        path: path.to_owned(),
        source,
    };
    let fresh = beside(path, "repairing");
    remove_database(&fresh).map_err(file_error)?;
    let salvaged = salvage::salvage(path, &fresh)?;
    // Whatever is still in the log of the damaged file was read by now.
    let stamp = jiff::ZonedDateTime::now().strftime("%Y%m%d-%H%M%S").to_string();
    let kept = beside(path, &format!("damaged-{stamp}"));
    for end in ["", "-wal", "-shm"] {
        let from = with_end(path, end);
        if from.exists() {
            std::fs::rename(&from, with_end(&kept, end)).map_err(file_error)?;
        }
    }
    std::fs::rename(&fresh, path).map_err(file_error)?;
    report.done.extend(salvaged);
    report.kept = Some(kept);
    Ok(())
}

fn counted(connection: &Connection, mut report: RepairReport) -> Result<RepairReport> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    report.sessions = count("SELECT count(*) FROM sessions")?.unsigned_abs();
    report.messages = count("SELECT count(*) FROM messages")?.unsigned_abs();
    Ok(report)
}

/// The name of a file that SQLite keeps beside a database.
pub(super) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Removes a database with the files beside it; one that is not there is removed already.
pub(super) fn remove_database(path: &Path) -> std::io::Result<()> {
    for end in ["", "-wal", "-shm"] {
        match std::fs::remove_file(with_end(path, end)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
