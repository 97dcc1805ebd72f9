//! The folders and files of a home.

use std::path::{Path, PathBuf};

use crate::{ConfigError, Environment, env};

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

    /// Finds the home: `flag`, else the environment, else `~/.hermes`. Makes nothing yet.
    ///
    /// # Errors
    /// When there is neither a flag, nor a variable, nor a home of the person.
    pub fn locate(flag: Option<&str>, environment: &Environment) -> Result<Self, ConfigError> {
        let named = flag
            .filter(|path| !path.is_empty())
            .or_else(|| environment.get(env::TALARIA_HOME))
            .or_else(|| environment.get(env::HERMES_HOME));
        let path = match (named, environment.get(env::USER_HOME)) {
            (Some(path), _) => expand_tilde(path, environment),
            (None, Some(user)) => Path::new(user).join(".hermes"),
            (None, None) => return Err(ConfigError::NoHome),
        };
        let root = std::path::absolute(&path).map_err(|source| ConfigError::File { path, source })?;
        Ok(Self { root })
    }

    /// Makes the folder, open to its owner alone, unless it is there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn ensure(&self) -> Result<(), ConfigError> {
        use std::os::unix::fs::DirBuilderExt;
        if self.root.is_dir() {
            return Ok(());
        }
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.root);
        made.map_err(|source| ConfigError::File {
            path: self.root.clone(),
            source,
        })
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `config.yaml`.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("config.yaml")
    }

    /// `.env`.
    pub fn env_file(&self) -> PathBuf {
        self.root.join(".env")
    }

    /// `auth.json`: logins and the credential pool.
    pub fn auth_file(&self) -> PathBuf {
        self.root.join("auth.json")
    }

    /// `models.json`: what the person says about models, over what is shipped.
    pub fn models(&self) -> PathBuf {
        self.root.join("models.json")
    }

    /// `cache/models.json`: what `models update` fetched.
    pub fn fetched_models(&self) -> PathBuf {
        self.cache().join("models.json")
    }

    /// `SOUL.md`: who the agent is.
    pub fn soul(&self) -> PathBuf {
        self.root.join("SOUL.md")
    }

    /// `memories/`.
    pub fn memories(&self) -> PathBuf {
        self.root.join("memories")
    }

    /// `skills/`.
    pub fn skills(&self) -> PathBuf {
        self.root.join("skills")
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

    /// `cache/`.
    pub fn cache(&self) -> PathBuf {
        self.root.join("cache")
    }

    /// `context_length_cache.yaml`: found-out windows.
    pub fn window_cache(&self) -> PathBuf {
        self.root.join("context_length_cache.yaml")
    }

    /// Lines typed in interactive sessions.
    pub fn history(&self) -> PathBuf {
        self.root.join(".talaria_history")
    }
}

/// `~` and `~/…` as the person's own folder; anything else as it is.
pub fn expand_tilde(path: &str, environment: &Environment) -> PathBuf {
    let user = environment.get(env::USER_HOME);
    match (path.strip_prefix('~'), user) {
        (Some(""), Some(user)) => PathBuf::from(user),
        (Some(rest), Some(user)) if rest.starts_with('/') => {
            Path::new(user).join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_both_variables_and_those_over_the_default() {
        let full = Environment::of([("TALARIA_HOME", "/t"), ("HERMES_HOME", "/h"), ("HOME", "/u")]);
        let root = |flag, environment: &Environment| Home::locate(flag, environment).unwrap().root;
        assert_eq!(root(Some("/f"), &full), Path::new("/f"));
        assert_eq!(root(None, &full), Path::new("/t"));
        assert_eq!(
            root(
                None,
                &Environment::of([("TALARIA_HOME", ""), ("HERMES_HOME", "~/h"), ("HOME", "/u")])
            ),
            Path::new("/u/h")
        );
        assert_eq!(
            root(None, &Environment::of([("HOME", "/u")])),
            Path::new("/u/.hermes")
        );
        assert!(matches!(
            Home::locate(None, &Environment::default()),
            Err(ConfigError::NoHome)
        ));
    }

    #[test]
    fn a_new_home_is_open_to_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("a/b"));
        home.ensure().unwrap();
        home.ensure().unwrap();
        assert_eq!(
            home.root().metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
    }
}
