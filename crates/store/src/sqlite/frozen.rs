//! A database that cannot be written: its folder, its disk or its owner forbids it.
//!
//! SQLite needs to write beside a database in order to read it safely. Where
//! nobody can write, nothing can change either, so the file is read as it is.
//! What a program left in the write-ahead log belongs to it: then a copy of both
//! is read, made in the system's folder for such things.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::{Result, StoreError};

/// A connection that only reads, and the copy that it reads, to be deleted with it.
pub(crate) struct Frozen {
    pub(crate) connection: Connection,
    pub(crate) copy: Option<Copy>,
}

/// A folder of one's own that goes away when it is dropped.
pub(crate) struct Copy(PathBuf);

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Opens the file at `path` without writing beside it.
pub(crate) fn open(path: &Path) -> Result<Frozen> {
    let log = super::later::log_of(path);
    let left = std::fs::metadata(&log).is_ok_and(|log| log.len() > 0);
    let copy = left.then(|| copy(path, &log)).transpose()?;
    let file = copy
        .as_ref()
        .map_or(path.to_owned(), |copy| copy.0.join("state.db"));
    let connection = if copy.is_some() {
        super::connection::open_reader(&file)?
    } else {
        immutable(&file).map_err(|error| StoreError::from_sqlite(path, error))?
    };
    Ok(Frozen { connection, copy })
}

fn immutable(file: &Path) -> rusqlite::Result<Connection> {
    let mut uri = String::from("file:");
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

fn copy(path: &Path, log: &Path) -> Result<Copy> {
    use std::os::unix::fs::DirBuilderExt;
    let mut name = [0_u8; 8];
    let _ = getrandom::fill(&mut name);
    let folder = std::env::temp_dir().join(format!("talaria-read-{:016x}", u64::from_le_bytes(name)));
    let failed = |source| StoreError::File {
        path: folder.clone(),
        source,
    };
    // What a conversation says is nobody else's business.
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(failed)?;
    let copy = Copy(folder.clone());
    std::fs::copy(path, folder.join("state.db")).map_err(failed)?;
    std::fs::copy(log, folder.join("state.db-wal")).map_err(failed)?;
    Ok(copy)
}
