//! Care for the database file: check, back up, repair, make small.
//!
//! These work on a path, since a file that needs care may not open as a store.
//! Files of a live database are never touched but through SQLite.

mod repair;
mod salvage;
mod transplant;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;

use super::{connection, frozen, fts, schema, search};
use crate::{Result, StoreError};

pub use repair::{RepairReport, repair};

/// Problems that are listed; a broken file has thousands.
const LISTED: usize = 20;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Nothing is wrong.
    pub sound: bool,
    /// What is wrong, in words; the first of them only.
    pub problems: Vec<String>,
    /// What is odd and does no harm.
    pub notes: Vec<String>,
    /// Rows of `sessions`.
    pub sessions: u64,
    /// Rows of `messages`.
    pub messages: u64,
    /// Messages in the search index.
    pub indexed: u64,
    /// SQLite's version.
    pub sqlite: String,
}

impl CheckReport {
    fn problem(&mut self, text: impl Into<String>) {
        if self.problems.len() < LISTED {
            self.problems.push(text.into());
        }
    }
}

/// SQLite's version, for `doctor`.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}

/// Checks the file and its search index. Damage is a finding, not an error; a file that is missing is one.
pub fn check(path: &Path) -> Result<CheckReport> {
    let mut report = CheckReport {
        sqlite: rusqlite::version().to_owned(),
        ..CheckReport::default()
    };
    if std::fs::metadata(path).is_ok_and(|file| file.len() == 0) {
        // SQLite takes it for a database that holds nothing yet.
        report.problem(
            "the file is empty: the next turn makes it anew; if it held something, put a backup in its place",
        );
        return Ok(report);
    }
    match connection::open(path, false) {
        Ok((connection, _)) => examine(&connection, &mut report),
        Err(StoreError::Damaged { detail, .. }) => report.problem(detail),
        Err(error @ (StoreError::ReadOnly { .. } | StoreError::Open { .. } | StoreError::DiskFull)) => {
            let frozen = frozen::open(path).map_err(|_| error)?;
            examine(&frozen.connection, &mut report);
        }
        Err(error) => return Err(error),
    }
    report.sound = report.problems.is_empty();
    Ok(report)
}

/// Fills the report; whatever cannot be read is a problem.
fn examine(connection: &Connection, report: &mut CheckReport) {
    for problem in integrity(connection) {
        if is_of_another_sqlite(connection, &problem) {
            report.notes.push(
                "rows with pictures stand in the search index as another version of SQLite reads them; \
                 `db repair` writes them anew"
                    .to_owned(),
            );
        } else {
            report.problem(problem);
        }
    }
    let mut count = |sql: &str, what: &str| -> Option<u64> {
        let found = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        match found {
            Ok(number) => Some(number.unsigned_abs()),
            Err(error) => {
                report.problem(format!("{what} cannot be read: {error}"));
                None
            }
        }
    };
    let sessions = count("SELECT count(*) FROM sessions", "sessions");
    let messages = count("SELECT count(*) FROM messages NOT INDEXED", "messages");
    let indexed = count("SELECT count(*) FROM messages_fts_docsize", "the search index");
    let missing = count(
        "SELECT count(*) FROM messages WHERE id NOT IN (SELECT id FROM messages_fts_docsize)",
        "the search index",
    );
    let stale = count(
        &format!("SELECT count(*) FROM state_meta WHERE key = '{}'", fts::STALE),
        "state_meta",
    );
    (report.sessions, report.messages) = (sessions.unwrap_or_default(), messages.unwrap_or_default());
    report.indexed = indexed.unwrap_or_default();
    if let Some(missing) = missing.filter(|missing| *missing > 0) {
        report.problem(format!("{missing} messages are not in the search index"));
    }
    if stale.is_some_and(|stale| stale > 0) {
        report.problem("the search index was damaged and is switched off");
    }
}

/// Whether the problem is none: Hermes' SQLite goes on reading behind a NUL, with which rows with pictures begin,
/// where later versions stop; each finds the other's index wrong.
fn is_of_another_sqlite(connection: &Connection, problem: &str) -> bool {
    const HERMES_INDEX_OF_ROWS_WITH_PICTURES: &str =
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'messages_fts_trigram_content')
            AND EXISTS (SELECT 1 FROM messages WHERE instr(content, char(0)) > 0)";
    let wrong = problem.contains("malformed inverted index") && problem.contains("messages_fts");
    wrong
        && connection
            .query_row(HERMES_INDEX_OF_ROWS_WITH_PICTURES, [], |row| row.get(0))
            .unwrap_or(false)
}

/// What SQLite's own check says; empty when it is content. It covers the search indexes too.
fn integrity(connection: &Connection) -> Vec<String> {
    let found = connection
        .prepare(&format!("PRAGMA integrity_check({LISTED})"))
        .and_then(|mut statement| {
            statement
                .query_map([], |row| row.get::<_, String>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()
        });
    match found {
        Ok(lines) => lines.into_iter().filter(|line| line != "ok").collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// Writes a complete copy of the database, as of one moment, while others go on. An existing file is left alone.
pub fn backup(path: &Path, to: &Path) -> Result<u64> {
    let refused = |kind| StoreError::File {
        path: to.to_owned(),
        source: std::io::Error::from(kind),
    };
    if to.exists() {
        return Err(refused(std::io::ErrorKind::AlreadyExists));
    }
    let (source, _) = connection::open(path, false)?;
    let beside = beside(to, "partial");
    let copied = copy(&source, &beside).map_err(|error| StoreError::from_sqlite(path, error));
    let renamed = copied.and_then(|()| {
        std::fs::rename(&beside, to).map_err(|source| StoreError::File {
            path: to.to_owned(),
            source,
        })
    });
    if renamed.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    renamed?;
    Ok(std::fs::metadata(to).map(|file| file.len()).unwrap_or_default())
}

fn copy(source: &Connection, to: &Path) -> rusqlite::Result<()> {
    let mut target = Connection::open(to)?;
    {
        let backup = rusqlite::backup::Backup::new(source, &mut target)?;
        // All pages in one step: the copy is of one moment and writers do not make it start over.
        connection::until_free(|| match backup.step(-1)? {
            rusqlite::backup::StepResult::Busy | rusqlite::backup::StepResult::Locked => Err(busy()),
            _ => Ok(()),
        })?;
    }
    target.close().map_err(|(_, error)| error)
}

/// The error of a database that another process holds.
fn busy() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}

/// What making the file small did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct VacuumReport {
    /// Bytes before.
    pub before: u64,
    /// Bytes after.
    pub after: u64,
    /// The search indexes were laid out anew, which is what takes most room in files of Hermes.
    pub index_rebuilt: bool,
}

/// Makes the file as small as it can be. No row changes.
pub fn vacuum(path: &Path) -> Result<VacuumReport> {
    let size = || std::fs::metadata(path).map(|file| file.len()).unwrap_or_default();
    let (mut connection, _) = connection::open(path, false)?;
    let sorted = |error| StoreError::from_sqlite(path, error);
    schema::bring_up_to_date(&mut connection, path.parent()).map_err(sorted)?;
    let before = size();
    let index_rebuilt = !is_own_layout(&connection).map_err(sorted)?;
    let transaction = connection.transaction().map_err(sorted)?;
    let indexes = if index_rebuilt {
        fts::rebuild(&transaction)
    } else {
        transaction.execute_batch(
            "INSERT INTO messages_fts(messages_fts) VALUES ('optimize');
             INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES ('optimize');
             INSERT INTO message_pairs(message_pairs) VALUES ('optimize');",
        )
    };
    indexes.and_then(|()| transaction.commit()).map_err(sorted)?;
    connection::until_free(|| connection.execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);"))
        .map_err(sorted)?;
    Ok(VacuumReport {
        before,
        after: size(),
        index_rebuilt,
    })
}

/// Whether the word index reads its texts from the rows instead of keeping copies.
fn is_own_layout(connection: &Connection) -> rusqlite::Result<bool> {
    let sql: Option<String> = connection
        .query_row(
            "SELECT sql FROM sqlite_schema WHERE name = 'messages_fts'",
            [],
            |row| row.get(0),
        )
        .optional()?;
    Ok(sql.is_some_and(|sql| sql.contains("messages_fts_text")))
}

/// Fills the search indexes from the rows.
fn rebuild_indexes(connection: &mut Connection) -> Result<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    fts::rebuild(&transaction)?;
    search::pairs::recreate(&transaction)?;
    transaction.commit()?;
    while search::pairs::catch_up(connection)?.1 {}
    Ok(())
}

/// `<name>.<word>` beside a file.
fn beside(path: &Path, word: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(word);
    path.with_file_name(name)
}
