//! Failures: what they lead to, and how the history ends.

use talaria_recovery::ErrorKind;
use talaria_turn::Outcome;
use talaria_types::Role;

use crate::play::{Happening, Script, calls, failure, interrupted, model, ran, text};

#[test]
fn a_failure_that_nothing_cures_ends_the_turn_and_keeps_the_question() {
    let (trace, ending) = Script::new([Happening::Fails(failure(ErrorKind::FormatError))]).play();
    assert!(matches!(ending.outcome, Outcome::Failed(_)), "{trace}");
    assert_eq!(ending.talk.messages().len(), 1);
}

#[test]
fn a_failure_after_tools_leaves_a_history_that_a_user_may_follow() {
    let script = Script::new([
        Happening::Says(calls(&["terminal"])),
        ran(),
        Happening::Fails(failure(ErrorKind::Billing)),
    ]);
    let (trace, ending) = script.play();
    let last = ending.talk.messages().last().cloned().unwrap();
    assert_eq!(last.role, Role::Assistant, "{trace}");
}

#[test]
fn a_server_error_is_waited_out() {
    let script = Script::new([
        Happening::Fails(failure(ErrorKind::ServerError)),
        Happening::Says(text("back")),
    ]);
    let (trace, ending) = script.play();
    assert_eq!(
        ending.outcome,
        Outcome::Replied {
            text: "back".to_owned()
        },
        "{trace}"
    );
    assert!(trace.contains("wait"), "{trace}");
}

#[test]
fn an_interrupt_before_the_first_byte_keeps_the_question_only() {
    let (_, ending) = Script::new([Happening::Stopped]).play();
    assert_eq!(ending.outcome, Outcome::Interrupted { text: None });
    assert_eq!(ending.talk.messages().len(), 1);
}

#[test]
fn an_interrupt_in_mid_stream_keeps_what_was_said() {
    let (trace, ending) = Script::new([Happening::Fails(interrupted("Some words "))]).play();
    insta::assert_snapshot!(trace);
    assert_eq!(
        ending.outcome,
        Outcome::Interrupted {
            text: Some("Some words".to_owned())
        }
    );
}

#[test]
fn an_interrupt_in_back_off_makes_no_further_call() {
    let script = Script::new([
        Happening::Fails(failure(ErrorKind::ServerError)),
        Happening::Stopped,
    ]);
    let (_, ending) = script.play();
    assert_eq!(ending.outcome, Outcome::Interrupted { text: None });
    assert_eq!(ending.tally.api_calls, 1);
}

#[test]
fn an_interrupt_in_tools_closes_the_history_with_an_assistant_row() {
    let stopped = Happening::Tools {
        invalid: 0,
        halt: None,
        interrupted: true,
    };
    let (trace, ending) = Script::new([Happening::Says(calls(&["terminal", "read_file"])), stopped]).play();
    insta::assert_snapshot!(trace);
    assert_eq!(ending.talk.messages().last().unwrap().role, Role::Assistant);
}

#[test]
fn a_rate_limit_with_a_fallback_goes_there_at_once() {
    let mut script = Script::new([
        Happening::Fails(failure(ErrorKind::RateLimit)),
        Happening::Next(Some(model())),
        Happening::Says(text("from the other one")),
    ]);
    script.situation.fallbacks_left = 1;
    let (trace, ending) = script.play();
    assert_eq!(
        ending.outcome,
        Outcome::Replied {
            text: "from the other one".to_owned()
        },
        "{trace}"
    );
}

#[test]
fn a_closing_call_that_fails_costs_only_the_summary() {
    let mut script = Script::new([
        Happening::Says(calls(&["terminal"])),
        ran(),
        Happening::Fails(failure(ErrorKind::ServerError)),
    ]);
    script.setup.max_calls = 1;
    let (_, ending) = script.play();
    assert_eq!(ending.outcome, Outcome::TurnLimit { summary: None });
}
