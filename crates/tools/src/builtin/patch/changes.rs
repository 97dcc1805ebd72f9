//! The files that a patch changes, in memory until all of it is known to be possible.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::builtin::io_text;
use crate::files::text::{Text, is_binary};
use crate::files::{atomic, guard, lint, shown};
use crate::session::Stamp;
use crate::{ToolError, ToolSession};

/// A larger file is not patched.
const LARGEST: u64 = 32 << 20;

/// A longer diff is cut.
const DIFF_CHARS: usize = 8_000;

/// One file before and after.
struct Change {
    before: Option<Before>,
    /// Nothing when the file goes.
    after: Option<Vec<u8>>,
    /// The file whose mode it gets, when it comes by a move.
    moved_from: Option<PathBuf>,
}

struct Before {
    bytes: Vec<u8>,
    stale: bool,
}

/// All files that are touched, by path.
pub(super) struct Changes<'s> {
    session: &'s ToolSession,
    files: BTreeMap<PathBuf, Change>,
}

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) diff: String,
    pub(super) modified: Vec<String>,
    pub(super) created: Vec<String>,
    pub(super) deleted: Vec<String>,
    pub(super) lint: Vec<lint::Finding>,
    pub(super) stale: bool,
}

impl<'s> Changes<'s> {
    pub(super) fn new(session: &'s ToolSession) -> Self {
        Self {
            session,
            files: BTreeMap::new(),
        }
    }

    /// The file at `path` as it is after the changes so far.
    fn load(&mut self, path: &Path) -> Result<&mut Change, ToolError> {
        if !self.files.contains_key(path) {
            if let Some(why) = guard::write_refusal(self.session, path) {
                return Err(ToolError::Denied(why));
            }
            let before = self.before(path)?;
            let after = before.as_ref().map(|before| before.bytes.clone());
            let change = Change {
                before,
                after,
                moved_from: None,
            };
            self.files.insert(path.to_owned(), change);
        }
        self.files.get_mut(path).ok_or(ToolError::Interrupted)
    }

    fn before(&self, path: &Path) -> Result<Option<Before>, ToolError> {
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(path, &io_text(&error))),
        };
        if !metadata.is_file() {
            let kind = if metadata.is_dir() {
                "it is a folder"
            } else {
                "it is no regular file"
            };
            return Err(failed(path, kind));
        }
        if metadata.len() > LARGEST {
            return Err(failed(
                path,
                "the file is too large to be patched; use the terminal",
            ));
        }
        let bytes = std::fs::read(path).map_err(|error| failed(path, &io_text(&error)))?;
        let stale = self.session.reads().stale(path, Stamp::of(&metadata));
        Ok(Some(Before { bytes, stale }))
    }

    /// Changes the text of the file at `path`, which must exist; line endings and encoding stay.
    pub(super) fn edit(
        &mut self,
        path: &Path,
        edit: impl FnOnce(&str) -> Result<String, ToolError>,
    ) -> Result<(), ToolError> {
        let mask = self.session.mask();
        let change = self.load(path)?;
        let Some(bytes) = &change.after else {
            return Err(missing(path));
        };
        if is_binary(path, bytes) {
            return Err(failed(path, "it is a binary file"));
        }
        let old = Text::decode(bytes);
        let crlf = old.is_crlf();
        let plain = if crlf {
            old.text.replace("\r\n", "\n")
        } else {
            old.text.clone()
        };
        let new = edit(&plain)?;
        if let Some(why) = shown::copied_cut(&plain, &new) {
            return Err(ToolError::BadArguments(why));
        }
        if let Some(line) = shown::copied_mask(&plain, &new, |text| mask.file(path, text)) {
            return Err(ToolError::BadArguments(format!(
                "the new text has a mask in the place of the secret in line {line} and would destroy it; leave \
                 that line out of the edit"
            )));
        }
        let ended = if crlf { new.replace('\n', "\r\n") } else { new };
        let encoded = Text::encode(&ended, old.encoding);
        let why = "the new text cannot be written in the file's encoding; use the terminal";
        change.after = Some(encoded.ok_or_else(|| failed(path, why))?);
        Ok(())
    }

    /// Makes a file that must not exist yet.
    pub(super) fn add(&mut self, path: &Path, content: &str) -> Result<(), ToolError> {
        let change = self.load(path)?;
        if change.after.is_some() {
            return Err(failed(
                path,
                "it exists already; use \"*** Update File:\" or write_file",
            ));
        }
        change.after = Some(content.as_bytes().to_vec());
        Ok(())
    }

    /// Removes a file that must exist.
    pub(super) fn delete(&mut self, path: &Path) -> Result<(), ToolError> {
        let change = self.load(path)?;
        change.after.take().map(|_| ()).ok_or_else(|| missing(path))
    }

    /// Moves a file that must exist to a path that must be free.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> Result<(), ToolError> {
        let bytes = self.load(from)?.after.take().ok_or_else(|| missing(from))?;
        let change = self.load(to)?;
        if change.after.is_some() {
            return Err(failed(to, "it exists already; nothing is moved over it"));
        }
        change.after = Some(bytes);
        change.moved_from = Some(from.to_owned());
        Ok(())
    }

    /// Puts all changes on the disk. When one fails, those before it are taken back.
    pub(super) fn commit(self) -> Result<Done, ToolError> {
        let changed =
            |change: &Change| change.before.as_ref().map(|before| &before.bytes) != change.after.as_ref();
        let files: Vec<(PathBuf, Change)> = self
            .files
            .into_iter()
            .filter(|(_, change)| changed(change))
            .collect();
        let mut staged = Vec::new();
        for (path, change) in &files {
            if let Some(bytes) = &change.after {
                let mode = change
                    .moved_from
                    .as_ref()
                    .and_then(|from| std::fs::metadata(from).ok());
                let file = atomic::stage(path, bytes).map_err(|error| failed(path, &io_text(&error)))?;
                staged.push((path, file, mode.map(|metadata| metadata.permissions())));
            }
        }
        let mut touched: Vec<&Path> = Vec::new();
        let apply = || -> Result<(), ToolError> {
            for (path, file, mode) in staged {
                touched.push(path);
                put(path, file, mode)?;
            }
            for (path, _) in files.iter().filter(|(_, change)| change.after.is_none()) {
                touched.push(path);
                std::fs::remove_file(path).map_err(|error| failed(path, &io_text(&error)))?;
            }
            Ok(())
        };
        if let Err(error) = apply() {
            take_back(&files, &touched);
            return Err(error);
        }
        verify(&files)?;
        Ok(done(self.session, &files))
    }
}

fn put(path: &Path, file: atomic::Staged, mode: Option<Permissions>) -> Result<(), ToolError> {
    file.commit().map_err(|error| failed(path, &io_text(&error)))?;
    if let Some(mode) = mode {
        // The content is in place; a mode that cannot be set is no reason to lose it.
        let _ = std::fs::set_permissions(path, mode);
    }
    Ok(())
}

fn take_back(files: &[(PathBuf, Change)], touched: &[&Path]) {
    for (path, change) in files.iter().filter(|(path, _)| touched.contains(&path.as_path())) {
        let undone = match &change.before {
            Some(before) => atomic::replace(path, &before.bytes),
            None => std::fs::remove_file(path),
        };
        if let Err(error) = undone {
            tracing::warn!(path = %path.display(), %error, "a failed patch could not be taken back");
        }
    }
}

/// Reads everything back: a file system that lies is told of at once.
fn verify(files: &[(PathBuf, Change)]) -> Result<(), ToolError> {
    for (path, change) in files {
        if let Some(bytes) = &change.after {
            let now = std::fs::read(path).map_err(|error| failed(path, &io_text(&error)))?;
            if now != *bytes {
                return Err(failed(
                    path,
                    "its content is not what was just written; something else writes to it",
                ));
            }
        }
    }
    Ok(())
}

fn done(session: &ToolSession, files: &[(PathBuf, Change)]) -> Done {
    let mut done = Done::default();
    for (path, change) in files {
        let shown = session.shown(path);
        let text = |bytes: Option<&Vec<u8>>| bytes.map(|bytes| Text::decode(bytes).text);
        let (old, new) = (
            text(change.before.as_ref().map(|before| &before.bytes)),
            text(change.after.as_ref()),
        );
        match (&old, &new) {
            (None, _) => done.created.push(shown.clone()),
            (_, None) => done.deleted.push(shown.clone()),
            _ => done.modified.push(shown.clone()),
        }
        if let Some(new) = &new {
            done.lint.extend(lint::new_fault(path, old.as_deref(), new));
        }
        done.stale |= change.before.as_ref().is_some_and(|before| before.stale);
        done.diff
            .push_str(&diff(session, path, &shown, old.as_deref(), new.as_deref()));
        let now = std::fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata));
        session.reads().written(path, now);
    }
    if done.diff.chars().count() > DIFF_CHARS {
        let cut: String = done.diff.chars().take(DIFF_CHARS).collect();
        done.diff = format!("{cut}\n[… the rest of the diff is left out]");
    }
    done
}

/// What changed, as a unified diff with secrets masked.
fn diff(session: &ToolSession, path: &Path, shown: &str, old: Option<&str>, new: Option<&str>) -> String {
    let (before, after) = (old.unwrap_or_default(), new.unwrap_or_default());
    let (from, to) = (
        old.map_or("/dev/null".to_owned(), |_| format!("a/{shown}")),
        new.map_or("/dev/null".to_owned(), |_| format!("b/{shown}")),
    );
    let diff = TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(2)
        .header(&from, &to)
        .to_string();
    session.mask().file(path, &diff)
}

fn missing(path: &Path) -> ToolError {
    failed(path, "it does not exist")
}

fn failed(path: &Path, why: &str) -> ToolError {
    ToolError::Failed(format!("cannot patch {}: {why}", path.display()))
}
