//! The recovery chain: the table of rows and its one reader.
//!
//! A row recognises a failure from facts and names the cure as data. It never
//! performs it, never waits and never counts, so it can be tested with a value
//! and no runtime. [`decide`] asks the rows in the order of [`CHAIN`]; the
//! first that has something left and proposes something is taken. A new row is
//! a new file and one line in the table.

mod anthropic_login;
mod back_off;
mod certificate;
mod client_error;
mod codex_login;
mod content_policy;
mod context_overflow;
mod copilot_token;
mod credential_pool;
mod eager_fallback;
mod encrypted_content;
mod give_up;
mod grammar_pattern;
mod image_rejected;
mod image_too_large;
mod invalid_response;
mod keep_partial;
mod last_fallback;
mod long_context_tier;
mod non_ascii_credential;
mod nous_key;
mod oauth_long_context_beta;
mod output_cap;
mod overload_schedule;
mod payload_too_large;
mod prefill_refused;
mod rate_limited;
mod reasoning_echo;
mod spent_bucket;
mod stall_breaker;
mod stream_continue;
mod stream_cut;
mod streaming_unsupported;
mod surrogates;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod thinking_signature;
mod tool_content;
mod transport_rebuild;
mod unsupported_parameter;
mod upstream_rate_limit;

use talaria_types::{ErrorKind, Rewrite};

use crate::described::Described;
use crate::{Budget, Decision, Failure, Ledger, Remedy, Situation};

/// The counter of everything that makes the conversation smaller because a server said so.
pub(crate) const COMPRESSION: Budget = Budget::Shared {
    name: "compression",
    limit: 3,
};
/// The counter of repairs of text that is no Unicode or no ASCII.
pub(crate) const UNICODE: Budget = Budget::Shared {
    name: "unicode",
    limit: 2,
};

/// One row of the recovery chain: it recognises a failure and names the cure.
pub trait Recoverer: Described + Sync {
    /// Its name: a symptom, as `recoveries` and events show it.
    fn name(&self) -> &'static str;

    /// The kinds it looks at; empty for every kind.
    fn kinds(&self) -> &'static [ErrorKind];

    /// The counter it draws on; rows that share a cure share a budget.
    fn budget(&self) -> Budget;

    /// The cure, if this row knows one for this failure.
    fn propose(&self, failure: &Failure, situation: &Situation, ledger: &Ledger) -> Option<Remedy>;
}

/// Every row, in the order they are asked.
pub static CHAIN: &[&dyn Recoverer] = &[
    // What can be repaired or rotated at once.
    &surrogates::Surrogates,
    &non_ascii_credential::NonAsciiCredential,
    &image_rejected::ImageRejected,
    &credential_pool::CredentialPool,
    &image_too_large::ImageTooLarge,
    &oauth_long_context_beta::OauthLongContextBeta,
    &codex_login::CodexLogin,
    &nous_key::NousKey,
    &copilot_token::CopilotToken,
    &anthropic_login::AnthropicLogin,
    &thinking_signature::ThinkingSignature,
    &grammar_pattern::GrammarPattern,
    // What costs something: a smaller context, another provider.
    &long_context_tier::LongContextTier,
    &eager_fallback::EagerFallback,
    &spent_bucket::SpentBucket,
    &payload_too_large::PayloadTooLarge,
    &context_overflow::ContextOverflow,
    &client_error::ClientError,
    // Symptoms that were told apart later.
    &content_policy::ContentPolicy,
    &encrypted_content::EncryptedContent,
    &tool_content::ToolContent,
    &certificate::Certificate,
    &upstream_rate_limit::UpstreamRateLimit,
    &unsupported_parameter::UnsupportedParameter,
    &overload_schedule::OverloadSchedule,
    &invalid_response::InvalidResponse,
    &stream_cut::StreamCut,
    &stream_continue::StreamContinue,
    &streaming_unsupported::StreamingUnsupported,
    &output_cap::OutputCap,
    &reasoning_echo::ReasoningEcho,
    &prefill_refused::PrefillRefused,
    &stall_breaker::StallBreaker,
    &rate_limited::RateLimited,
    // The end: waiting, the next provider, what there is, nothing.
    &transport_rebuild::TransportRebuild,
    &back_off::BackOff,
    &last_fallback::LastFallback,
    &keep_partial::KeepPartial,
    &give_up::GiveUp,
];

/// Picks the cure for one failed call. Total: a failure no row claims gives up.
///
/// Counts in `ledger` what it picks, so that asking again and again ends. A
/// rewrite that already holds for this model is never proposed again.
pub fn decide(failure: &Failure, situation: &Situation, ledger: &mut Ledger) -> Decision {
    ledger.failed();
    for row in CHAIN {
        if !row.kinds().is_empty() && !row.kinds().contains(&failure.kind) {
            continue;
        }
        let (budget, spent) = (row.budget(), ledger.spent(row.name(), row.budget()));
        let limit = budget.limit(spent, situation);
        if spent >= limit {
            continue;
        }
        let Some(remedy) = row.propose(failure, situation, ledger) else {
            continue;
        };
        if !ends(&remedy) {
            if let Remedy::Rewrite(rewrite) = &remedy
                && situation.applied.contains(rewrite)
            {
                continue;
            }
            count(*row, &remedy, ledger);
            return Decision {
                row: row.name().to_owned(),
                remedy,
                attempt: spent + 1,
                limit,
                note: None,
            };
        }
        let note = give_up::why(failure, situation, ledger);
        return Decision {
            row: row.name().to_owned(),
            remedy,
            attempt: 1,
            limit: 1,
            note,
        };
    }
    let note = give_up::why(failure, situation, ledger);
    Decision {
        row: "give_up".to_owned(),
        remedy: Remedy::GiveUp,
        attempt: 1,
        limit: 1,
        note,
    }
}

fn count(row: &dyn Recoverer, remedy: &Remedy, ledger: &mut Ledger) {
    ledger.record(row.name(), row.budget());
    match remedy {
        Remedy::SwitchProvider => ledger.provider_changed(),
        Remedy::RotateCredential => ledger.credential_changed(),
        Remedy::Rewrite(_)
        | Remedy::Compact { .. }
        | Remedy::RefreshCredential
        | Remedy::RebuildTransport { .. }
        | Remedy::Wait { .. }
        | Remedy::Retry
        | Remedy::Continue
        | Remedy::KeepPartial
        | Remedy::GiveUp => {}
    }
}

/// Whether no further call follows.
fn ends(remedy: &Remedy) -> bool {
    matches!(remedy, Remedy::GiveUp | Remedy::KeepPartial)
}

/// The next provider, where there is one.
fn switch(situation: &Situation) -> Option<Remedy> {
    (situation.fallbacks_left > 0).then_some(Remedy::SwitchProvider)
}

/// The first of these repairs that does not hold yet.
fn first_new(situation: &Situation, rewrites: impl IntoIterator<Item = Rewrite>) -> Option<Remedy> {
    rewrites
        .into_iter()
        .find(|rewrite| !situation.applied.contains(rewrite))
        .map(Remedy::Rewrite)
}

/// Text of an answer had arrived, and no call had begun.
fn has_usable_text(failure: &Failure) -> bool {
    failure
        .partial
        .as_ref()
        .is_some_and(|partial| !partial.text.trim().is_empty() && partial.tools.is_empty())
}
