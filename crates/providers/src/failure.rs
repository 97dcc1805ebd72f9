//! Turns what the driver saw into a [`Failure`]: the one place that asks the classifier.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use talaria_recovery::{Failure, Partial, Phase, RawFailure, RequestFacts, Transport, classify};
use talaria_redact::KnownSecrets;
use talaria_types::Timestamp;

use crate::wire::WireError;

/// The most bytes of an error's body that are kept.
pub(crate) const BODY_LIMIT: usize = 64 * 1024;

/// What is the same for every failure of one call.
pub(crate) struct Context<'a> {
    /// What the request carried.
    pub(crate) facts: RequestFacts,
    /// The credential, to be masked wherever a server repeats it.
    pub(crate) key: Option<&'a SecretString>,
}

impl Context<'_> {
    /// Gives a failure its kind, with secrets masked first.
    pub(crate) fn classify(&self, raw: RawFailure, partial: Option<Partial>, elapsed: Duration) -> Failure {
        let known = KnownSecrets::new(self.key.map(|key| key.expose_secret().to_owned()));
        let mask = |text: &str| talaria_redact::redact_output(&known.mask(text)).into_owned();
        let kept = RawFailure {
            body: mask(cap(&raw.body)),
            text: mask(&raw.text),
            request: self.facts,
            partial: partial.filter(|partial| *partial != Partial::default()),
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            now: now(),
            ..raw
        };
        classify(&kept)
    }
}

/// An answer's error as the classifier wants it.
pub(crate) fn of_wire(error: WireError) -> Box<RawFailure> {
    Box::new(match error {
        WireError::Refused { body } => RawFailure::in_body(body),
        WireError::Invalid { why, body } => RawFailure::invalid(why, body),
        WireError::Cut => RawFailure {
            status: Some(200),
            ..RawFailure::transport(
                Phase::Body,
                Transport::Cut,
                "the stream ended before the answer did",
            )
        },
    })
}

/// What the transport did, read from the library's error.
pub(crate) fn of_transport(phase: Phase, error: reqwest::Error) -> Box<RawFailure> {
    let transport = transport_of(&error);
    Box::new(RawFailure::transport(phase, transport, words_of(error)))
}

fn transport_of(error: &reqwest::Error) -> Transport {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    let mut named_dns = false;
    while let Some(cause) = source {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return tls_kind(tls);
        }
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            if let Some(tls) = io
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>())
            {
                return tls_kind(tls);
            }
            if !error.is_timeout()
                && matches!(
                    io.kind(),
                    std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe
                )
            {
                return Transport::Closed;
            }
        }
        // The connector has no type of its own for this.
        named_dns |= cause.to_string().starts_with("dns error");
        source = cause.source();
    }
    match (error.is_connect(), error.is_timeout()) {
        (true, true) => Transport::ConnectTimeout,
        (true, false) if named_dns => Transport::Dns,
        (true, false) => Transport::Connect,
        (false, true) => Transport::ReadTimeout,
        (false, false) if error.is_builder() => Transport::Other,
        (false, false) => Transport::Closed,
    }
}

fn tls_kind(error: &rustls::Error) -> Transport {
    match error {
        rustls::Error::InvalidCertificate(_) => Transport::Certificate,
        _ => Transport::Tls,
    }
}

/// The error and its causes in one line, without the address (which may hold a key).
fn words_of(error: reqwest::Error) -> String {
    // Host and port hold no key.
    let place = error.url().filter(|_| error.is_connect()).and_then(|url| {
        let port = url.port_or_known_default()?;
        Some(format!("cannot connect to {}:{port}", url.host_str()?))
    });
    let error = error.without_url();
    let mut words = place.unwrap_or_else(|| error.to_string());
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        let more = cause.to_string();
        if !words.ends_with(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        source = cause.source();
    }
    words
}

fn cap(body: &str) -> &str {
    let end = (0..=BODY_LIMIT.min(body.len()))
        .rev()
        .find(|at| body.is_char_boundary(*at));
    &body[..end.unwrap_or(0)]
}

fn now() -> Option<Timestamp> {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    Some(Timestamp(since.as_secs_f64()))
}
