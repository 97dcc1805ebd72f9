//! Servers that a project brings: `.mcp.json`, in Claude Code's shape.
//!
//! Such a file starts programs on this machine, so the person is asked once. What they said is kept by the
//! file's place and the digest of its text: a changed file is asked for again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::McpError;

/// The file's name.
const NAME: &str = ".mcp.json";
/// The largest file that is read, in bytes.
const LARGEST: u64 = 256 * 1024;

/// A project's file.
#[derive(Clone, Debug)]
pub struct ProjectFile {
    /// Where it is.
    pub path: PathBuf,
    digest: String,
    servers: Map<String, Value>,
}

/// What the person said of a project's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Its servers may be used.
    Given,
    /// They may not.
    Refused,
    /// The person was not asked, or the file has changed since.
    Unknown,
}

impl ProjectFile {
    /// The file of the project that `cwd` is in: the nearest one, not above the folder that holds `.git`,
    /// and never one in the person's own folder.
    ///
    /// # Errors
    /// When there is one that cannot be understood.
    pub fn find(cwd: &Path) -> Result<Option<Self>, McpError> {
        let user = std::env::home_dir();
        for folder in cwd.ancestors() {
            if user.as_deref() == Some(folder) && folder != cwd {
                break;
            }
            let path = folder.join(NAME);
            if path.is_file() {
                return Self::read(path).map(Some);
            }
            if folder.join(".git").exists() {
                break;
            }
        }
        Ok(None)
    }

    fn read(path: PathBuf) -> Result<Self, McpError> {
        let wrong = |detail: String| {
            McpError::Here(format!("{}: {detail}; its servers are not used", path.display()))
        };
        let size = path.metadata().map(|meta| meta.len());
        if size.map_err(|error| wrong(error.to_string()))? > LARGEST {
            return Err(wrong("it is too large".to_owned()));
        }
        let text = std::fs::read(&path).map_err(|error| wrong(error.to_string()))?;
        let digest = Sha256::digest(&text)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let value: Value = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let servers = match value.get("mcpServers") {
            Some(Value::Object(servers)) => servers.clone(),
            None => Map::new(),
            Some(_) => return Err(wrong("mcpServers is no object".to_owned())),
        };
        Ok(Self {
            path,
            digest,
            servers,
        })
    }

    /// Its servers, by name, as they are written.
    pub fn servers(&self) -> &Map<String, Value> {
        &self.servers
    }

    /// What the person said of it in this home.
    pub fn trust(&self, home: &Path) -> Trust {
        let known = said(home);
        match known.get(&self.key()) {
            Some(entry) if entry["digest"] == json!(self.digest) => {
                if entry["trusted"] == true {
                    Trust::Given
                } else {
                    Trust::Refused
                }
            }
            _ => Trust::Unknown,
        }
    }

    /// Keeps what the person says of it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn decide(&self, home: &Path, trusted: bool) -> Result<(), McpError> {
        let mut known = said(home);
        known.insert(self.key(), json!({"digest": self.digest, "trusted": trusted}));
        let path = file(home);
        let new = path.with_extension(format!("new{}", std::process::id()));
        let written = std::fs::create_dir_all(home)
            .and_then(|()| std::fs::write(&new, serde_json::to_vec_pretty(&known).unwrap_or_default()))
            .and_then(|()| std::fs::rename(&new, &path));
        written.map_err(|error| McpError::Here(format!("{}: {error}", path.display())))
    }

    fn key(&self) -> String {
        let full = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        full.to_string_lossy().into_owned()
    }
}

fn file(home: &Path) -> PathBuf {
    home.join("mcp-trust.json")
}

fn said(home: &Path) -> BTreeMap<String, Value> {
    let text = std::fs::read(file(home)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_the_text_it_was_given_to() {
        let (home, project) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = project.path().join(NAME);
        let inner = project.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        assert!(ProjectFile::find(&inner).unwrap().is_none());
        std::fs::write(&path, r#"{"mcpServers": {"x": {"command": "true"}}}"#).unwrap();
        let found = ProjectFile::find(&inner).unwrap().unwrap();
        assert_eq!(found.trust(home.path()), Trust::Unknown);
        found.decide(home.path(), true).unwrap();
        assert_eq!(found.trust(home.path()), Trust::Given);
        std::fs::write(&path, r#"{"mcpServers": {"x": {"command": "evil"}}}"#).unwrap();
        let changed = ProjectFile::find(&inner).unwrap().unwrap();
        assert_eq!(changed.trust(home.path()), Trust::Unknown);
        changed.decide(home.path(), false).unwrap();
        assert_eq!(changed.trust(home.path()), Trust::Refused);
    }

    #[test]
    fn a_broken_file_is_told_and_one_above_the_repository_is_another_projects() {
        let project = tempfile::tempdir().unwrap();
        let inner = project.path().join("repo");
        std::fs::create_dir_all(inner.join(".git")).unwrap();
        std::fs::write(project.path().join(NAME), "{").unwrap();
        assert!(ProjectFile::find(&inner).unwrap().is_none());
        assert!(
            ProjectFile::find(project.path())
                .unwrap_err()
                .to_string()
                .contains(NAME)
        );
    }
}
