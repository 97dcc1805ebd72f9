//! What holds for every turn.

use proptest::prelude::*;
use talaria_recovery::ErrorKind;
use talaria_turn::Outcome;

use crate::play::{Happening, Script, calls, cut, failure, text, thought};

/// Anything a model or a server can do, many times over.
fn happenings() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0_u8..12, 0..200)
}

fn kinds() -> Vec<ErrorKind> {
    vec![
        ErrorKind::RateLimit,
        ErrorKind::ServerError,
        ErrorKind::Timeout,
        ErrorKind::ContextOverflow,
        ErrorKind::Auth,
        ErrorKind::InvalidResponse,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever happens, a turn ends, and its history can be followed by a user message.
    #[test]
    fn every_turn_ends_with_a_history_that_can_go_on(numbers in happenings(), compacts in any::<bool>()) {
        let mut script = Script::new(Vec::new());
        script.situation.may_compact = compacts;
        script.situation.fallbacks_left = 0;
        let (trace, ending) = script.play_with(numbers.into_iter(), |number| match number {
            0 => Happening::Says(cut("some words of it ")),
            1 => Happening::Says(text("")),
            2 => Happening::Says(thought("hm")),
            3 | 4 => Happening::Says(calls(&["terminal"])),
            5 => Happening::Says(text("an answer")),
            number => Happening::Fails(failure(kinds()[usize::from(number - 6)])),
        });
        let messages = ending.talk.messages();
        let composed = talaria_context::compose::compose(&messages);
        prop_assert!(!composed.is_empty(), "{trace}");
        let replied = matches!(ending.outcome, Outcome::Replied { .. } | Outcome::Partial { .. });
        let last = messages.last().map(|message| message.role);
        prop_assert!(!replied || last == Some(talaria_types::Role::Assistant), "{trace}");
    }
}
