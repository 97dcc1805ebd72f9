//! A first page for a file that lost its own.
//!
//! The first page says that the file is a database, how large its pages are, and
//! where its list of tables goes on. In files of one layout all of this is the
//! same, so a fresh database's first page can stand in: its head alone when only
//! that is damaged, else the whole page. The rest of the list is the file's own,
//! so a file of another layout is not misread, it stays unreadable.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::beside;
use super::repair::{remove_database, with_end};
use crate::sqlite::{connection, schema};
use crate::{Result, StoreError};

/// Bytes of a page, in files of Hermes and Talaria alike.
const PAGE: usize = 4096;
/// Bytes of the head of the first page.
const HEAD: usize = 100;

/// Copies of a damaged file with another first page, in the order to be tried. The caller removes them.
pub(super) fn candidates(from: &Path) -> Result<Vec<PathBuf>> {
    let failed = |source| StoreError::File {
        path: from.to_owned(),
        source,
    };
    let fresh = fresh_page(from)?;
    let mut found = Vec::new();
    for (name, bytes) in [("with-head", HEAD), ("with-page", PAGE)] {
        let to = beside(from, name);
        transplant(from, &to, &fresh[..bytes]).map_err(failed)?;
        found.push(to);
    }
    Ok(found)
}

/// The first page of a database that was just made.
fn fresh_page(near: &Path) -> Result<Vec<u8>> {
    let path = beside(near, "fresh");
    let failed = |source| StoreError::File {
        path: path.clone(),
        source,
    };
    remove_database(&path).map_err(failed)?;
    let (mut made, _) = connection::open(&path, true)?;
    schema::bring_up_to_date(&mut made, None)?;
    made.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    made.close().map_err(|(_, error)| StoreError::Sqlite(error))?;
    let mut page = vec![0; PAGE];
    File::open(&path)
        .and_then(|mut file| file.read_exact(&mut page))
        .map_err(failed)?;
    remove_database(&path).map_err(failed)?;
    Ok(page)
}

fn transplant(from: &Path, to: &Path, start: &[u8]) -> std::io::Result<()> {
    remove_database(to)?;
    let size = std::fs::copy(from, to)?;
    let log = with_end(from, "-wal");
    if log.exists() {
        std::fs::copy(log, with_end(to, "-wal"))?;
    }
    let mut start = start.to_vec();
    // How many pages there are, and that this number is to be believed.
    let pages = u32::try_from(size / PAGE as u64).unwrap_or(u32::MAX);
    start[28..32].copy_from_slice(&pages.to_be_bytes());
    start.copy_within(24..28, 92);
    // The list of free pages is the damaged file's secret; nothing is written to this copy.
    start[32..40].fill(0);
    let mut file = std::fs::OpenOptions::new().write(true).open(to)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&start)?;
    file.sync_all()
}
