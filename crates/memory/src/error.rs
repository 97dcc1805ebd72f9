//! Why a memory was not written.

use std::path::PathBuf;

/// Why a memory was not read or written. Whatever it is, nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The call asks for what cannot be.
    #[error("{0}")]
    Invalid(String),
    /// The text looks like an attack.
    #[error(
        "Blocked: the content matches the threat pattern(s) {}. It stands in every system prompt, so text that commands the model is not stored; say what is meant in plain words.",
        .ids.join(", ")
    )]
    Threat {
        /// Ids of the patterns.
        ids: Vec<&'static str>,
    },
    /// No entry holds the text.
    #[error("No entry matched '{old_text}'.")]
    NoMatch {
        /// What was looked for.
        old_text: String,
        /// What there is.
        entries: Vec<String>,
    },
    /// Several entries hold the text.
    #[error("Multiple entries matched '{old_text}'. Be more specific.")]
    Ambiguous {
        /// What was looked for.
        old_text: String,
        /// The beginnings of the entries.
        matches: Vec<String>,
    },
    /// The entries would be longer than the limit.
    #[error("{message}")]
    Overflow {
        /// The numbers, and what to do.
        message: String,
        /// What there is.
        entries: Vec<String>,
        /// `current/limit`.
        usage: String,
    },
    /// The file does not look as if this program had written it.
    #[error(
        "{file} holds an entry of {longest} characters, more than its whole limit of {limit}: it was written by something else. A copy is in {}.",
        .backup.display()
    )]
    Drift {
        /// The file's name.
        file: &'static str,
        /// Characters of its longest entry.
        longest: usize,
        /// Its limit.
        limit: usize,
        /// Where the copy is.
        backup: PathBuf,
    },
    /// One operation of several cannot be done.
    #[error("Operation {place} ({action}): {source} Nothing of this batch was applied.")]
    Batch {
        /// From 1.
        place: usize,
        /// `add`, `replace` or `remove`.
        action: &'static str,
        /// Why.
        #[source]
        source: Box<MemoryError>,
    },
    /// Another process holds the lock.
    #[error("{} has been locked by another process for {seconds} s", .path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// The file is no text.
    #[error("{} is no UTF-8 text; repair it or move it away", .0.display())]
    NotText(PathBuf),
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

impl MemoryError {
    /// The disk's failure at `path`.
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, source }
    }

    /// The reason proper, where one operation of several failed.
    pub fn reason(&self) -> &Self {
        match self {
            Self::Batch { source, .. } => source,
            other => other,
        }
    }
}
