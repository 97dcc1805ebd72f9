//! Writes down what goes over the wire, for finding out why a server and this program disagree.
//!
//! One JSON object a line: each request as it is sent, each answer as it came.
//! Keys and everything that looks like a secret are masked before anything is
//! written; the file is its owner's alone.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};
use talaria_redact::KnownSecrets;

/// The most bytes of one answer that are written down.
const ANSWER_LIMIT: usize = 4 * 1024 * 1024;

/// The file in which calls are written down.
#[derive(Debug)]
pub struct HttpLog {
    file: Mutex<File>,
    calls: AtomicU64,
}

impl HttpLog {
    /// Opens the file; what is in it stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        Ok(Self {
            file: Mutex::new(options.open(path)?),
            calls: AtomicU64::new(0),
        })
    }

    /// Writes a request down and opens the record of its answer.
    pub(crate) fn request<'a>(
        &'a self,
        url: &str,
        headers: &HeaderMap,
        body: &[u8],
        key: Option<&SecretString>,
    ) -> Exchange<'a> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        let exchange = Exchange {
            log: self,
            number,
            known: KnownSecrets::new(key.map(|key| key.expose_secret().to_owned())),
            answer: Mutex::new(Vec::new()),
        };
        exchange.write(
            "request",
            &json!({
                "method": "POST", "url": exchange.mask(url), "headers": exchange.headers(headers),
                "body": exchange.body(body),
            }),
        );
        exchange
    }
}

/// One call that is being written down; its answer's body follows when this is dropped.
pub(crate) struct Exchange<'a> {
    log: &'a HttpLog,
    number: u64,
    known: KnownSecrets,
    answer: Mutex<Vec<u8>>,
}

impl Exchange<'_> {
    /// The server has answered.
    pub(crate) fn response(&self, status: u16, headers: &HeaderMap) {
        self.write(
            "response",
            &json!({"status": status, "headers": self.headers(headers)}),
        );
    }

    /// There is no answer.
    pub(crate) fn failed(&self, why: &str) {
        self.write("failed", &json!({"why": self.mask(why)}));
    }

    /// A piece of the answer's body.
    pub(crate) fn chunk(&self, bytes: &[u8]) {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let room = ANSWER_LIMIT.saturating_sub(answer.len());
        answer.extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }

    fn mask(&self, text: &str) -> String {
        talaria_redact::redact(&self.known.mask(text)).into_owned()
    }

    /// Headers by name; the ones that carry a credential as `***`.
    fn headers(&self, headers: &HeaderMap) -> Value {
        let shown = headers.iter().map(|(name, value)| {
            let secret =
                value.is_sensitive() || matches!(name.as_str(), "set-cookie" | "authorization" | "x-api-key");
            let text = if secret {
                "***".to_owned()
            } else {
                self.mask(&String::from_utf8_lossy(value.as_bytes()))
            };
            (name.as_str().to_owned(), Value::String(text))
        });
        Value::Object(shown.collect::<Map<_, _>>())
    }

    /// A body: as JSON where it is some, else as text.
    fn body(&self, body: &[u8]) -> Value {
        let masked = self.mask(&String::from_utf8_lossy(body));
        serde_json::from_str(&masked).unwrap_or(Value::String(masked))
    }

    fn write(&self, what: &str, content: &Value) {
        let at = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |since| since.as_secs_f64());
        let line = format!("{}\n", json!({"at": at, "call": self.number, what: content}));
        let mut file = self.log.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "a call could not be written down");
        }
    }
}

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        let answer = std::mem::take(&mut *self.answer.lock().unwrap_or_else(PoisonError::into_inner));
        if !answer.is_empty() {
            let body = self.body(&answer);
            self.write("body", &body);
        }
    }
}
