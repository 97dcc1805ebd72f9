//! Folders and files: replaced in one step, copied whole, locked.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::SkillError;

/// Puts bytes in a file's place in one step, making its folder.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), SkillError> {
    let failed = |error: std::io::Error| SkillError::at(path)(error);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = tempfile::Builder::new()
        .prefix(".talaria-")
        .tempfile_in(folder)
        .map_err(failed)?;
    let mode = fs::metadata(path).map_or_else(|_| readable(), |old| old.permissions());
    file.as_file().set_permissions(mode).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_data().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o644)
}

/// Copies a folder's files; symbolic links are left out, because what they point to is not the skill's.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), SkillError> {
    // Listed before the first is written: the copy may lie inside of what is copied.
    let listed = list(from);
    fs::create_dir_all(to).map_err(SkillError::at(to))?;
    for path in listed {
        let (source, target) = (from.join(&path), to.join(&path));
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(SkillError::at(folder))?;
        }
        fs::copy(&source, &target).map_err(SkillError::at(&source))?;
    }
    Ok(())
}

/// All files below a folder, as paths relative to it, sorted; links are not followed.
pub(crate) fn list(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, Path::new(""), &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, below: &Path, found: &mut Vec<PathBuf>) {
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = below.join(item.file_name());
        match item.file_type() {
            Ok(kind) if kind.is_dir() && item.file_name() != ".git" => collect(&item.path(), &path, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

/// A path of a skill's own file; refuses what would leave its folder.
pub(crate) fn inside(folder: &Path, path: &str) -> Result<PathBuf, SkillError> {
    let relative = Path::new(path.trim());
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if path.trim().is_empty() || !plain || path.contains('\0') {
        return Err(SkillError::Refused(format!(
            "the path {path:?} is refused: it must stay inside of the skill, without .. and not absolute"
        )));
    }
    let full = folder.join(relative);
    let mut deepest = full.as_path();
    // What exists of it must be in the folder after links are followed, too.
    while !deepest.exists() {
        match deepest.parent() {
            Some(parent) => deepest = parent,
            None => break,
        }
    }
    match (deepest.canonicalize(), folder.canonicalize()) {
        (Ok(real), Ok(root)) if !real.starts_with(&root) => Err(SkillError::Refused(format!(
            "the path {path:?} is refused: a link leads out of the skill"
        ))),
        _ => Ok(full),
    }
}

/// The exclusive right to change something, until dropped.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock file `path`; waits as long as another process holds it.
    pub(crate) fn take(path: &Path) -> Result<Self, SkillError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(SkillError::at(folder))?;
        }
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(SkillError::at(path))?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(SkillError::at(path)(error.into())),
            }
        }
    }
}

/// A fresh name for a copy: eight hexadecimal digits.
pub(crate) fn fresh_id() -> String {
    format!("{:08x}", getrandom::u32().unwrap_or_else(|_| std::process::id()))
}
