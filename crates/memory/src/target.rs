//! The two files.

use serde::{Deserialize, Serialize};

/// Which of the two files is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// `MEMORY.md`: the agent's own notes.
    #[default]
    Memory,
    /// `USER.md`: who the person is.
    User,
}

impl Target {
    /// Both, in the order they stand in a prompt.
    pub const ALL: [Self; 2] = [Self::Memory, Self::User];

    /// The file's name.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY.md",
            Self::User => "USER.md",
        }
    }

    /// The word used in calls and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::User => "user",
        }
    }

    /// What a prompt calls it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Memory => "MEMORY (your personal notes)",
            Self::User => "USER PROFILE (who the user is)",
        }
    }
}

impl std::str::FromStr for Target {
    type Err = crate::MemoryError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|target| target.as_str() == name)
            .ok_or_else(|| {
                crate::MemoryError::Invalid(format!("there is no target {name:?}; use memory or user"))
            })
    }
}
