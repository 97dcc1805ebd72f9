//! Copies of skills as they were before a change: `backups/skills/<name>/<number>-<id>`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use talaria_types::Timestamp;

use crate::{Library, SkillError, files};

/// Copies that are kept of one skill.
const KEPT: usize = 20;

/// A copy of a skill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Names it.
    pub id: String,
    /// When it was made.
    pub at: Timestamp,
    /// Why: `edit`, `patch`, …
    pub why: String,
    /// Where it is.
    pub folder: PathBuf,
    /// Where the skill stood, below the root.
    pub place: String,
}

impl Library {
    fn shelf(&self, name: &str) -> PathBuf {
        self.home().join("backups/skills").join(name)
    }

    /// Copies a skill before it is changed.
    pub(crate) fn snapshot(&self, folder: &Path, why: &str, at: Timestamp) -> Result<String, SkillError> {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let moment = format!("{:013}", (at.0 * 1000.0) as u64);
        // Copies of one moment keep their order.
        let same = self
            .snapshots(&name)
            .iter()
            .filter(|one| one.id.starts_with(&moment))
            .count();
        let id = format!("{moment}-{same:02}{}-{why}", &files::fresh_id()[..4]);
        let target = self.shelf(&name).join(&id);
        files::copy(folder, &target.join("skill"))?;
        let place = folder.strip_prefix(self.local()).unwrap_or(Path::new(&name));
        files::replace(&target.join("place"), place.to_string_lossy().as_bytes())?;
        let mut old = self.snapshots(&name);
        while old.len() > KEPT {
            let oldest = old.remove(0);
            fs::remove_dir_all(&oldest.folder).map_err(SkillError::at(&oldest.folder))?;
        }
        Ok(id)
    }

    /// The copies of a skill, oldest first.
    pub fn snapshots(&self, name: &str) -> Vec<Snapshot> {
        if !crate::front::is_name(name) {
            return Vec::new();
        }
        let listed = fs::read_dir(self.shelf(name)).into_iter().flatten().flatten();
        let mut found: Vec<Snapshot> = listed
            .filter_map(|item| {
                let id = item.file_name().into_string().ok()?;
                let mut parts = id.splitn(3, '-');
                let at = parts.next()?.parse::<u64>().ok()?;
                let why = parts.nth(1)?.to_owned();
                let place = fs::read_to_string(item.path().join("place")).ok()?;
                Some(Snapshot {
                    at: Timestamp(at as f64 / 1000.0),
                    why,
                    folder: item.path(),
                    place,
                    id: id.clone(),
                })
            })
            .collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        found
    }

    fn chosen(&self, name: &str, id: Option<&str>) -> Result<Snapshot, SkillError> {
        let all = self.snapshots(name);
        let found = match id {
            Some(id) => all.iter().rev().find(|one| one.id.contains(id)),
            None => all.last(),
        };
        found.cloned().ok_or_else(|| {
            SkillError::Invalid(match id {
                Some(id) => format!("there is no copy {id:?} of the skill {name:?}"),
                None => format!("there is no copy of the skill {name:?}: it was never changed here"),
            })
        })
    }

    /// What a skill's files have become since a copy (the newest one), as a unified diff.
    ///
    /// # Errors
    /// When there is no such copy.
    pub fn diff(&self, name: &str, id: Option<&str>) -> Result<String, SkillError> {
        let copy = self.chosen(name, id)?;
        let (old, new) = (copy.folder.join("skill"), self.local().join(&copy.place));
        let mut paths = files::list(&old);
        paths.extend(files::list(&new));
        paths.sort();
        paths.dedup();
        let read = |folder: &Path, path: &Path| fs::read_to_string(folder.join(path)).unwrap_or_default();
        let mut text = String::new();
        for path in paths {
            let (before, after) = (read(&old, &path), read(&new, &path));
            if before != after {
                let shown = path.display();
                let diff = similar::TextDiff::from_lines(&before, &after);
                let (old, new) = (format!("a/{shown}"), format!("b/{shown}"));
                text.push_str(&diff.unified_diff().header(&old, &new).to_string());
            }
        }
        Ok(text)
    }

    /// Puts a copy (the newest one) in the skill's place; what is there now is copied first.
    ///
    /// # Errors
    /// When there is no such copy, or the disk fails.
    pub fn rollback(&self, name: &str, id: Option<&str>, at: Timestamp) -> Result<Snapshot, SkillError> {
        let _lock = self.lock()?;
        let copy = self.chosen(name, id)?;
        let target = self.local().join(&copy.place);
        let staged = self.local().join(format!(".talaria-{}", files::fresh_id()));
        files::copy(&copy.folder.join("skill"), &staged)?;
        if target.exists() {
            self.snapshot(&target, "rollback", at)?;
            fs::remove_dir_all(&target).map_err(SkillError::at(&target))?;
        }
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(SkillError::at(parent))?;
        }
        fs::rename(&staged, &target).map_err(SkillError::at(&target))?;
        Ok(copy)
    }

    /// The right to change skills, one process at a time.
    pub(crate) fn lock(&self) -> Result<files::Lock, SkillError> {
        files::Lock::take(&self.home().join("skills/.talaria.lock"))
    }
}
