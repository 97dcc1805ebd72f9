//! Why a configuration cannot be used.

use std::path::PathBuf;

/// Why a configuration cannot be used. Each names what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read or written.
    #[error("cannot use {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file is no YAML.
    #[error("{path}:{line}: not valid YAML: {detail}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong there.
        detail: String,
    },
    /// A value has the wrong type or is out of range.
    #[error("{place}: {key}: expected {expected}, found {found}")]
    Value {
        /// File and line, or the variable or flag.
        place: String,
        /// The dotted key.
        key: String,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A file is written in a way that cannot be changed without risk.
    #[error("{path}: {key} cannot be changed without touching what stands around it; edit the file by hand")]
    CannotEdit {
        /// The file.
        path: PathBuf,
        /// The dotted key.
        key: String,
    },
    /// Somebody else owns the configuration.
    #[error("{path} is managed by this installation and cannot be changed from here")]
    Managed {
        /// The file.
        path: PathBuf,
    },
    /// There is no place for a home.
    #[error("no home folder: set $TALARIA_HOME, or give --home DIR")]
    NoHome,
}
