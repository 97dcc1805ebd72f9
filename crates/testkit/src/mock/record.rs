//! What was asked: one record a request, kept for the test and written to the log.

use crate::mock::request::{Api, ModelCall, TaskKind, list, role, text_of};
use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{fmt::Write as _, io};

/// One request to the scripted model server.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Its number, from 1.
    pub seq: u64,
    /// The label that was set when it came.
    pub mark: String,
    /// The client's own cursor.
    pub key: String,
    /// `GET`, `POST`, …
    pub method: String,
    /// The path without the client's key and the query.
    pub path: String,
    /// What stood behind the `?`.
    pub query: String,
    /// The protocol of a model request.
    pub api: Option<Api>,
    /// What a model request is for.
    pub task: Option<TaskKind>,
    /// It asked for a stream.
    pub stream: bool,
    /// The model it named.
    pub model: String,
    /// How it was answered: `main`, `task:summary`, `match:NAME`, `overflow`, `strict`, `models`, `404`, …
    pub kind: String,
    /// The step that answered it.
    pub step: Option<usize>,
    /// The status it got; none while it waits.
    pub status: Option<u16>,
    /// The client left before the answer was complete.
    pub gone: bool,
    /// What is wrong with it.
    pub findings: Vec<String>,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body, byte for byte.
    pub raw: Bytes,
    /// Its body as JSON.
    pub body: Value,
    /// The connection it came on, from 1.
    pub connection: u64,
    /// The how-manieth request of that connection it was.
    pub reused: u64,
    pub(crate) messages: usize,
    pub(crate) tools: usize,
    pub(crate) note: Option<String>,
    pub(crate) times: Times,
    pub(crate) sent_bytes: usize,
}

/// When things happened: seconds since the epoch, then seconds since that moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) read: f64,
    pub(crate) first: f64,
    pub(crate) end: f64,
}

impl Recorded {
    pub(crate) fn of(call: &ModelCall, seq: u64, mark: &str, connection: (u64, u64)) -> Recorded {
        Recorded {
            seq,
            mark: mark.to_owned(),
            key: call.key.clone(),
            method: call.method.clone(),
            path: call.path.clone(),
            query: call.query.clone(),
            api: call.api,
            task: call.api.map(|_| call.task),
            stream: call.stream,
            model: call.model.clone(),
            kind: String::new(),
            step: None,
            status: None,
            gone: false,
            findings: Vec::new(),
            headers: call.headers.clone(),
            raw: call.raw.clone(),
            body: call.body.clone().unwrap_or_default(),
            connection: connection.0,
            reused: connection.1,
            messages: call.messages,
            tools: call.tools.len(),
            note: None,
            times: Times::default(),
            sent_bytes: 0,
        }
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The messages of a chat or messages request, as they were sent.
    pub fn messages(&self) -> &[Value] {
        list(&self.body, "messages")
    }

    /// The texts of the messages of one role.
    pub fn texts(&self, wanted: &str) -> Vec<String> {
        let of_role = self.messages().iter().filter(|message| role(message) == wanted);
        of_role.map(|message| text_of(&message["content"])).collect()
    }

    /// Whether any byte of the body says this.
    pub fn says(&self, text: &str) -> bool {
        let escaped = Value::from(text).to_string();
        let escaped = escaped.trim_matches('"');
        let raw = String::from_utf8_lossy(&self.raw);
        raw.contains(text) || raw.contains(escaped)
    }

    /// Writes the record as one line of JSON, secrets of its headers masked, the body byte for byte.
    pub(crate) fn write(&self, log: &mut impl io::Write) -> io::Result<()> {
        let headers: serde_json::Map<String, Value> = self
            .headers
            .iter()
            .map(|(name, value)| {
                (
                    name.clone(),
                    if is_secret(name) {
                        json!(masked(value))
                    } else {
                        json!(value)
                    },
                )
            })
            .collect();
        let Times { read, first, end } = self.times;
        let mut line = json!({
            "seq": self.seq, "mark": self.mark, "key": self.key, "t0": read, "t_first": first, "t_end": end,
            "method": self.method, "path": self.path, "query": without_key(&self.query),
            "api": self.api.map_or("", Api::as_str), "stream": self.stream, "status": self.status.unwrap_or(0),
            "kind": self.kind, "step": self.step, "model": self.model, "n_messages": self.messages,
            "n_tools": self.tools, "body_bytes": self.raw.len(), "wire_bytes": self.raw.len(),
            "resp_bytes": self.sent_bytes, "gone": self.gone, "conn": self.connection, "reused": self.reused,
            "headers": headers,
        });
        if let Some(note) = &self.note {
            line["note"] = json!(note);
        }
        if let Some(task) = self.task {
            line["task"] = json!(task.as_str());
        }
        if !self.findings.is_empty() {
            line["findings"] = json!(self.findings);
        }
        let mut text = line.to_string();
        text.pop();
        log.write_all(text.as_bytes())?;
        log.write_all(b", \"body\": ")?;
        self.write_body(log)?;
        log.write_all(b"}\n")?;
        log.flush()
    }

    fn write_body(&self, log: &mut impl io::Write) -> io::Result<()> {
        let one_line = !self.raw.iter().any(|byte| matches!(byte, b'\n' | b'\r'));
        if self.raw.is_empty() {
            log.write_all(b"null")
        } else if !self.body.is_null() && one_line {
            log.write_all(&self.raw)
        } else if !self.body.is_null() {
            log.write_all(self.body.to_string().as_bytes())
        } else {
            log.write_all(json!(String::from_utf8_lossy(&self.raw)).to_string().as_bytes())
        }
    }
}

fn is_secret(header: &str) -> bool {
    const SECRET: &[&str] = &[
        "authorization",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "cookie",
        "proxy-authorization",
    ];
    SECRET.contains(&header)
}

/// The scheme, the first four characters, the length and eight digits of the hash: enough to tell two keys apart.
fn masked(value: &str) -> String {
    let (scheme, secret) = value
        .split_once(' ')
        .map_or(("", value), |(scheme, rest)| (scheme, rest));
    let head: String = secret.chars().take(4).collect();
    let mut hash = String::new();
    for byte in Sha256::digest(secret.as_bytes()).iter().take(4) {
        let _ = write!(hash, "{byte:02x}");
    }
    let gap = if scheme.is_empty() { "" } else { " " };
    format!("{scheme}{gap}{head}…({}:{hash})", secret.chars().count())
}

fn without_key(query: &str) -> String {
    let parts = query
        .split('&')
        .map(|part| if part.starts_with("key=") { "key=…" } else { part });
    parts.collect::<Vec<_>>().join("&")
}
