//! The logins of a pool: which key of theirs is good now, and renewing it.
//!
//! Refresh tokens are good once, so only one process renews at a time, and one
//! that finds the work done takes over what the other has got.

use std::fs::File;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::oauth::renew::{Renewed, can_renew, renew, stored};
use super::oauth::{LoginError, LoginRow, login_row};
use super::pool::{CredentialPool, variable};

/// What is known about the key of a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KeyState {
    /// It has to be renewed before it can be used.
    pub(crate) is_due: bool,
    /// When it ends, in seconds since the epoch.
    pub(crate) ends: Option<f64>,
    /// Something can be done about an old one.
    pub(crate) can_renew: bool,
}

impl KeyState {
    /// Whether it should be renewed before the next call.
    pub(crate) fn wants_renewal(&self) -> bool {
        self.can_renew && (self.is_due || self.ends.is_some_and(|ends| ends < now() + 60.0))
    }

    /// That of a key that was just renewed.
    pub(crate) fn fresh(renewed: &Renewed) -> Self {
        Self {
            is_due: false,
            ends: renewed.ends,
            can_renew: true,
        }
    }
}

/// The login an entry is, if it is one. A GitHub token of the environment is one, too.
pub(super) fn row_of(provider: &str, entry: &Value) -> Option<&'static LoginRow> {
    let row = login_row(provider)?;
    (entry["auth_type"] == "oauth" || row.is_always_a_login()).then_some(row)
}

/// The key of a login as it is stored, even when it is due.
pub(super) fn key_of(row: &LoginRow, entry: &Value) -> Option<String> {
    let due = || {
        let token = entry["access_token"]
            .as_str()
            .filter(|token| !token.trim().is_empty());
        // It is sent only where renewing fails; then the server says what is wrong.
        token
            .or_else(|| can_renew(row, entry).then_some("none"))
            .map(str::to_owned)
    };
    stored(row, entry).map(|(key, _)| key).or_else(due)
}

impl CredentialPool {
    /// What is known about the key of an entry.
    pub(crate) fn key_state(&self, id: &str) -> KeyState {
        let entry = self.entry(id);
        let row = entry.as_ref().and_then(|entry| row_of(self.provider(), entry));
        let (Some(entry), Some(row)) = (entry, row) else {
            return KeyState::default();
        };
        let good = stored(row, &entry);
        KeyState {
            is_due: good.is_none(),
            ends: good.and_then(|(_, ends)| ends),
            can_renew: can_renew(row, &entry),
        }
    }

    /// A fresh key for an entry; the one that was refused, if any, is not given again.
    ///
    /// # Errors
    /// When the login is over, or its server cannot be asked.
    pub(crate) async fn renew(
        &self,
        id: &str,
        refused: Option<&SecretString>,
        bundle: Option<&Path>,
    ) -> Result<Renewed, LoginError> {
        let _alone = alone(self.path().with_extension("refresh.lock")).await?;
        let none = || LoginError::Over("it is not stored any more".to_owned());
        let entry = self.entry(id).ok_or_else(none)?;
        let row = row_of(self.provider(), &entry).ok_or_else(none)?;
        if let Some((key, ends)) = stored(row, &entry)
            && refused.is_none_or(|refused| refused.expose_secret() != key)
        {
            return Ok(Renewed {
                key: SecretString::from(key),
                ends,
                base_url: entry["inference_base_url"].as_str().map(str::to_owned),
                members: serde_json::Map::new(),
            });
        }
        let renewed = renew(row, &entry, bundle).await?;
        // What is made of a key of the environment is not kept, as that key itself is not.
        if variable(&entry).is_none()
            && let Err(error) = self.store(id, &renewed.members)
        {
            tracing::warn!(%error, "a renewed login could not be kept; the next process has to log in again");
        }
        Ok(renewed)
    }

    /// A login that is over.
    pub(crate) fn bury(&self, id: &str, why: &str) {
        let members = json!({
            "last_status": "dead", "last_status_at": now(), "last_error_code": 401,
            "last_error_reason": "auth_permanent", "last_error_message": why.chars().take(200).collect::<String>(),
        });
        if let Some(Err(error)) = members.as_object().map(|members| self.store(id, members)) {
            tracing::warn!(%error, "a login that is over could not be marked");
        }
    }
}

/// Waits until no other process renews.
async fn alone(file: std::path::PathBuf) -> Result<File, LoginError> {
    let lock = move || {
        let file = File::create(file)?;
        file.lock()?;
        Ok::<_, std::io::Error>(file)
    };
    let locked = tokio::task::spawn_blocking(lock).await;
    let failed = |error: String| LoginError::Here(format!("the credentials cannot be locked: {error}"));
    locked
        .map_err(|error| failed(error.to_string()))?
        .map_err(|error| failed(error.to_string()))
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
