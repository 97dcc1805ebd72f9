//! From what an adapter saw to one [`Failure`] with its kind, numbers and waits.
//!
//! This is the only place where the text of an error is looked at. An adapter
//! passes facts (status, headers, body, what the transport said) and nothing
//! else, so that one body means the same from every wire. The tables of
//! [`patterns`] say which words mean what; the order in which they are asked
//! stands in `kind`.

use serde::{Deserialize, Serialize};
use talaria_types::{ErrorKind, Timestamp};

use crate::{Failure, Partial, Phase, RequestFacts};

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
    let mut failure = Failure::new(ErrorKind::Unknown, raw.phase, raw.body.clone());
    failure.status = raw.status;
    failure
}
