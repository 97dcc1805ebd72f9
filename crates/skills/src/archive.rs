//! Puts skills away and takes them out again: `skills/.archive/<name>`.

use std::fs;
use std::path::PathBuf;

use talaria_types::Timestamp;

use crate::entry::Kind;
use crate::usage::iso;
use crate::{Library, SkillError};

impl Library {
    fn archive_folder(&self) -> PathBuf {
        self.local().join(".archive")
    }

    /// Names of what is put away.
    pub fn archived(&self) -> Vec<String> {
        let listed = fs::read_dir(self.archive_folder())
            .into_iter()
            .flatten()
            .flatten();
        let folders = listed.filter(|item| item.path().join("SKILL.md").is_file());
        let mut names: Vec<String> = folders
            .filter_map(|item| item.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// Puts a skill away; gives the name it is put away under.
    ///
    /// # Errors
    /// When there is no such skill of the home, it is pinned, or the disk fails.
    pub fn archive(&self, name: &str, at: Timestamp) -> Result<String, SkillError> {
        let entry = self.find(name)?;
        if entry.kind != Kind::Local {
            return Err(SkillError::Refused(format!(
                "the skill {name:?} is not one of the home; `skills.disabled` switches it off"
            )));
        }
        if self.usage().get(&entry.name).is_some_and(|record| record.pinned) {
            return Err(SkillError::Refused(format!(
                "the skill {name:?} is pinned; unpin it first"
            )));
        }
        let _lock = self.lock()?;
        let own = entry
            .folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let folder = self.archive_folder();
        fs::create_dir_all(&folder).map_err(SkillError::at(&folder))?;
        let stamped = format!("{own}-{}", at.0 as u64);
        let put = if folder.join(&own).exists() { stamped } else { own };
        let place = entry.folder.strip_prefix(self.local()).unwrap_or(&entry.folder);
        let target = folder.join(&put);
        fs::rename(&entry.folder, &target).map_err(SkillError::at(&target))?;
        let place = place.to_string_lossy().into_owned();
        self.change_usage(|usage| {
            let record = usage.entry(entry.name.clone()).or_default();
            record.state = Some("archived".to_owned());
            record.archived_at = Some(iso(at));
            record.more.insert("archived_from".to_owned(), place.into());
        })?;
        // The category it stood in may be empty now; one that is not stays.
        if let Some(above) = entry.folder.parent().filter(|above| **above != self.local()) {
            let _ = fs::remove_dir(above);
        }
        Ok(put)
    }

    /// Takes a skill out of the archive, to where it stood; gives its folder.
    ///
    /// # Errors
    /// When it is not there, or a skill of that name has come since.
    pub fn restore(&self, name: &str) -> Result<PathBuf, SkillError> {
        let source = self.archive_folder().join(name);
        if !crate::front::is_name(name) || !source.join("SKILL.md").is_file() {
            return Err(SkillError::Invalid(format!(
                "nothing called {name:?} is archived; there is: {}",
                self.archived().join(", ")
            )));
        }
        let _lock = self.lock()?;
        let text = fs::read_to_string(source.join("SKILL.md")).unwrap_or_default();
        let entry = crate::Entry::of(&text, &source, "general", Kind::Local);
        let own = entry.map_or_else(|| name.to_owned(), |entry| entry.name);
        if self
            .all()
            .iter()
            .any(|entry| entry.name == own && entry.kind == Kind::Local)
        {
            return Err(SkillError::Refused(format!(
                "a skill {own:?} is there already; archive or rename it first"
            )));
        }
        let usage = self.usage();
        let remembered = usage
            .get(&own)
            .and_then(|record| record.more.get("archived_from"))
            .and_then(|place| place.as_str())
            .and_then(|place| crate::files::inside(&self.local(), place).ok());
        let target = remembered
            .filter(|place| !place.exists())
            .unwrap_or_else(|| self.local().join(&own));
        if let Some(above) = target.parent() {
            fs::create_dir_all(above).map_err(SkillError::at(above))?;
        }
        fs::rename(&source, &target).map_err(SkillError::at(&target))?;
        self.change_usage(|usage| {
            let record = usage.entry(own.clone()).or_default();
            record.state = Some("active".to_owned());
            record.archived_at = None;
            record.more.remove("archived_from");
        })?;
        Ok(target)
    }
}
