//! Why a skill was not read or changed.

use std::path::PathBuf;

/// Why a skill was not read or changed. Whatever it is, nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// The call asks for what cannot be.
    #[error("{0}")]
    Invalid(String),
    /// There is no such skill.
    #[error("there is no skill {name:?}")]
    NotFound {
        /// What was asked for.
        name: String,
        /// Some of those there are.
        available: Vec<String>,
    },
    /// Several skills are meant.
    #[error("several skills are called {name:?}; name one by its category")]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// How they are told apart.
        matches: Vec<String>,
    },
    /// A file that a skill does not have.
    #[error("the skill {skill:?} has no file {file:?}")]
    NoFile {
        /// The skill.
        skill: String,
        /// What was asked for.
        file: String,
        /// What it has.
        available: Vec<String>,
    },
    /// The text to replace is not there, or not there once.
    #[error("{message}")]
    NoMatch {
        /// What is wrong.
        message: String,
        /// The beginning of the file.
        preview: String,
    },
    /// A rule forbids it.
    #[error("{0}")]
    Refused(String),
    /// What was to be installed looks dangerous.
    #[error("{0}")]
    Dangerous(String),
    /// A program that is needed failed.
    #[error("{0}")]
    Failed(String),
    /// The disk failed.
    #[error("cannot use {}: {source}", .path.display())]
    File {
        /// What was used.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl SkillError {
    /// The disk's failure at `path`.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }
}
