//! Several credentials of one provider, and which of them is good now.
//!
//! They stand in `auth.json`, shared with Hermes: the list
//! `credential_pool.<provider>`. One that was refused or is spent rests, for a
//! time that depends on why; one that was revoked is dead. Both are written to
//! the file, so that the next process does not try them first. Members this
//! program does not know are kept.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use secrecy::SecretString;
use serde_json::{Map, Value, json};
use talaria_recovery::Failure;
use talaria_types::ErrorKind;

const POOLS: &str = "credential_pool";
/// A refused key may be good again soon: a clock, a new subscription.
const REFUSED_REST: f64 = 300.0;
/// A limit or an empty balance lasts longer, unless the provider says how long.
const SPENT_REST: f64 = 3_600.0;

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

/// A credential as it is shown: never with its secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// What the user calls it.
    pub label: String,
    /// `api_key` or `oauth`.
    pub auth_type: String,
    /// Where it comes from: `manual`, `env:NAME`, …
    pub source: String,
    /// `ok`, `exhausted` or `dead`.
    pub status: String,
    /// Until when it rests, in seconds since the epoch.
    pub rests_until: Option<f64>,
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
    file: PathBuf,
    provider: String,
    strategy: Strategy,
}

impl CredentialPool {
    /// The pool of a provider in a file, which need not exist.
    pub fn new(file: impl Into<PathBuf>, provider: impl Into<String>, strategy: Strategy) -> Self {
        Self {
            file: file.into(),
            provider: provider.into(),
            strategy,
        }
    }

    /// All of them, in order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, PoolError> {
        let now = now();
        let document = read(&self.file)?;
        Ok(self
            .entries(&document)
            .iter()
            .map(|entry| listed(entry, now))
            .collect())
    }

    /// Adds a key behind the others.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn add(&self, label: &str, key: &str) -> Result<String, PoolError> {
        self.change(|entries| {
            let taken: Vec<&str> = entries.iter().filter_map(|entry| entry["id"].as_str()).collect();
            let id = (1..)
                .map(|number| format!("key{number}"))
                .find(|id| !taken.contains(&id.as_str()));
            let id = id.unwrap_or_default();
            let priority = entries.len();
            entries.push(json!({
                "id": id, "label": label, "auth_type": "api_key", "priority": priority, "source": "manual",
                "access_token": key, "last_status": null, "request_count": 0,
            }));
            Ok(id)
        })
    }

    /// Removes one by its id, its label, or its place counted from 1.
    ///
    /// # Errors
    /// When there is none, or the file cannot be read or written.
    pub fn remove(&self, target: &str) -> Result<(), PoolError> {
        self.change(|entries| {
            let named = |entry: &Value| entry["id"] == target || entry["label"] == target;
            let by_name = entries.iter().position(named);
            let by_place = || {
                target
                    .parse::<usize>()
                    .ok()?
                    .checked_sub(1)
                    .filter(|place| *place < entries.len())
            };
            let place = by_name.or_else(by_place).ok_or_else(|| PoolError::NoEntry {
                provider: self.provider.clone(),
                target: target.to_owned(),
            })?;
            entries.remove(place);
            Ok(())
        })
    }

    /// Forgets that any of them rests or is dead.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn reset(&self) -> Result<(), PoolError> {
        self.change(|entries| {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                forget(entry);
            }
            Ok(())
        })
    }

    /// The one to use now.
    pub(crate) fn pick(&self) -> Option<Picked> {
        let entries = self.good(None);
        let chosen = match self.strategy {
            Strategy::FillFirst => entries.first(),
            Strategy::Random => entries.get(subsecond() % entries.len().max(1)),
            Strategy::RoundRobin | Strategy::LeastUsed => entries
                .iter()
                .min_by_key(|entry| entry["request_count"].as_u64().unwrap_or(0)),
        }?;
        let picked = picked(chosen)?;
        if self.strategy != Strategy::FillFirst {
            self.count(&picked.id);
        }
        Some(picked)
    }

    /// Whether another one than this could be used.
    pub(crate) fn has_other(&self, id: &str) -> bool {
        !self.good(Some(id)).is_empty()
    }

    /// Lays one to rest because of a failure and gives the next.
    pub(crate) fn leave(&self, id: &str, failure: &Failure) -> Option<Picked> {
        let now = now();
        let rested = self.change(|entries| {
            if let Some(entry) = entries
                .iter_mut()
                .find(|entry| entry["id"] == id)
                .and_then(Value::as_object_mut)
            {
                rest(entry, failure, now);
            }
            Ok(())
        });
        if let Err(error) = rested {
            tracing::warn!(%error, "a refused credential could not be marked");
        }
        self.good(Some(id)).first().and_then(picked)
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
        let document = match read(&self.file) {
            Ok(document) => document,
            Err(error) => {
                tracing::warn!(%error, "the credential pool is left alone");
                return Vec::new();
            }
        };
        let mut entries = self.entries(&document);
        entries
            .retain(|entry| except.is_none_or(|id| entry["id"] != id) && listed(entry, now).status == "ok");
        entries.retain(|entry| picked(entry).is_some());
        entries
    }

    fn entries(&self, document: &Value) -> Vec<Value> {
        let mut entries = document[POOLS][self.provider.as_str()]
            .as_array()
            .cloned()
            .unwrap_or_default();
        entries.sort_by_key(|entry| entry["priority"].as_i64().unwrap_or(i64::MAX));
        entries
    }

    /// Reads, changes and writes the file while no other process does.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<Value>) -> Result<T, PoolError>,
    ) -> Result<T, PoolError> {
        let fail = |source| PoolError::File {
            path: self.file.display().to_string(),
            source,
        };
        let lock = File::create(self.file.with_extension("lock")).map_err(fail)?;
        lock.lock().map_err(fail)?;
        let mut document = read(&self.file)?;
        let mut entries = self.entries(&document);
        let result = change(&mut entries)?;
        document[POOLS][self.provider.as_str()] = Value::Array(entries);
        replace(&self.file, &document).map_err(fail)?;
        Ok(result)
    }
}

fn picked(entry: &Value) -> Option<Picked> {
    let key = entry["access_token"]
        .as_str()
        .filter(|key| !key.trim().is_empty())?;
    let base_url = entry["base_url"]
        .as_str()
        .or_else(|| entry["inference_base_url"].as_str());
    Some(Picked {
        id: entry["id"].as_str().unwrap_or_default().to_owned(),
        key: SecretString::from(key.trim().to_owned()),
        base_url: base_url.filter(|url| !url.is_empty()).map(str::to_owned),
    })
}

fn listed(entry: &Value, now: f64) -> Listed {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let until = rests_until(entry);
    let (status, rests_until) = match entry["last_status"].as_str() {
        Some("dead") => ("dead", None),
        Some("exhausted") if until.is_some_and(|until| until > now) => ("exhausted", until),
        Some(_) | None => ("ok", None),
    };
    Listed {
        id: text("id"),
        label: text("label"),
        auth_type: text("auth_type"),
        source: text("source"),
        status: status.to_owned(),
        rests_until,
    }
}

/// When a spent credential is good again: when the provider said, or after the usual time.
fn rests_until(entry: &Value) -> Option<f64> {
    let told = entry["last_error_reset_at"].as_f64();
    let usual = || {
        let rest = if entry["last_error_code"] == 401 {
            REFUSED_REST
        } else {
            SPENT_REST
        };
        Some(entry["last_status_at"].as_f64()? + rest)
    };
    told.or_else(usual)
}

fn rest(entry: &mut Map<String, Value>, failure: &Failure, now: f64) {
    let status = if failure.kind == ErrorKind::AuthPermanent {
        "dead"
    } else {
        "exhausted"
    };
    let reset = failure.retry_after_ms.map(|ms| now + ms as f64 / 1_000.0);
    // A wait of seconds is over before it matters which key is used.
    let reset = reset.filter(|_| failure.retry_after_ms.is_some_and(|ms| ms >= 60_000));
    let message: String = failure.message.chars().take(200).collect();
    for (name, value) in [
        ("last_status", json!(status)),
        ("last_status_at", json!(now)),
        ("last_error_code", json!(failure.status)),
        ("last_error_reason", json!(failure.kind)),
        ("last_error_message", json!(message)),
        ("last_error_reset_at", json!(reset)),
    ] {
        entry.insert(name.to_owned(), value);
    }
}

fn forget(entry: &mut Map<String, Value>) {
    let names = [
        "last_status",
        "last_status_at",
        "last_error_code",
        "last_error_reason",
        "last_error_message",
        "last_error_reset_at",
    ];
    for name in names {
        if let Some(value) = entry.get_mut(name) {
            *value = Value::Null;
        }
    }
}

fn read(file: &Path) -> Result<Value, PoolError> {
    let path = || file.display().to_string();
    let text = match std::fs::read_to_string(file) {
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
