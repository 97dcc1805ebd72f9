//! Why a store call failed.

use std::path::PathBuf;

/// Why a store call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened or made.
    #[error("cannot open {path}")]
    Open {
        /// The file.
        path: PathBuf,
        /// SQLite's reason.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is no sound database.
    #[error("{path} is damaged: {detail}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        detail: String,
    },
    /// Another process held the database for longer than a call waits.
    #[error("the database is locked by another process")]
    Locked,
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull,
    /// The home folder cannot be written.
    #[error("{path} cannot be written")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// No session has this id, prefix or title.
    #[error("no session is called {name:?}")]
    UnknownSession {
        /// What was asked for.
        name: String,
    },
    /// More than one session has this prefix.
    #[error("{name:?} is not unique: {candidates}")]
    AmbiguousSession {
        /// What was asked for.
        name: String,
        /// Some of the sessions it could mean.
        candidates: String,
    },
    /// The title belongs to another session.
    #[error("the title {title:?} belongs to session {owner}")]
    TitleTaken {
        /// The title.
        title: String,
        /// Who has it.
        owner: String,
    },
    /// A title that cannot be one.
    #[error("{title:?} cannot be a title: {why}")]
    BadTitle {
        /// The title.
        title: String,
        /// Why.
        why: &'static str,
    },
    /// A turn of the session runs.
    #[error("another process ({holder}) runs a turn of this session")]
    SessionBusy {
        /// Who runs it.
        holder: String,
    },
    /// The session was compressed by somebody else meanwhile.
    #[error("session {session} was compressed already and goes on as {tip}")]
    AlreadyCompressed {
        /// The session.
        session: String,
        /// Where it goes on.
        tip: String,
    },
    /// There are not so many compressions to undo.
    #[error("session {session} has {have} compressions to undo, not {wanted}")]
    NothingToUndo {
        /// The session.
        session: String,
        /// How many there are.
        have: usize,
        /// How many were to be undone.
        wanted: usize,
    },
    /// The originals of a compression were erased.
    #[error("the originals of session {session} were deleted, so the compression cannot be undone")]
    OriginalsGone {
        /// The session that held them.
        session: String,
    },
    /// Anything else SQLite says.
    #[error("database: {0}")]
    Sqlite(#[source] rusqlite::Error),
    /// Reading or writing a file beside the database failed.
    #[error("{path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}
