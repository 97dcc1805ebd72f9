//! What a process shares between its sessions.

use std::path::PathBuf;
use std::sync::Arc;

use talaria_config::Loaded;
use talaria_store::SessionStore;

use crate::SessionHandle;

/// How an engine is run by its face.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The folder the agent works in.
    pub cwd: PathBuf,
    /// `source` of new sessions.
    pub source: String,
    /// `--yolo`.
    pub yolo: bool,
    /// Leave project context files and memory out (`--ignore-rules`).
    pub ignore_rules: bool,
    /// There is a person who can be asked.
    pub interactive: bool,
}

/// What a process shares between its sessions: store, endpoints, tools, log.
pub struct Engine {
    #[allow(dead_code, reason = "filled in with the session actor")]
    options: EngineOptions,
    store: Arc<dyn SessionStore>,
}

/// Which session is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    /// A new one.
    New,
    /// One by id, unique prefix or title; its live tip unless `exact`.
    Resume {
        /// Id, prefix or title.
        name: String,
        /// The segment as it was; the first turn starts a branch.
        exact: bool,
    },
    /// The one used last.
    Newest,
}

/// Why an engine or a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No provider, or no credential for it (exit code 3).
    #[error("{0}")]
    NoProvider(String),
    /// The command line or the configuration asks for what is not there (exit code 2).
    #[error("{0}")]
    Usage(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] talaria_store::StoreError),
}

impl Engine {
    /// Opens the store and resolves the model; sends nothing yet.
    ///
    /// # Errors
    /// When there is no provider or credential, or the store cannot be used.
    pub fn open(_loaded: Loaded, _options: EngineOptions) -> Result<Self, EngineError> {
        unimplemented!()
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn SessionStore> {
        &self.store
    }

    /// Starts the actor of a session.
    ///
    /// # Errors
    /// When the session is unknown, or the store cannot be used.
    pub async fn session(&self, _open: Open) -> Result<SessionHandle, EngineError> {
        unimplemented!()
    }
}
