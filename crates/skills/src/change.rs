//! What can be done to a skill, and who does it.

use serde::{Deserialize, Serialize};

/// One change of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Change {
    /// A new skill.
    Create {
        /// Its name.
        name: String,
        /// Its `SKILL.md`.
        content: String,
        /// The folder it goes into.
        #[serde(default)]
        category: Option<String>,
    },
    /// Another `SKILL.md`.
    Edit {
        /// The skill.
        name: String,
        /// Its new text.
        content: String,
    },
    /// A text in a file replaced by another.
    Patch {
        /// The skill.
        name: String,
        /// The file; `SKILL.md` when absent.
        #[serde(default)]
        file_path: Option<String>,
        /// What is there.
        old_string: String,
        /// What comes in its place.
        new_string: String,
        /// Every place, not only one.
        #[serde(default)]
        replace_all: bool,
    },
    /// The skill is removed (a copy stays).
    Delete {
        /// The skill.
        name: String,
        /// The skill that holds its content now; empty when none does.
        #[serde(default)]
        absorbed_into: String,
    },
    /// A support file is written.
    WriteFile {
        /// The skill.
        name: String,
        /// Below `references`, `templates`, `scripts` or `assets`.
        file_path: String,
        /// Its text.
        file_content: String,
    },
    /// A support file is removed.
    RemoveFile {
        /// The skill.
        name: String,
        /// Which.
        file_path: String,
    },
}

impl Change {
    /// The action's word.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Edit { .. } => "edit",
            Self::Patch { .. } => "patch",
            Self::Delete { .. } => "delete",
            Self::WriteFile { .. } => "write_file",
            Self::RemoveFile { .. } => "remove_file",
        }
    }

    /// The skill's name.
    pub fn name(&self) -> &str {
        match self {
            Self::Create { name, .. }
            | Self::Edit { name, .. }
            | Self::Patch { name, .. }
            | Self::Delete { name, .. }
            | Self::WriteFile { name, .. }
            | Self::RemoveFile { name, .. } => name,
        }
    }
}

/// Who changes a skill.
#[derive(Clone, Copy)]
pub enum Writer<'a> {
    /// The model in a turn of the person, or the person.
    Foreground,
    /// The review after a turn. It may change only what the agent wrote itself and what it has read in this review.
    Review {
        /// Whether it has read this skill.
        has_read: &'a dyn Fn(&str) -> bool,
    },
}

/// What a change came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// In one line.
    pub message: String,
    /// The skill.
    pub name: String,
    /// What was done.
    pub action: &'static str,
    /// Where it is.
    pub path: String,
    /// The copy of it as it was; nothing for a new one.
    pub snapshot: Option<String>,
}
