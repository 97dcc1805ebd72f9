//! The folders and files of a home.

use std::path::{Path, PathBuf};

/// A home folder: `--home`, else `$TALARIA_HOME`, else `$HERMES_HOME`, else `~/.hermes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// A home at `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `state.db`.
    pub fn database(&self) -> PathBuf {
        self.root.join("state.db")
    }

    /// `images/`.
    pub fn images(&self) -> PathBuf {
        self.root.join("images")
    }

    /// `logs/`.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }
}
