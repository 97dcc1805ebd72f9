//! What holds for every row and every sequence of failures.

use std::collections::BTreeMap;

use proptest::prelude::*;
use talaria_recovery::{
    Budget, Decision, ErrorKind, Failure, Ledger, Limits, Login, Partial, Phase, Remedy, RequestFacts,
    Situation, Symptom, chain::CHAIN, decide,
};

const KINDS: &[ErrorKind] = &[
    ErrorKind::Auth,
    ErrorKind::AuthPermanent,
    ErrorKind::Billing,
    ErrorKind::RateLimit,
    ErrorKind::UpstreamRateLimit,
    ErrorKind::Overloaded,
    ErrorKind::ServerError,
    ErrorKind::Timeout,
    ErrorKind::ContextOverflow,
    ErrorKind::OutputCap,
    ErrorKind::PayloadTooLarge,
    ErrorKind::ImageTooLarge,
    ErrorKind::ImageRejected,
    ErrorKind::ModelNotFound,
    ErrorKind::ProviderPolicyBlocked,
    ErrorKind::FormatError,
    ErrorKind::UnsupportedParameter,
    ErrorKind::ThinkingSignature,
    ErrorKind::InvalidEncryptedContent,
    ErrorKind::LongContextTier,
    ErrorKind::OauthLongContextBetaForbidden,
    ErrorKind::LlamaCppGrammarPattern,
    ErrorKind::MultimodalToolContentUnsupported,
    ErrorKind::ContentPolicyBlocked,
    ErrorKind::SslCertVerification,
    ErrorKind::StreamingUnsupported,
    ErrorKind::InvalidResponse,
    ErrorKind::IncompleteStream,
    ErrorKind::NonAsciiCredential,
    ErrorKind::Surrogates,
    ErrorKind::Refused,
    ErrorKind::EmptyAnswer,
    ErrorKind::TurnLimit,
    ErrorKind::SpendLimit,
    ErrorKind::Interrupted,
    ErrorKind::SessionBusy,
    ErrorKind::Config,
    ErrorKind::Internal,
    ErrorKind::Unknown,
];

/// Kinds that are the same however often they are asked.
const HOPELESS: &[ErrorKind] = &[
    ErrorKind::Billing,
    ErrorKind::ContentPolicyBlocked,
    ErrorKind::Refused,
    ErrorKind::AuthPermanent,
    ErrorKind::SslCertVerification,
    ErrorKind::ModelNotFound,
    ErrorKind::ProviderPolicyBlocked,
    ErrorKind::FormatError,
    ErrorKind::Interrupted,
    ErrorKind::TurnLimit,
    ErrorKind::SpendLimit,
    ErrorKind::Config,
];

const SYMPTOMS: &[Option<Symptom>] = &[
    None,
    Some(Symptom::QuotaSpent),
    Some(Symptom::BucketEmpty),
    Some(Symptom::LongOverload),
    Some(Symptom::ReasoningNotEchoed),
    Some(Symptom::PrefillRefused),
    Some(Symptom::Stalled),
    Some(Symptom::HungUp),
    Some(Symptom::LikelyOverflow),
    Some(Symptom::WrongAddress),
];

const LOGINS: &[Login] = &[
    Login::ApiKey,
    Login::Anthropic,
    Login::Codex,
    Login::Xai,
    Login::Nous,
    Login::Copilot,
    Login::Other,
];

fn request() -> impl Strategy<Value = RequestFacts> {
    (
        any::<[bool; 6]>(),
        0u32..3,
        prop::sample::select(LOGINS),
        0u64..200_000,
    )
        .prop_map(|(flags, images, login, prompt_tokens)| RequestFacts {
            signed_thinking: flags[0],
            encrypted_reasoning: flags[1],
            tool_images: flags[2],
            schema_patterns: flags[3],
            streaming: flags[4],
            long_context_beta: flags[5],
            images,
            login,
            max_output: Some(100_000),
            prompt_tokens,
            window: 200_000,
            ..RequestFacts::default()
        })
}

fn failure() -> impl Strategy<Value = Failure> {
    let text = prop::sample::select(&["", "half an answer"][..]);
    let tools = prop::collection::vec(Just("write_file".to_owned()), 0..2);
    let partial = prop::option::of((text, tools).prop_map(|(text, tools)| Partial {
        text: text.to_owned(),
        tools,
        ..Partial::default()
    }));
    let numbers = (
        prop::option::of(0u64..700_000),
        prop::option::of(256u64..300_000),
        prop::option::of("[a-c]"),
    );
    let what = (prop::sample::select(KINDS), prop::sample::select(SYMPTOMS));
    (what, numbers, request(), partial).prop_map(
        |((kind, symptom), (wait, number, name), request, partial)| Failure {
            symptom,
            retry_after_ms: wait,
            limits: Limits {
                window: number,
                output: number,
                ..Limits::default()
            },
            parameter: name,
            request,
            partial,
            ..Failure::new(kind, Phase::Status, "no")
        },
    )
}

fn situation() -> impl Strategy<Value = Situation> {
    let counts = (0u32..4, 0u32..5, 0u32..7);
    (counts, any::<[bool; 3]>(), any::<u64>(), 0u64..700_000).prop_map(
        |((fallbacks_left, max_retries, stalls), flags, entropy, patience_ms)| Situation {
            fallbacks_left,
            can_rotate: flags[0],
            can_refresh: flags[1],
            may_compact: flags[2],
            max_retries,
            entropy,
            patience_ms,
            applied: Vec::new(),
            stalls,
        },
    )
}

/// What a turn does: it asks until it ends, takes the next provider when told so, spends its
/// patience on waits, and keeps in mind what it rewrote.
fn run(failures: &[Failure], mut situation: Situation) -> Vec<Decision> {
    let mut ledger = Ledger::default();
    let mut decisions = Vec::new();
    for failure in failures.iter().cycle() {
        let decision = decide(failure, &situation, &mut ledger);
        let remedy = decision.remedy.clone();
        decisions.push(decision);
        match remedy {
            Remedy::GiveUp | Remedy::KeepPartial => return decisions,
            Remedy::SwitchProvider => {
                situation.fallbacks_left = situation.fallbacks_left.checked_sub(1).expect("there was one");
                situation.applied.clear();
            }
            Remedy::Rewrite(rewrite) => {
                assert!(!situation.applied.contains(&rewrite), "{rewrite:?} holds already");
                situation.applied.push(rewrite);
            }
            Remedy::Wait { wait_ms } | Remedy::RebuildTransport { wait_ms } => {
                situation.patience_ms = situation
                    .patience_ms
                    .checked_sub(wait_ms)
                    .expect("there was patience");
            }
            Remedy::Compact { .. }
            | Remedy::RefreshCredential
            | Remedy::RotateCredential
            | Remedy::Retry
            | Remedy::Continue => {}
        }
        assert!(decisions.len() < 10_000, "it never ends");
    }
    unreachable!("a cycle of failures does not run out")
}

/// The most decisions a turn may take, by the budgets of all rows.
fn sum_of_limits(situation: &Situation) -> u64 {
    let providers = u64::from(situation.fallbacks_left) + 1;
    let mut shared = BTreeMap::new();
    let mut sum = u64::from(situation.max_retries) * providers + u64::from(situation.fallbacks_left) + 1;
    for row in CHAIN {
        match row.budget() {
            Budget::PerCall(n) => sum += u64::from(n) * providers,
            Budget::PerTurn(n) => sum += u64::from(n),
            // A pool is left at most as often as its row allows for one call.
            Budget::PerCredential(n) => sum += u64::from(n) * 19 * providers,
            Budget::Shared { name, limit } => {
                shared.insert(name, u64::from(limit));
            }
            Budget::Retries | Budget::Fallbacks | Budget::Final => {}
        }
    }
    sum + shared.values().sum::<u64>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn every_sequence_of_failures_ends_within_the_sum_of_limits(
        failures in prop::collection::vec(failure(), 1..8), situation in situation()
    ) {
        let most = sum_of_limits(&situation);
        let decisions = run(&failures, situation);
        prop_assert!(u64::try_from(decisions.len()).unwrap() <= most, "{} of {most}", decisions.len());
    }

    #[test]
    fn no_row_fires_beyond_its_limit(
        failures in prop::collection::vec(failure(), 1..8), situation in situation()
    ) {
        for decision in run(&failures, situation) {
            prop_assert!(decision.attempt >= 1 && decision.attempt <= decision.limit, "{decision:?}");
        }
    }

    #[test]
    fn what_cannot_succeed_is_never_repeated_unchanged(
        kind in prop::sample::select(HOPELESS), other in failure(), situation in situation()
    ) {
        let failure = Failure { kind, ..other };
        let decision = decide(&failure, &situation, &mut Ledger::default());
        let repeats = matches!(decision.remedy, Remedy::Wait { .. } | Remedy::Retry | Remedy::RebuildTransport { .. });
        prop_assert!(!repeats, "{decision:?}");
    }

    #[test]
    fn no_wait_is_longer_than_the_patience(
        failures in prop::collection::vec(failure(), 1..6), situation in situation()
    ) {
        let patience = situation.patience_ms;
        let waited: u64 = run(&failures, situation).iter().map(|decision| match decision.remedy {
            Remedy::Wait { wait_ms } | Remedy::RebuildTransport { wait_ms } => wait_ms,
            _ => 0,
        }).sum();
        prop_assert!(waited <= patience);
    }

    #[test]
    fn half_a_call_is_never_kept_and_never_continued(other in failure(), situation in situation()) {
        let tools = vec!["write_file".to_owned()];
        let partial = Partial { text: "I write it.".to_owned(), tools, ..Partial::default() };
        let failure = Failure { partial: Some(partial), ..other };
        for decision in run(&[failure], situation) {
            prop_assert!(!matches!(decision.remedy, Remedy::KeepPartial | Remedy::Continue), "{decision:?}");
        }
    }

    #[test]
    fn a_ledger_survives_being_stored(failures in prop::collection::vec(failure(), 1..6), situation in situation()) {
        let mut ledger = Ledger::default();
        for failure in &failures {
            decide(failure, &situation, &mut ledger);
            let stored = serde_json::to_string(&ledger).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Ledger>(&stored).unwrap(), &ledger);
        }
    }
}

#[test]
fn a_failure_of_every_kind_has_an_answer() {
    for kind in KINDS {
        let failure = Failure::new(*kind, Phase::Status, "no");
        let decision = decide(&failure, &Situation::default(), &mut Ledger::default());
        assert!(!decision.row.is_empty(), "{kind:?}");
    }
}

#[test]
fn a_failed_turn_says_why_and_what_to_do() {
    let mut failure = Failure::new(ErrorKind::RateLimit, Phase::Status, "slow down");
    failure.status = Some(429);
    failure.retry_after_ms = Some(36_000_000);
    let decision = decide(&failure, &Situation::default(), &mut Ledger::default());
    let error = decision.turn_error(&failure);
    assert_eq!(
        (error.kind, error.message.as_str(), error.status),
        (ErrorKind::RateLimit, "slow down", Some(429))
    );
    insta::assert_snapshot!(error.hint.unwrap(), @"the server asks to wait 10 h; 10 min are waited for at most; wait a while, or add another key (`talaria auth add`) or a fallback provider");
}

#[test]
fn the_rows_that_fired_are_counted_by_name() {
    let mut ledger = Ledger::default();
    let situation = Situation::default();
    for kind in [
        ErrorKind::ServerError,
        ErrorKind::ServerError,
        ErrorKind::Surrogates,
        ErrorKind::FormatError,
    ] {
        decide(&Failure::new(kind, Phase::Status, "no"), &situation, &mut ledger);
    }
    ledger.call_succeeded();
    let fired: Vec<(&str, u32)> = ledger.fired().collect();
    assert_eq!(fired, [("back_off", 2), ("surrogates", 1)]);
}
