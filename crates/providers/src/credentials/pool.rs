//! Several credentials of one provider, and which of them is good now.
//!
//! They stand in `auth.json`, shared with Hermes: the list
//! `credential_pool.<provider>`. One that was refused or is spent rests, for a
//! time that depends on why; one that was revoked is dead. Both are written to
//! the file, so that the next process does not try them first. Keys that the
//! environment holds come after those of the file; of them the file knows no
//! more than whether they rest.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use talaria_recovery::Failure;

use super::entry::{Listed, forget, listed, rest};
use super::file::AuthFile;
use super::{login, secret};

const POOLS: &str = "credential_pool";
/// Members of an entry that are secret.
const SECRETS: [&str; 3] = ["access_token", "refresh_token", "agent_key"];

/// Why the file of credentials cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// It cannot be read or written.
    #[error("cannot use the credentials in {path}: {source}")]
    File {
        /// Which file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// It is no JSON object.
    #[error("the credentials in {path} are not readable: {source}; correct the file or move it away")]
    Shape {
        /// Which file.
        path: String,
        /// Where.
        source: serde_json::Error,
    },
    /// There is no such credential.
    #[error(
        "the provider {provider} has no credential {target:?}; `talaria auth list {provider}` shows them"
    )]
    NoEntry {
        /// Which provider.
        provider: String,
        /// What was asked for.
        target: String,
    },
    /// It stands in the environment, which this program does not change.
    #[error("this key is in the variable {name}; unset it, or take it out of .env")]
    InEnvironment {
        /// Which variable.
        name: String,
    },
    /// The system's keyring did not take the key.
    #[error("the key could not be put into the keyring: {why}")]
    Keyring {
        /// Why.
        why: String,
    },
}

/// Which credential is taken first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The first good one, until it is spent.
    #[default]
    FillFirst,
    /// One after the other.
    RoundRobin,
    /// Any.
    Random,
    /// The one that was taken least often.
    LeastUsed,
}

impl FromStr for Strategy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "fill_first" | "" => Ok(Self::FillFirst),
            "round_robin" => Ok(Self::RoundRobin),
            "random" => Ok(Self::Random),
            "least_used" => Ok(Self::LeastUsed),
            other => Err(format!(
                "{other:?} is no strategy; write fill_first, round_robin, random or least_used"
            )),
        }
    }
}

/// A credential to be added.
#[derive(Clone, Debug, Default)]
pub struct NewCredential {
    /// What the user calls it.
    pub label: String,
    /// Where its secret stands: `manual`, `file:PATH`, `command:LINE`, `keyring:NAME`; for a login, how it was made.
    pub source: String,
    /// The key or token, when it is kept in the file.
    pub secret: Option<SecretString>,
    /// Further members of its entry; a login has its refresh token and its end among them.
    pub members: Map<String, Value>,
}

/// A credential that can be used now.
#[derive(Clone, Debug)]
pub(crate) struct Picked {
    pub(crate) id: String,
    pub(crate) key: SecretString,
    pub(crate) base_url: Option<String>,
}

/// The credentials of one provider.
#[derive(Clone, Debug)]
pub struct CredentialPool {
    file: AuthFile,
    provider: String,
    strategy: Strategy,
    /// Keys of the environment by variable; they are never written to the file.
    environment: Vec<(String, SecretString)>,
}

impl CredentialPool {
    /// The pool of a provider in a file, which need not exist.
    pub fn new(file: impl Into<PathBuf>, provider: impl Into<String>, strategy: Strategy) -> Self {
        Self {
            file: AuthFile(file.into()),
            provider: provider.into(),
            strategy,
            environment: Vec::new(),
        }
    }

    /// The same with keys that the environment holds, by variable.
    #[must_use]
    pub fn with_environment(mut self, keys: Vec<(String, SecretString)>) -> Self {
        self.environment = keys;
        self
    }

    /// The providers that have an entry in a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn providers(file: impl Into<PathBuf>) -> Result<Vec<String>, PoolError> {
        let document = AuthFile(file.into()).read()?;
        let pools = document[POOLS].as_object();
        let filled = pools
            .into_iter()
            .flatten()
            .filter(|(_, entries)| entries.as_array().is_some_and(|entries| !entries.is_empty()));
        Ok(filled.map(|(provider, _)| provider.clone()).collect())
    }

    /// Every secret of a file, so that it can be hidden wherever it shows up.
    pub fn secrets(file: impl Into<PathBuf>) -> Vec<SecretString> {
        let document = AuthFile(file.into()).read().unwrap_or_default();
        let pools = document[POOLS].as_object();
        let entries = pools
            .into_iter()
            .flatten()
            .filter_map(|(_, entries)| entries.as_array())
            .flatten();
        let secret = |entry: &Value| SECRETS.map(|name| entry[name].as_str().map(str::to_owned));
        entries
            .flat_map(secret)
            .flatten()
            .map(SecretString::from)
            .collect()
    }

    /// All of them, in order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, PoolError> {
        let now = now();
        let document = self.file.read()?;
        let entries = self.entries(&document);
        Ok(entries.iter().map(|entry| listed(entry, now)).collect())
    }

    /// Adds one behind the others; its id.
    ///
    /// # Errors
    /// When the file cannot be read or written, or the keyring refuses the secret.
    pub fn add(&self, new: &NewCredential) -> Result<String, PoolError> {
        if let (Some(name), Some(key)) = (new.source.strip_prefix("keyring:"), &new.secret) {
            secret::to_keyring(name, key.expose_secret()).map_err(|why| PoolError::Keyring { why })?;
        }
        self.change(|entries| {
            let taken: Vec<&str> = entries.iter().filter_map(|entry| entry["id"].as_str()).collect();
            let id = (1..)
                .map(|number| format!("key{number}"))
                .find(|id| !taken.contains(&id.as_str()));
            let id = id.unwrap_or_default();
            let kept = new.secret.as_ref().filter(|_| secret::is_stored(&new.source));
            let mut entry = json!({
                "id": id, "label": new.label, "auth_type": "api_key", "priority": entries.len(),
                "source": new.source, "access_token": kept.map(ExposeSecret::expose_secret),
                "last_status": null, "request_count": 0,
            });
            if let Some(entry) = entry.as_object_mut() {
                entry.extend(new.members.clone());
            }
            entries.push(entry);
            Ok(id)
        })
    }

    /// Removes one by its id, its label, or its place counted from 1.
    ///
    /// # Errors
    /// When there is none, or the file cannot be read or written.
    pub fn remove(&self, target: &str) -> Result<(), PoolError> {
        let no_entry = || PoolError::NoEntry {
            provider: self.provider.clone(),
            target: target.to_owned(),
        };
        self.change(|entries| {
            let named = |entry: &Value| entry["id"] == target || entry["label"] == target;
            let by_name = entries.iter().position(named);
            let by_place = || target.parse::<usize>().ok()?.checked_sub(1);
            let place = by_name.or_else(by_place).filter(|place| *place < entries.len());
            let removed = entries.remove(place.ok_or_else(no_entry)?);
            match variable(&removed) {
                Some(name) if self.value_of(name).is_some() => Err(PoolError::InEnvironment {
                    name: name.to_owned(),
                }),
                Some(_) | None => Ok(()),
            }
        })
    }

    /// Forgets that any of them rests or is dead.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn reset(&self) -> Result<(), PoolError> {
        self.change(|entries| {
            entries
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(forget);
            Ok(())
        })
    }

    /// The one to use now. Where all of them rest, the one that is good again first: a guess of
    /// how long it rests must not keep anyone from trying. A dead one is never taken.
    pub(crate) fn pick(&self) -> Option<Picked> {
        let mut entries = self.good(None);
        match self.strategy {
            Strategy::FillFirst => {}
            Strategy::Random => {
                let turn = subsecond() % entries.len().max(1);
                entries.rotate_left(turn);
            }
            Strategy::RoundRobin | Strategy::LeastUsed => {
                entries.sort_by_key(|entry| entry["request_count"].as_u64().unwrap_or(0));
            }
        }
        let chosen = self.first(&entries).or_else(|| self.first(&self.resting()))?;
        if self.strategy != Strategy::FillFirst {
            self.count(&chosen.id);
        }
        Some(chosen)
    }

    /// Whether another one than this could be used.
    pub(crate) fn has_other(&self, id: &str) -> bool {
        !self.good(Some(id)).is_empty()
    }

    /// Whether there is a login that was made with this program or with Hermes.
    pub(crate) fn has_login(&self) -> bool {
        self.good(None).iter().any(|entry| entry["auth_type"] == "oauth")
    }

    /// Lays one to rest because of a failure and gives the next.
    pub(crate) fn leave(&self, id: &str, failure: &Failure) -> Option<Picked> {
        let now = now();
        let rested = self.change(|entries| {
            let entry = entries.iter_mut().find(|entry| entry["id"] == id);
            if let Some(entry) = entry.and_then(Value::as_object_mut) {
                rest(entry, failure, now);
            }
            Ok(())
        });
        if let Err(error) = rested {
            tracing::warn!(%error, "a refused credential could not be marked");
        }
        self.first(&self.good(Some(id)))
    }

    /// The provider whose credentials these are.
    pub(super) fn provider(&self) -> &str {
        &self.provider
    }

    /// The file they stand in.
    pub(super) fn path(&self) -> &Path {
        &self.file.0
    }

    /// One of them as it stands in the file now, with its key.
    pub(super) fn entry(&self, id: &str) -> Option<Value> {
        self.usable().into_iter().find(|entry| entry["id"] == id)
    }

    /// Sets members of one of them.
    pub(super) fn store(&self, id: &str, members: &Map<String, Value>) -> Result<(), PoolError> {
        self.change(|entries| {
            let entry = entries.iter_mut().find(|entry| entry["id"] == id);
            if let Some(entry) = entry.and_then(Value::as_object_mut) {
                entry.extend(members.clone());
            }
            Ok(())
        })
    }

    /// The first one whose secret can be had.
    fn first(&self, entries: &[Value]) -> Option<Picked> {
        entries.iter().find_map(|entry| {
            let id = entry["id"].as_str().unwrap_or_default();
            let base_url = entry["base_url"]
                .as_str()
                .or_else(|| entry["inference_base_url"].as_str());
            let fetched = match login::row_of(&self.provider, entry) {
                Some(row) => {
                    login::key_of(row, entry).ok_or_else(|| "nothing of the login is stored".to_owned())
                }
                None => secret::fetch(entry),
            };
            match fetched {
                Ok(key) => Some(Picked {
                    id: id.to_owned(),
                    key: SecretString::from(key),
                    base_url: base_url.filter(|url| !url.is_empty()).map(str::to_owned),
                }),
                Err(why) => {
                    tracing::warn!("the credential {id} cannot be used: {why}");
                    None
                }
            }
        })
    }

    fn count(&self, id: &str) {
        let counted = self.change(|entries| {
            if let Some(entry) = entries.iter_mut().find(|entry| entry["id"] == id) {
                entry["request_count"] = (entry["request_count"].as_u64().unwrap_or(0) + 1).into();
            }
            Ok(())
        });
        if let Err(error) = counted {
            tracing::debug!(%error, "the use of a credential could not be counted");
        }
    }

    /// Those that neither rest nor are dead, first one first, without `except`.
    fn good(&self, except: Option<&str>) -> Vec<Value> {
        let now = now();
        let mut entries = self.usable();
        entries
            .retain(|entry| except.is_none_or(|id| entry["id"] != id) && listed(entry, now).status == "ok");
        entries
    }

    /// Those that rest, the one that is good again first in the first place.
    fn resting(&self) -> Vec<Value> {
        let now = now();
        let until = |entry: &Value| listed(entry, now).rests_until;
        let mut entries = self.usable();
        entries.retain(|entry| until(entry).is_some());
        entries.sort_by(|a, b| {
            until(a)
                .partial_cmp(&until(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        entries
    }

    fn usable(&self) -> Vec<Value> {
        let document = self.file.read().unwrap_or_else(|error| {
            tracing::warn!(%error, "the credential pool is left alone");
            Value::Null
        });
        let mut entries = self.entries(&document);
        entries.retain(secret::may_have);
        entries
    }

    /// Those of the file, then those of the environment.
    fn entries(&self, document: &Value) -> Vec<Value> {
        let mut entries = document[POOLS][self.provider.as_str()]
            .as_array()
            .cloned()
            .unwrap_or_default();
        entries.sort_by_key(|entry| entry["priority"].as_i64().unwrap_or(i64::MAX));
        entries.iter_mut().for_each(|entry| self.fill(entry));
        for (name, key) in &self.environment {
            if !entries.iter().any(|entry| variable(entry) == Some(name)) {
                let source = format!("env:{name}");
                entries.push(json!({
                    "id": source, "label": name, "auth_type": "api_key", "source": source,
                    "access_token": key.expose_secret(), "key_fingerprint": fingerprint(key),
                }));
            }
        }
        entries
    }

    /// Gives an entry of the environment its key. What was remembered of another key does not hold for it.
    fn fill(&self, entry: &mut Value) {
        let Some(name) = variable(entry).map(str::to_owned) else {
            return;
        };
        let Some(entry) = entry.as_object_mut() else {
            return;
        };
        let Some(key) = self.value_of(&name) else {
            entry.insert("access_token".to_owned(), Value::Null);
            return;
        };
        let now = fingerprint(key);
        let of_stored = || {
            let stored = entry.get("access_token").and_then(Value::as_str)?;
            Some(fingerprint(&SecretString::from(stored)))
        };
        let before = entry
            .get("key_fingerprint")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if before.or_else(of_stored).is_some_and(|before| before != now) {
            forget(entry);
        }
        entry.insert("access_token".to_owned(), key.expose_secret().into());
        entry.insert("key_fingerprint".to_owned(), now.into());
    }

    fn value_of(&self, name: &str) -> Option<&SecretString> {
        let (_, key) = self.environment.iter().find(|(known, _)| known == name)?;
        Some(key)
    }

    /// Changes the entries of this provider. Keys of the environment stay out of the file, and so does an
    /// entry of theirs that says nothing.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Value>) -> Result<T, PoolError>,
    ) -> Result<T, PoolError> {
        self.file.change(|document| {
            let mut entries = self.entries(document);
            let result = change(&mut entries)?;
            entries.retain_mut(|entry| {
                if variable(entry).is_none() {
                    return true;
                }
                entry["access_token"] = Value::Null;
                entry["last_status"].is_string()
                    || entry["request_count"].as_u64().is_some_and(|count| count > 0)
            });
            document[POOLS][self.provider.as_str()] = Value::Array(entries);
            Ok(result)
        })
    }
}

/// The variable that holds an entry's secret.
pub(super) fn variable(entry: &Value) -> Option<&str> {
    entry["source"].as_str()?.strip_prefix("env:")
}

/// Tells one key from another without giving either away.
fn fingerprint(key: &SecretString) -> String {
    let hash = Sha256::digest(key.expose_secret().trim().as_bytes());
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

fn now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// Which one of a handful it is need not be unforeseeable.
fn subsecond() -> usize {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.subsec_micros() as usize)
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
