//! Rounds of tools.

use talaria_turn::Outcome;

use crate::play::{Happening, Script, calls, ran, text};

#[test]
fn calls_are_a_row_before_they_run_and_results_follow_in_call_order() {
    let script = Script::new([
        Happening::Says(calls(&["terminal", "read_file"])),
        ran(),
        Happening::Says(text("so")),
    ]);
    let (trace, ending) = script.play();
    insta::assert_snapshot!(trace);
    assert_eq!(ending.tally.tool_rounds, 1);
}

#[test]
fn calls_that_are_never_understood_end_the_turn() {
    let rounds = (0..20).flat_map(|_| {
        let invalid = Happening::Tools {
            invalid: 1,
            halt: None,
            interrupted: false,
        };
        [Happening::Says(calls(&["write_file"])), invalid]
    });
    let (trace, ending) = Script::new(rounds).play();
    assert!(matches!(ending.outcome, Outcome::Failed(_)), "{trace}");
    assert!(ending.tally.api_calls <= 6, "{trace}");
}

#[test]
fn a_halt_of_the_guard_rails_ends_the_turn_with_its_words() {
    let halted = Happening::Tools {
        invalid: 0,
        halt: Some("the same call for ever"),
        interrupted: false,
    };
    let (_, ending) = Script::new([Happening::Says(calls(&["terminal"])), halted]).play();
    assert_eq!(
        ending.outcome,
        Outcome::GuardrailHalt {
            text: "the same call for ever".to_owned()
        }
    );
}

#[test]
fn a_round_that_only_runs_scripts_costs_no_call_and_a_turn_of_them_ends_all_the_same() {
    let rounds = |tools: &'static [&'static str], times: usize| {
        (0..times).flat_map(move |_| [Happening::Says(calls(tools)), ran()])
    };
    let api_calls = |tools: &'static [&'static str]| {
        let (trace, ending) = Script::new(rounds(tools, 1_000).chain([Happening::Says(text("so"))])).play();
        assert!(
            matches!(
                ending.outcome,
                Outcome::TurnLimit { .. } | Outcome::Replied { .. }
            ),
            "{trace}"
        );
        ending.tally.api_calls
    };
    let plain = api_calls(&["terminal"]);
    let mixed = api_calls(&["execute_code", "terminal"]);
    let scripts = api_calls(&["execute_code"]);
    assert_eq!(plain, mixed);
    // The closing call is made once either way.
    assert_eq!(scripts - 1, 2 * (plain - 1));
}
