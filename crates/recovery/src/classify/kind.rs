//! The order in which a failure is asked what it is.
//!
//! First what the transport knows for sure, then words that mean one thing
//! whatever the status, then the status, whose range of meanings is narrowed by
//! words, then codes and words alone. The first answer counts.

use talaria_types::ErrorKind;

use super::envelope::Envelope;
use super::limits::{About, Reading};
use super::parameter::Refused;
use super::{RawFailure, Transport, patterns};
use crate::{Phase, Symptom};

/// Everything the questions look at.
pub(super) struct Seen<'a> {
    pub(super) raw: &'a RawFailure,
    pub(super) envelope: &'a Envelope,
    /// Messages and codes, lower case.
    pub(super) lower: &'a str,
    pub(super) reading: Reading,
    pub(super) refused: Option<&'a Refused>,
    /// The status that counts: the answer's, or for an error in its body the one named there.
    pub(super) status: Option<u16>,
}

/// A kind and what is known beyond it.
pub(super) type Verdict = (ErrorKind, Option<Symptom>);

/// One question.
#[derive(Clone, Copy)]
enum Ask {
    /// Do the patterns of this kind fit?
    Words(ErrorKind),
    /// Do the patterns of this kind that carry a symptom fit?
    Symptoms(ErrorKind),
    /// Does a code say it?
    Code,
    /// Do the numbers say that the prompt, or the output asked for, is too much?
    Numbers,
    /// Is a parameter refused?
    Parameter,
    /// Is only text taken in tool results, and does the request carry more?
    ToolContent,
    /// Is the error from behind an aggregator?
    Upstream,
}

use Ask::{Code, Numbers, Parameter, Symptoms, ToolContent, Upstream, Words};
use ErrorKind as K;

/// Words that mean one thing whatever the status is.
const ANYWHERE: &[Ask] = &[
    Words(K::ContentPolicyBlocked),
    Words(K::ThinkingSignature),
    Words(K::InvalidEncryptedContent),
    Words(K::LongContextTier),
    Words(K::OauthLongContextBetaForbidden),
    Words(K::LlamaCppGrammarPattern),
];

/// What a server may mean by calling a request wrong (400, 422, or an error without a status).
const REQUEST: &[Ask] = &[
    Symptoms(K::FormatError),
    Words(K::Surrogates),
    ToolContent,
    Words(K::ImageRejected),
    Words(K::ImageTooLarge),
    Words(K::StreamingUnsupported),
    Words(K::OutputCap),
    Parameter,
    Words(K::ServerError),
    Words(K::Billing),
    Symptoms(K::RateLimit),
    Numbers,
    Words(K::PayloadTooLarge),
    Words(K::ProviderPolicyBlocked),
];

/// What is asked of a wrong request after that.
const REQUEST_REST: &[Ask] = &[
    Words(K::FormatError),
    Words(K::ContextOverflow),
    Words(K::AuthPermanent),
    Words(K::Auth),
    Words(K::ModelNotFound),
    Words(K::Overloaded),
    Code,
];

const FORBIDDEN: &[Ask] = &[
    Words(K::Billing),
    Symptoms(K::RateLimit),
    Words(K::RateLimit),
    Words(K::AuthPermanent),
    Words(K::ProviderPolicyBlocked),
    Words(K::ModelNotFound),
];

const NOT_FOUND: &[Ask] = &[
    Words(K::Billing),
    Words(K::ProviderPolicyBlocked),
    Words(K::ImageRejected),
    Words(K::ModelNotFound),
];

const TOO_LARGE: &[Ask] = &[Words(K::ImageTooLarge), Numbers, Words(K::ContextOverflow)];

const TOO_MANY: &[Ask] = &[
    Words(K::PayloadTooLarge),
    Words(K::Billing),
    Words(K::Overloaded),
    Symptoms(K::RateLimit),
    Upstream,
    Code,
];

const AT_FAULT: &[Ask] = &[
    Words(K::ImageRejected),
    Words(K::Surrogates),
    Words(K::ServerError),
    Numbers,
    Words(K::ContextOverflow),
    Words(K::FormatError),
    Words(K::Billing),
];

/// What is asked when there is no status, before the transport is blamed.
const WORDS_ALONE: &[Ask] = &[
    Code,
    Words(K::PayloadTooLarge),
    Words(K::Overloaded),
    Words(K::RateLimit),
    Words(K::ContextOverflow),
    Words(K::AuthPermanent),
    Words(K::Auth),
    Words(K::ModelNotFound),
    Words(K::FormatError),
    Words(K::SslCertVerification),
    Words(K::Timeout),
];

/// What a failure is.
pub(super) fn of(seen: &Seen<'_>) -> Verdict {
    if let Some(verdict) = certain(seen).or_else(|| elsewhere(seen)) {
        return verdict;
    }
    // 401 and 402 are about keys and money whatever else is said beside.
    if !matches!(seen.status, Some(401 | 402))
        && let Some(verdict) = first(ANYWHERE, seen)
    {
        return verdict;
    }
    match seen.status {
        Some(status) => by_status(status, seen),
        None => by_words(seen),
    }
}

/// Facts of the transport that need no words.
fn certain(seen: &Seen<'_>) -> Option<Verdict> {
    match seen.raw.transport? {
        Transport::Cancelled => Some((K::Interrupted, None)),
        Transport::Certificate => Some((K::SslCertVerification, None)),
        Transport::HeaderNotAscii => Some((K::NonAsciiCredential, None)),
        Transport::BodyNotUnicode => Some((K::Surrogates, None)),
        Transport::Stalled => Some((K::Timeout, Some(Symptom::Stalled))),
        Transport::Dns
        | Transport::Connect
        | Transport::Tls
        | Transport::ConnectTimeout
        | Transport::ReadTimeout
        | Transport::Closed
        | Transport::Cut
        | Transport::Invalid
        | Transport::Other => None,
    }
}

/// Something answers, but it is no model server: it points elsewhere, shows a page, lists
/// something, or takes no such request. It will do so again.
fn elsewhere(seen: &Seen<'_>) -> Option<Verdict> {
    let lost = Some(Symptom::WrongAddress);
    if seen
        .raw
        .status
        .is_some_and(|status| (300..400).contains(&status) || status == 405)
    {
        return Some((K::Unknown, lost));
    }
    let invalid = seen.raw.transport == Some(Transport::Invalid) && !seen.envelope.is_error;
    let body = seen.raw.body.trim_start();
    let foreign =
        body.starts_with(['<', '[']) || serde_json::from_str::<serde_json::Number>(body.trim()).is_ok();
    (invalid && foreign).then_some((K::InvalidResponse, lost))
}

fn by_status(status: u16, seen: &Seen<'_>) -> Verdict {
    match status {
        401 => first(
            &[Words(K::Billing), Words(K::AuthPermanent), Symptoms(K::RateLimit)],
            seen,
        )
        .unwrap_or((K::Auth, None)),
        402 => paid(seen),
        403 => first(FORBIDDEN, seen).unwrap_or((K::Auth, None)),
        404 => first(NOT_FOUND, seen).unwrap_or((K::Unknown, Some(Symptom::WrongAddress))),
        // 499 is how proxies say that they gave up waiting for the server behind them.
        408 | 499 => (K::Timeout, None),
        // A conflict with another request; over when that is.
        409 => wrong_request(seen).unwrap_or((K::ServerError, None)),
        413 => first(TOO_LARGE, seen).unwrap_or((K::PayloadTooLarge, None)),
        429 => too_many(seen),
        503 | 529 => first(AT_FAULT, seen).unwrap_or((K::Overloaded, long_overload(seen))),
        500..=599 => first(AT_FAULT, seen)
            .or_else(|| overloaded(seen))
            .unwrap_or((K::ServerError, None)),
        _ => wrong_request(seen).unwrap_or((K::FormatError, None)),
    }
}

/// A request that a server calls wrong.
fn wrong_request(seen: &Seen<'_>) -> Option<Verdict> {
    first(REQUEST, seen)
        .or_else(|| first(&[Words(K::RateLimit)], seen))
        .or_else(|| first(REQUEST_REST, seen))
        .or_else(|| likely_overflow(seen))
}

/// 402: a limit that comes back, fewer tokens that can be afforded, or no money.
fn paid(seen: &Seen<'_>) -> Verdict {
    if seen.reading.about == Some(About::Output) && seen.reading.limits.output.is_some() {
        return (K::OutputCap, None);
    }
    let limit = ["usage limit", "quota", "limit exceeded"]
        .iter()
        .any(|word| seen.lower.contains(word));
    let transient = [
        "try again",
        "retry",
        "resets at",
        "reset in",
        "resets in",
        "requests remaining",
        "periodic",
    ]
    .iter()
    .any(|word| seen.lower.contains(word));
    if limit && transient {
        (K::RateLimit, Some(Symptom::QuotaSpent))
    } else {
        (K::Billing, None)
    }
}

fn too_many(seen: &Seen<'_>) -> Verdict {
    // A server's general word for trouble (`api_error`) does not unsay the status.
    first(TOO_MANY, seen)
        .filter(|(kind, _)| *kind != K::ServerError)
        .unwrap_or((K::RateLimit, None))
}

fn overloaded(seen: &Seen<'_>) -> Option<Verdict> {
    first(&[Words(K::Overloaded)], seen)
}

fn long_overload(seen: &Seen<'_>) -> Option<Symptom> {
    overloaded(seen).and_then(|(_, symptom)| symptom)
}

/// An error without a status: an event in a stream, or the transport's own words.
fn by_words(seen: &Seen<'_>) -> Verdict {
    // An answer that is not valid may hold a person's words; only an error in it is listened to.
    let listen = seen.envelope.is_error || seen.raw.transport != Some(Transport::Invalid);
    if listen
        && !seen.raw.body.trim().is_empty()
        && let Some(verdict) = first(REQUEST, seen).or_else(|| first(WORDS_ALONE, seen))
    {
        return verdict;
    }
    by_transport(seen)
        .or_else(|| first(WORDS_ALONE, seen))
        .map_or((K::Unknown, None), |verdict| settle(verdict, seen))
}

fn by_transport(seen: &Seen<'_>) -> Option<Verdict> {
    match seen.raw.transport? {
        Transport::Invalid => Some((K::InvalidResponse, None)),
        Transport::Cut => Some((K::IncompleteStream, None)),
        Transport::Closed if seen.raw.phase == Phase::Body => Some((K::IncompleteStream, None)),
        Transport::Closed => Some((K::Timeout, Some(Symptom::HungUp))),
        Transport::Tls => Some(first(&[Words(K::SslCertVerification)], seen).unwrap_or((K::Timeout, None))),
        Transport::Dns | Transport::Connect | Transport::ConnectTimeout | Transport::ReadTimeout => {
            Some(first(&[Words(K::SslCertVerification)], seen).unwrap_or((K::Timeout, None)))
        }
        Transport::Other
        | Transport::Certificate
        | Transport::Stalled
        | Transport::HeaderNotAscii
        | Transport::BodyNotUnicode
        | Transport::Cancelled => None,
    }
}

/// A line that broke in the middle of an answer left it incomplete, whatever the words.
fn settle(verdict: Verdict, seen: &Seen<'_>) -> Verdict {
    let hung_up = verdict == (K::Timeout, Some(Symptom::HungUp));
    if hung_up && seen.raw.phase == Phase::Body {
        (K::IncompleteStream, None)
    } else {
        verdict
    }
}

fn first(asks: &[Ask], seen: &Seen<'_>) -> Option<Verdict> {
    asks.iter().find_map(|ask| answer(*ask, seen))
}

fn answer(ask: Ask, seen: &Seen<'_>) -> Option<Verdict> {
    match ask {
        Words(kind) => patterns::find(kind, seen.lower).map(|pattern| (kind, pattern.symptom)),
        Symptoms(kind) => patterns::find(kind, seen.lower)
            .filter(|pattern| pattern.symptom.is_some())
            .map(|pattern| (kind, pattern.symptom)),
        Code => patterns::code(&seen.envelope.codes),
        Numbers => match seen.reading.about? {
            About::Output => Some((K::OutputCap, None)),
            About::Prompt => Some((K::ContextOverflow, None)),
        },
        Parameter => refused(seen),
        ToolContent => {
            patterns::find(K::MultimodalToolContentUnsupported, seen.lower)?;
            if seen.raw.request.tool_images {
                Some((K::MultimodalToolContentUnsupported, None))
            } else {
                (seen.raw.request.images > 0).then_some((K::ImageRejected, None))
            }
        }
        Upstream => (seen.envelope.upstream || patterns::find(K::UpstreamRateLimit, seen.lower).is_some())
            .then_some((K::UpstreamRateLimit, None)),
    }
}

/// A refused parameter; one that is refused because of its size is not.
fn refused(seen: &Seen<'_>) -> Option<Verdict> {
    seen.refused?;
    if seen.reading.about.is_some() {
        return None;
    }
    Some((K::UnsupportedParameter, None))
}

/// No text says so, but an empty or bare refusal of a prompt near its window is an overflow more
/// often than not; the row that takes it tries once.
fn likely_overflow(seen: &Seen<'_>) -> Option<Verdict> {
    let request = &seen.raw.request;
    if request.window == 0 {
        return None;
    }
    let said = seen.envelope.messages.last().map_or("", String::as_str).trim();
    let bare = said.len() < 30;
    let share = if bare {
        request.window / 2
    } else {
        request.window / 10 * 9
    };
    (request.prompt_tokens > share).then_some((K::ContextOverflow, Some(Symptom::LikelyOverflow)))
}
