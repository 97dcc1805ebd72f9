//! Connections: how the file is opened, and how long a call waits for others.
//!
//! Several processes write one file. SQLite lets one of them write at a time;
//! the others wait here, with jitter, for up to [`WAIT`]. The write-ahead log
//! lets readers go on meanwhile. Where it cannot be had (some network file
//! systems), the old journal is used and said so.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::{Result, StoreError};

/// How long a call waits for another process to finish writing.
pub(crate) const WAIT: Duration = Duration::from_secs(30);

/// Pages of the write-ahead log (16 MiB) after which it is written into the database. Each message touches the
/// same dozen pages, so a longer log spares most of that work.
const LOG_PAGES: i64 = 4_000;

/// Statements kept prepared per connection; the store has fewer than this.
const STATEMENTS: usize = 96;

/// Opens `path`, making the file when `create` is set, and prepares the connection.
///
/// The second value is a warning for the person, when there is one.
pub(crate) fn open(path: &Path, create: bool) -> Result<(Connection, Option<String>)> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let mut connection = Connection::open_with_flags(path, flags).map_err(|source| opening(path, source))?;
    let warning = until_free(|| prepare(&mut connection)).map_err(|source| opening(path, source))?;
    Ok((connection, warning))
}

/// A connection to a database that lives in memory.
pub(crate) fn open_in_memory() -> Result<Connection> {
    let mut connection = Connection::open_in_memory().map_err(StoreError::Sqlite)?;
    prepare(&mut connection).map_err(StoreError::Sqlite)?;
    Ok(connection)
}

/// A second connection to an open database, which only reads.
pub(crate) fn open_reader(path: &Path) -> Result<Connection> {
    let (connection, _) = open(path, false)?;
    connection
        .pragma_update(None, "query_only", true)
        .map_err(StoreError::Sqlite)?;
    Ok(connection)
}

/// Settings of a connection. Gives a warning when the file has no write-ahead log.
fn prepare(connection: &mut Connection) -> rusqlite::Result<Option<String>> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // SQLite's own waiting has no jitter, so two writers that collide once collide again.
    let mut since = Instant::now();
    connection.busy_handler(Some(move |tries| {
        if tries == 0 {
            since = Instant::now();
        }
        let wait = since.elapsed() < WAIT;
        if wait {
            std::thread::sleep(jitter(tries));
        }
        wait
    }))?;
    let warning = write_ahead(connection)?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA checkpoint_fullfsync = ON;",
    )?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
    Ok(warning)
}

/// Turns the write-ahead log on, once per file; it stays on.
fn write_ahead(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    if mode == "wal" || mode == "memory" {
        return Ok(None);
    }
    let asked = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
    match asked {
        Ok(mode) if mode == "wal" => Ok(None),
        Err(error) if is_busy(&error) || is_unusable(&error) => Err(error),
        Ok(_) | Err(_) => Ok(Some(
            "the database has no write-ahead log here (a network folder?); several programs at once will be slow".to_owned(),
        )),
    }
}

/// Between 1 and 50 milliseconds, longer after more tries.
fn jitter(tries: i32) -> Duration {
    let mut byte = [0_u8; 1];
    // Without randomness the wait is merely the same every time.
    let _ = getrandom::fill(&mut byte);
    let span = u64::try_from(tries.clamp(2, 50)).unwrap_or(50);
    Duration::from_millis(1 + u64::from(byte[0]) * span / 256)
}

/// Repeats `attempt` while another process holds the file, for calls that SQLite does not wait in.
pub(crate) fn until_free<T>(mut attempt: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let since = Instant::now();
    let mut tries = 0;
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && since.elapsed() < WAIT => std::thread::sleep(jitter(tries)),
            done => return done,
        }
        tries += 1;
    }
}

/// Another connection holds what is needed.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// The file cannot serve as a database at all.
fn is_unusable(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::NotADatabase
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen
        )
    )
}

/// Whether the disk that holds `path` has no room for even a few pages.
fn is_full(path: &Path) -> bool {
    const FEW_PAGES: u64 = 64 * 1024;
    let folder = path.parent().unwrap_or(path);
    rustix::fs::statvfs(folder).is_ok_and(|disk| disk.f_bavail * disk.f_frsize < FEW_PAGES)
}

/// What a failure while opening means.
fn opening(path: &Path, source: rusqlite::Error) -> StoreError {
    match StoreError::from_sqlite(path, source) {
        StoreError::Sqlite(source) => StoreError::Open {
            path: path.to_owned(),
            source,
        },
        other => other,
    }
}

impl StoreError {
    /// Sorts what SQLite says about `path` into the kinds a person can act on.
    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::ReadOnly) => Self::ReadOnly {
                path: path.to_owned(),
            },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged {
                path: path.to_owned(),
                detail: error.to_string(),
            },
            // On a full disk SQLite often only says that reading or writing failed.
            Some(ErrorCode::SystemIoFailure) if is_full(path) => Self::DiskFull,
            Some(ErrorCode::CannotOpen) => Self::Open {
                path: path.to_owned(),
                source: error,
            },
            _ => Self::Sqlite(error),
        }
    }
}
