//! What the tests of the rows share.

use crate::{ErrorKind, Failure, Ledger, Partial, Phase, Remedy, RequestFacts, Situation};

use super::Recoverer;

/// A refusal of this kind of a request that carries everything a row may look for.
pub(super) fn failure(kind: ErrorKind) -> Failure {
    let mut failure = Failure::new(kind, Phase::Status, "no");
    failure.request = RequestFacts {
        signed_thinking: true,
        encrypted_reasoning: true,
        images: 3,
        tool_images: true,
        schema_patterns: true,
        streaming: true,
        long_context_beta: true,
        max_output: Some(100_000),
        prompt_tokens: 90_000,
        window: 200_000,
        messages: 40,
        ..RequestFacts::default()
    };
    failure
}

/// The same with this text streamed before it.
pub(super) fn cut(kind: ErrorKind, text: &str, tools: &[&str]) -> Failure {
    let tools = tools.iter().map(|name| (*name).to_owned()).collect();
    let partial = Partial {
        text: text.to_owned(),
        tools,
        ..Partial::default()
    };
    Failure {
        phase: Phase::Body,
        partial: Some(partial),
        ..failure(kind)
    }
}

/// What a row says to a first failure.
pub(super) fn asked(row: &dyn Recoverer, failure: &Failure, situation: &Situation) -> Option<Remedy> {
    row.propose(failure, situation, &Ledger::default())
}

/// A situation with a fallback.
pub(super) fn with_fallback() -> Situation {
    Situation {
        fallbacks_left: 1,
        ..Situation::default()
    }
}
