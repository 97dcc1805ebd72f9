//! `auth.json`: read whole, changed under a lock, written beside and moved.
//!
//! The file is shared with Hermes; members this program does not know are kept.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::pool::PoolError;

/// The file of credentials.
#[derive(Clone, Debug)]
pub(super) struct AuthFile(pub(super) PathBuf);

impl AuthFile {
    /// What it holds; an empty document when it is not there.
    pub(super) fn read(&self) -> Result<Value, PoolError> {
        let path = || self.0.display().to_string();
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(json!({"version": 1, "providers": {}}));
            }
            Err(source) => return Err(PoolError::File { path: path(), source }),
        };
        let read: Map<String, Value> =
            serde_json::from_str(&text).map_err(|source| PoolError::Shape { path: path(), source })?;
        Ok(Value::Object(read))
    }

    /// Reads, changes and writes it while no other process does.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Value) -> Result<T, PoolError>,
    ) -> Result<T, PoolError> {
        let fail = |source| PoolError::File {
            path: self.0.display().to_string(),
            source,
        };
        let lock = File::create(self.0.with_extension("lock")).map_err(fail)?;
        lock.lock().map_err(fail)?;
        let mut document = self.read()?;
        let result = change(&mut document)?;
        replace(&self.0, &document).map_err(fail)?;
        Ok(result)
    }
}

/// Writes beside and moves, readable by the user alone.
fn replace(file: &Path, document: &Value) -> std::io::Result<()> {
    let beside = file.with_extension(format!("tmp{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut written = options.open(&beside)?;
    written.write_all(serde_json::to_string_pretty(document)?.as_bytes())?;
    written.sync_all()?;
    drop(written);
    std::fs::rename(&beside, file)
}
