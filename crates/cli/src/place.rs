//! Where a command works: home, folder, configuration, store. Opened when needed.

use std::path::PathBuf;

use talaria_config::{Environment, Home, Loaded, Overrides};
use talaria_store::sqlite::SqliteStore;
use talaria_store::{SessionStore, StoreError};

use crate::exit::Failure;
use crate::output::Style;

/// Where a command works.
pub(crate) struct Place {
    /// The home folder, which may not exist yet.
    pub(crate) home: Home,
    /// The environment.
    pub(crate) environment: Environment,
}

impl Place {
    /// Finds the home.
    pub(crate) fn find(home: Option<&str>) -> Result<Self, Failure> {
        let environment = Environment::of_process();
        if home == Some("") {
            return Err(Failure::usage("--home names no folder").hint("give a folder, or leave --home out"));
        }
        let home = Home::locate(home, &environment)?;
        if home.root().is_file() {
            let told = home.root().display();
            return Err(Failure::usage(format!("the home {told} is a file, not a folder")));
        }
        Ok(Self { home, environment })
    }

    /// The folder to work in: `asked`, else that of the process.
    pub(crate) fn cwd(&self, asked: Option<&PathBuf>) -> Result<PathBuf, Failure> {
        let current = || std::env::current_dir();
        let Some(asked) = asked else {
            return current().map_err(|error| {
                Failure::usage(format!("the current folder cannot be used: {error}"))
                    .hint("it may have been deleted; go to another one, or give one with --cwd")
            });
        };
        let path = talaria_config::expand_tilde(&asked.to_string_lossy(), &self.environment);
        match path.canonicalize() {
            Ok(full) if full.is_dir() => Ok(full),
            Ok(_) => Err(Failure::usage(format!(
                "--cwd {} is not a folder",
                asked.display()
            ))),
            Err(error) => Err(Failure::usage(format!("--cwd {}: {error}", asked.display()))),
        }
    }

    /// The configuration.
    pub(crate) fn config(&self, cwd: &std::path::Path, overrides: &Overrides) -> Result<Loaded, Failure> {
        Ok(talaria_config::load(self.home.clone(), cwd, overrides)?)
    }

    /// Whether there is a database. That it cannot be found out is no "no".
    pub(crate) fn has_database(&self) -> Result<bool, Failure> {
        let file = self.home.database();
        file.try_exists().map_err(|error| {
            Failure::failed(format!("cannot use {}: {error}", file.display()))
                .hint("check the home folder's owner and permissions, or give another with --home")
        })
    }

    /// The store; nothing when there is none yet, because a question must not make a home.
    pub(crate) fn store(&self) -> Result<Option<SqliteStore>, Failure> {
        let file = self.home.database();
        if !self.has_database()? {
            return Ok(None);
        }
        self.learn_secrets();
        let images = self.home.images();
        let store = match SqliteStore::open(&file, &images) {
            Err(error @ (StoreError::ReadOnly { .. } | StoreError::Open { .. } | StoreError::DiskFull)) => {
                SqliteStore::open_to_read(&file, &images).map_err(|_| error)?
            }
            opened => opened?,
        };
        for warning in store.warnings() {
            crate::output::note(&format!("warning: {warning}"));
        }
        Ok(Some(store))
    }

    /// What is shown of the store must not hold the keys of this home; one whose configuration is broken
    /// is shown nevertheless.
    fn learn_secrets(&self) {
        let cwd = std::env::current_dir().unwrap_or_else(|_| self.home.root().to_owned());
        if let Ok(loaded) = self.config(&cwd, &Overrides::default()) {
            talaria_redact::learn(talaria_runtime::secrets(&loaded));
        }
    }

    /// The store, for a command that names something in it.
    pub(crate) fn store_with(&self, name: &str) -> Result<SqliteStore, Failure> {
        let unknown = || StoreError::UnknownSession {
            name: name.to_owned(),
        };
        self.store()?.ok_or_else(|| unknown().into())
    }

    /// How stdout is written to.
    pub(crate) fn stdout(&self) -> Style {
        Style::stdout(&self.environment)
    }

    /// How stderr is written to.
    pub(crate) fn stderr(&self) -> Style {
        Style::stderr(&self.environment)
    }
}
