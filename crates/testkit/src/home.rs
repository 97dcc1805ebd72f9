//! A home folder that lives as long as a test.

use crate::mock::MockServer;
use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// A moment for tests that need one: 2026-12-01 12:00:00 UTC, in seconds since the epoch.
pub const FIXED_NOW: f64 = 1_796_126_400.0;

/// A temporary home with a `config.yaml`, and beside it an empty working folder.
#[derive(Debug)]
pub struct TempHome {
    root: TempDir,
}

impl TempHome {
    /// A home whose model is the given server's `mock-model`, with a window of 200,000 tokens.
    pub fn pointing_at(server: &MockServer) -> io::Result<TempHome> {
        TempHome::with_config(&config_for(server, 200_000))
    }

    /// A home with this `config.yaml`.
    pub fn with_config(yaml: &str) -> io::Result<TempHome> {
        let home = TempHome {
            root: TempDir::with_prefix("talaria-")?,
        };
        fs::create_dir(home.path())?;
        fs::create_dir(home.work())?;
        fs::write(home.path().join("config.yaml"), yaml)?;
        Ok(home)
    }

    /// The home folder.
    pub fn path(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The working folder, where a test's tools read and write.
    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.path().join("state.db")
    }

    /// A command that runs this program on this home, in the working folder, with nothing of the
    /// caller's environment that could change its answer.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        isolated(program, &self.path(), &self.work())
    }
}

/// The `config.yaml` of a home whose model is this server, with a window of so many tokens.
pub(crate) fn config_for(server: &MockServer, window: u64) -> String {
    format!(
        "model:\n  default: mock-model\n  provider: custom\n  base_url: {}\n  api_key: test-key-0000\n  \
         context_length: {window}\n",
        server.base_url()
    )
}

/// A command with only the search path and the locale of its caller, and a home of its own.
pub(crate) fn isolated(program: impl AsRef<OsStr>, home: &Path, work: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "LANG", "LC_ALL", "TMPDIR", "TERM", "SHELL"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .env("TALARIA_HOME", home)
        .env("HOME", home)
        .env("TZ", "UTC")
        .current_dir(work);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock::Scenario;

    #[test]
    fn a_home_points_at_its_server_and_is_gone_with_its_test() {
        let server = MockServer::start(Scenario::of([])).unwrap();
        let home = TempHome::pointing_at(&server).unwrap();
        let config = fs::read_to_string(home.path().join("config.yaml")).unwrap();
        assert!(config.contains(&server.base_url()));
        let command = home.command("talaria");
        assert_eq!(command.get_current_dir(), Some(home.work().as_path()));
        let set: Vec<_> = command.get_envs().map(|(name, _)| name.to_owned()).collect();
        assert!(set.contains(&"TALARIA_HOME".into()) && !set.contains(&"OPENAI_API_KEY".into()));
        let place = home.path();
        drop(home);
        assert!(!place.exists());
    }
}
