//! Replaces a file in one step: readers see the old bytes or the new ones, and a
//! crash leaves no half of either.

use std::fs::{File, Metadata};
use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use super::guard::resolved;

/// Bytes to put in a file's place once all of them are on the disk.
pub(crate) struct Staged {
    file: tempfile::NamedTempFile,
    target: PathBuf,
}

/// Writes `bytes` beside `path`, making folders as needed. A symbolic link stays
/// one: its target is what is replaced. The mode of an existing file is kept.
pub(crate) fn stage(path: &Path, bytes: &[u8]) -> Result<Staged> {
    let target = resolved(path);
    let folder = target
        .parent()
        .ok_or_else(|| Error::from(ErrorKind::IsADirectory))?;
    std::fs::create_dir_all(folder)?;
    let old = match std::fs::metadata(&target) {
        Ok(metadata) if metadata.is_dir() => return Err(Error::from(ErrorKind::IsADirectory)),
        Ok(metadata) if !metadata.is_file() => {
            return Err(Error::new(ErrorKind::InvalidInput, "it is no regular file"));
        }
        Ok(metadata) => Some(metadata),
        Err(_) => None,
    };
    if old.as_ref().is_some_and(|old| old.permissions().readonly()) {
        return Err(Error::new(ErrorKind::PermissionDenied, "the file is read-only"));
    }
    let mut file = new_file(folder, old.as_ref())?;
    file.write_all(bytes)?;
    file.as_file().sync_data()?;
    Ok(Staged { file, target })
}

impl Staged {
    /// Puts the bytes in place.
    pub(crate) fn commit(self) -> Result<()> {
        let folder = self.target.parent().map(Path::to_owned);
        self.file.persist(&self.target).map_err(|error| error.error)?;
        // The rename itself must outlive a power failure; not every file system can tell.
        if let Some(folder) = folder.and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Replaces the bytes of `path`.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    stage(path, bytes)?.commit()
}

#[cfg(unix)]
fn new_file(folder: &Path, old: Option<&Metadata>) -> Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt;
    // For a new file the process's umask decides, as for any program.
    let wanted = std::fs::Permissions::from_mode(0o666);
    let file = tempfile::Builder::new()
        .prefix(".talaria-")
        .permissions(wanted)
        .tempfile_in(folder)?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}

#[cfg(not(unix))]
fn new_file(folder: &Path, _old: Option<&Metadata>) -> Result<tempfile::NamedTempFile> {
    tempfile::Builder::new().prefix(".talaria-").tempfile_in(folder)
}
