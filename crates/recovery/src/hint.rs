//! What a person can do about a failure, in words.

use talaria_types::ErrorKind;

use crate::{Failure, Symptom};

/// The hint of a failure; none where its own words say all.
pub(crate) fn of(failure: &Failure) -> Option<&'static str> {
    let by_symptom = failure.symptom.and_then(of_symptom);
    by_symptom.or_else(|| of_kind(failure.kind))
}

fn of_symptom(symptom: Symptom) -> Option<&'static str> {
    match symptom {
        Symptom::QuotaSpent => Some(
            "this quota comes back by itself, but not soon; add a fallback provider or another key, or take a larger plan",
        ),
        Symptom::WrongAddress => Some(
            "no model server answers at this address; check model.base_url (it often ends in /v1) and model.api_mode",
        ),
        Symptom::ReasoningNotEchoed => Some(
            "this server wants the stored thinking back; start a new session if the old one has none stored",
        ),
        Symptom::Stalled => Some(
            "the server went silent in the middle of its answer; for slow local models raise agent.local_stream_stale_timeout",
        ),
        Symptom::BucketEmpty
        | Symptom::LongOverload
        | Symptom::PrefillRefused
        | Symptom::HungUp
        | Symptom::LikelyOverflow => None,
    }
}

fn of_kind(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Auth => {
            "the key was refused; check it in the environment, .env or config.yaml (`talaria config show`)"
        }
        ErrorKind::AuthPermanent => "this login is over for good; set a new key in the environment or .env",
        ErrorKind::Billing => "the account is out of money or quota; top it up, or add a fallback provider",
        ErrorKind::RateLimit => "wait a while, or add a fallback provider or another key",
        ErrorKind::UpstreamRateLimit => {
            "the provider behind this aggregator is limited for everybody; take another model or provider"
        }
        ErrorKind::Overloaded => "the provider is overloaded; try again later, or add a fallback provider",
        ErrorKind::ServerError => "the provider failed; try again later, or add a fallback provider",
        ErrorKind::Timeout => {
            "check the network, model.base_url and any proxy; `talaria doctor` tests the connection"
        }
        ErrorKind::ContextOverflow | ErrorKind::LongContextTier => {
            "the conversation does not fit this model; start a new session or take a model with a larger window"
        }
        ErrorKind::OutputCap => "lower model.max_tokens",
        ErrorKind::PayloadTooLarge => "the request is too large in bytes; leave images or long pastes out",
        ErrorKind::ImageTooLarge => "the image is too large for this provider; send a smaller one",
        ErrorKind::ImageRejected => "this model takes no images; take one that does, or leave the image out",
        ErrorKind::ModelNotFound => {
            "check model.default; the provider does not know this model, or not for this key"
        }
        ErrorKind::ProviderPolicyBlocked => {
            "a setting of the account excludes this provider; change it in its console"
        }
        ErrorKind::FormatError => "the provider calls the request wrong; its words above say which part",
        ErrorKind::UnsupportedParameter => {
            "this model does not take the parameter named above; remove it from the config"
        }
        ErrorKind::ThinkingSignature | ErrorKind::InvalidEncryptedContent => {
            "stored thinking is refused even without its signatures; start a new session"
        }
        ErrorKind::OauthLongContextBetaForbidden => {
            "the long-context beta is not part of this subscription; use an API key"
        }
        ErrorKind::LlamaCppGrammarPattern => {
            "the server cannot read the tools' schemas; switch the tool off that it names"
        }
        ErrorKind::MultimodalToolContentUnsupported => {
            "this server takes only text from tools; leave images out"
        }
        ErrorKind::ContentPolicyBlocked => {
            "a content policy refused this; say it in other words, or take another provider"
        }
        ErrorKind::SslCertVerification => {
            "the server's certificate cannot be verified; behind a company proxy set SSL_CERT_FILE to its CA, else check \
             the clock and the address"
        }
        ErrorKind::StreamingUnsupported => "this server cannot stream",
        ErrorKind::InvalidResponse => "the answer was no valid answer; check model.base_url and the api_mode",
        ErrorKind::IncompleteStream => "the line broke before the answer was complete; ask again",
        ErrorKind::NonAsciiCredential => {
            "the key holds a character that no header can carry, often copied along from a web page; enter it again"
        }
        ErrorKind::Surrogates => "the text holds half a character; start a new session if it stays",
        ErrorKind::Refused => "the model declined; say it in other words, or take another model",
        ErrorKind::EmptyAnswer => "the model answered with nothing; ask again, or take another model",
        ErrorKind::TurnLimit => "raise agent.max_turns, or go on with another message",
        ErrorKind::SpendLimit => "raise the budget, or go on with a cheaper model",
        ErrorKind::SessionBusy => "wait for the other process, or start another session",
        ErrorKind::Config => "correct the setting named above",
        ErrorKind::Interrupted | ErrorKind::Internal | ErrorKind::Unknown => return None,
    })
}
