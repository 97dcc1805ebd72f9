//! A home with skills.

use std::path::PathBuf;

use talaria_skills::{Change, Done, Library, Roots, SkillError, Writer};
use talaria_types::Timestamp;

pub(crate) const NOW: Timestamp = Timestamp(1_800_000_000.0);

pub(crate) struct Rig {
    pub(crate) home: tempfile::TempDir,
    pub(crate) library: Library,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let library = library(home.path());
        Self { home, library }
    }

    /// Writes a skill as a person would.
    pub(crate) fn skill(&self, path: &str, text: &str) -> PathBuf {
        let file = self.home.path().join("skills").join(path).join("SKILL.md");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        file
    }

    pub(crate) fn change(&self, change: &Change) -> Result<Done, SkillError> {
        self.library.change(change, Writer::Foreground, NOW)
    }
}

pub(crate) fn library(home: &std::path::Path) -> Library {
    Library::new(Roots {
        home: home.to_owned(),
        ..Roots::default()
    })
}

pub(crate) fn text(name: &str, description: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{body}\n")
}
