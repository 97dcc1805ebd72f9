//! One credential as it stands in the file: how it is shown, laid to rest and woken.

use serde_json::{Map, Value, json};
use talaria_recovery::Failure;
use talaria_types::ErrorKind;

/// A refused key may be good again soon: a clock, a new subscription.
pub(super) const REFUSED_REST: f64 = 300.0;
/// A limit or an empty balance lasts longer, unless the provider says how long.
const SPENT_REST: f64 = 3_600.0;

/// A credential as it is shown: never with its secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// What the user calls it.
    pub label: String,
    /// `api_key` or `oauth`.
    pub auth_type: String,
    /// Where its secret comes from: `manual`, `env:NAME`, `file:PATH`, `command:…`, `keyring:NAME`.
    pub source: String,
    /// `ok`, `exhausted` or `dead`.
    pub status: String,
    /// Until when it rests, in seconds since the epoch.
    pub rests_until: Option<f64>,
    /// What the provider said when it was laid to rest.
    pub why: Option<String>,
}

pub(super) fn listed(entry: &Value, now: f64) -> Listed {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let until = rests_until(entry);
    let (status, rests_until) = match entry["last_status"].as_str() {
        Some("dead") => ("dead", None),
        Some("exhausted") if until.is_some_and(|until| until > now) => ("exhausted", until),
        Some(_) | None => ("ok", None),
    };
    let why = entry["last_error_message"].as_str().filter(|_| status != "ok");
    Listed {
        id: text("id"),
        label: text("label"),
        auth_type: text("auth_type"),
        source: text("source"),
        status: status.to_owned(),
        rests_until,
        why: why.map(str::to_owned),
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

/// Marks it as spent, refused or dead because of a failure.
pub(super) fn rest(entry: &mut Map<String, Value>, failure: &Failure, now: f64) {
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

/// Forgets that it rests or is dead.
pub(super) fn forget(entry: &mut Map<String, Value>) {
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
