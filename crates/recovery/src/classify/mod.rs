//! From what an adapter saw to one [`Failure`] with its kind, numbers and waits.
//!
//! This is the only place where the text of an error is looked at. An adapter
//! passes facts (status, headers, body, what the transport said) and nothing
//! else, so that one body means the same from every wire. The tables of
//! `patterns` say which words mean what; the order in which they are asked
//! stands in `kind`.

mod envelope;
mod html;
mod kind;
mod limits;
mod parameter;
pub(crate) mod patterns;
mod python;
mod retry;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use talaria_types::{ErrorKind, Timestamp};

use crate::{Failure, Partial, Phase, RequestFacts, Symptom};
use envelope::Envelope;

/// What is kept of a body, in bytes.
const BODY: usize = 64 * 1024;
/// What is looked at of a text, in characters: a sentence, not an echoed prompt.
const READ: usize = 6_000;
/// What is shown of a transport's or adapter's words, in characters.
const SHOWN: usize = 2_000;

/// What an adapter or the HTTP driver saw when a call failed: facts, no opinion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawFailure {
    /// How far the call had come.
    pub phase: Phase,
    /// HTTP status, when there was an answer; 200 for an error inside a stream.
    pub status: Option<u16>,
    /// Response headers, names in any case.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The response body, or the data of the event that said no; at most 64 KiB of it.
    #[serde(default)]
    pub body: String,
    /// What the transport did, when it is at fault.
    #[serde(default)]
    pub transport: Option<Transport>,
    /// The transport's words, or an adapter's own about an invalid answer.
    #[serde(default)]
    pub text: String,
    /// What the request carried.
    #[serde(default)]
    pub request: RequestFacts,
    /// What had been streamed before it broke.
    #[serde(default)]
    pub partial: Option<Partial>,
    /// How long the call had taken, in milliseconds.
    #[serde(default)]
    pub elapsed_ms: u64,
    /// Now; needed only where the server names a date and sends no `Date` header.
    #[serde(default)]
    pub now: Option<Timestamp>,
}

/// What the transport did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The host's name could not be resolved.
    Dns,
    /// The connection was refused or could not be made.
    Connect,
    /// The server's certificate could not be verified.
    Certificate,
    /// Another failure of TLS.
    Tls,
    /// No connection in time.
    ConnectTimeout,
    /// No answer in time.
    ReadTimeout,
    /// The stream said nothing for too long and was cut from this side.
    Stalled,
    /// The connection was reset or closed.
    Closed,
    /// The stream ended properly, but before the answer did.
    Cut,
    /// The answer arrived and is not valid in its protocol.
    Invalid,
    /// A header's value, such as a key, is not ASCII.
    HeaderNotAscii,
    /// The request's text is not Unicode.
    BodyNotUnicode,
    /// The person stopped it.
    Cancelled,
    /// Something else.
    Other,
}

impl RawFailure {
    /// A failure in this phase about which nothing else is known yet.
    pub fn new(phase: Phase) -> Self {
        Self {
            phase,
            status: None,
            headers: Vec::new(),
            body: String::new(),
            transport: None,
            text: String::new(),
            request: RequestFacts::default(),
            partial: None,
            elapsed_ms: 0,
            now: None,
        }
    }

    /// The server answered with a status other than success.
    pub fn status(status: u16, headers: Vec<(String, String)>, body: impl Into<String>) -> Self {
        Self {
            status: Some(status),
            headers,
            body: body.into(),
            ..Self::new(Phase::Status)
        }
    }

    /// The transport failed before or during the answer.
    pub fn transport(phase: Phase, transport: Transport, text: impl Into<String>) -> Self {
        Self {
            transport: Some(transport),
            text: text.into(),
            ..Self::new(phase)
        }
    }

    /// An error object inside an answer that began with a success status.
    pub fn in_body(body: impl Into<String>) -> Self {
        Self {
            status: Some(200),
            body: body.into(),
            ..Self::new(Phase::Body)
        }
    }

    /// An answer that is not valid in its protocol, and why.
    pub fn invalid(why: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            status: Some(200),
            transport: Some(Transport::Invalid),
            text: why.into(),
            body: body.into(),
            ..Self::new(Phase::Answer)
        }
    }
}

/// Gives a failure its kind and reads everything its text states. Total and pure.
///
/// Secrets are masked by the caller before; nothing is masked here.
pub fn classify(raw: &RawFailure) -> Failure {
    let envelope = Envelope::read(&raw.body);
    let text = words(raw, &envelope);
    let lower = text.to_lowercase();
    let reading = limits::read(&lower, &envelope, &raw.request);
    let refused = parameter::read(&text, &envelope);
    let status = match raw.status {
        Some(status) if status >= 400 => Some(status),
        _ => envelope.status,
    };
    let seen = kind::Seen {
        raw,
        envelope: &envelope,
        lower: &lower,
        reading,
        refused: refused.as_ref(),
        status,
    };
    let (kind, symptom) = kind::of(&seen);
    let wait = retry::read(&retry::Headers(&raw.headers), &envelope, &lower, raw.now);

    let mut failure = Failure::new(kind, raw.phase, message(raw, &envelope));
    failure.status = status;
    failure.code = envelope
        .codes
        .iter()
        .rev()
        .find(|code| code.parse::<u32>().is_err())
        .cloned();
    failure.code = failure.code.or_else(|| envelope.codes.last().cloned());
    failure.body = cut(&raw.body, BODY).to_owned();
    failure.limits = reading.limits;
    failure.symptom =
        symptom.or((kind == ErrorKind::RateLimit && long_and_empty(wait)).then_some(Symptom::BucketEmpty));
    failure.retry_after_ms = wait
        .ms
        .filter(|_| symptom != Some(Symptom::QuotaSpent) || !lower.contains("perday"));
    if kind == ErrorKind::UnsupportedParameter || kind == ErrorKind::OutputCap {
        failure.parameter = refused
            .as_ref()
            .map(|refused| refused.name.clone())
            .or(envelope.parameter);
        failure.replacement = refused.and_then(|refused| refused.replacement);
    }
    failure.request = raw.request;
    failure.partial = raw.partial.clone();
    failure
}

/// A bucket that stays empty for a minute or more is not worth polling.
fn long_and_empty(wait: retry::Wait) -> bool {
    wait.bucket_empty && wait.ms.is_some_and(|ms| ms >= 60_000)
}

/// All words that may say what it is.
fn words(raw: &RawFailure, envelope: &Envelope) -> String {
    let own = (!raw.text.is_empty()).then_some(&raw.text);
    let all = envelope
        .messages
        .iter()
        .chain(own)
        .chain(&envelope.codes)
        .chain(&envelope.reasons);
    all.map(|text| envelope::shorten(text, READ))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What a person is told, never empty.
fn message(raw: &RawFailure, envelope: &Envelope) -> String {
    let own = envelope::shorten(raw.text.trim(), SHOWN);
    // An answer that is none has no message of its own; the adapter says what is wrong with it.
    if raw.transport == Some(Transport::Invalid) && !envelope.is_error && !own.is_empty() {
        return match envelope.messages.first() {
            Some(text) => format!("{own}: {}", envelope::shorten(text, 200)),
            None => own,
        };
    }
    match (envelope.message(), raw.status) {
        (Some(message), _) => message,
        (None, _) if !own.is_empty() => own,
        (None, Some(status)) => format!("the server answered {status} without a text"),
        (None, None) => "the call failed without a text".to_owned(),
    }
}

fn cut(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
