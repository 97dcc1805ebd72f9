//! Answers: whole, cut, empty, refused.

use talaria_turn::Outcome;
use talaria_types::{Completion, FinishReason, Role};

use crate::play::{Happening, Script, calls, cut, ran, text, thought};

fn says(completions: impl IntoIterator<Item = Completion>) -> Script {
    Script::new(completions.into_iter().map(Happening::Says))
}

#[test]
fn an_answer_ends_the_turn_with_its_row() {
    let (trace, ending) = says([text("hello")]).play();
    insta::assert_snapshot!(trace);
    assert_eq!(ending.tally.usage.prompt_tokens, 100);
}

#[test]
fn a_cut_answer_is_continued_and_joined_once() {
    let (trace, _) = says([cut("1 2 3 4 5 "), cut("6 7 8 "), text("9 10")]).play();
    insta::assert_snapshot!(trace);
}

#[test]
fn the_tokens_of_cut_answers_are_counted() {
    let (_, ending) = says([cut("a "), cut("b "), text("c")]).play();
    assert_eq!(ending.tally.usage.completion_tokens, 30);
    assert_eq!(ending.tally.api_calls, 3);
}

#[test]
fn a_raised_output_cap_is_never_below_the_configured_one_nor_above_the_models() {
    let caps = |configured: Option<u64>, limit: Option<u64>| {
        let mut script = says([cut("a "), cut("b "), cut("c "), text("d")]);
        script.setup.model.max_output = configured;
        script.setup.model.output_limit = limit;
        let (trace, _) = script.play();
        let caps = trace
            .lines()
            .filter_map(|line| line.split_once('≤')?.1.split(' ').next()?.parse().ok());
        caps.collect::<Vec<u64>>()
    };
    assert_eq!(caps(None, None), [8_192, 12_288, 16_384]);
    assert_eq!(caps(Some(60_000), None), [60_000, 60_000, 60_000, 60_000]);
    assert_eq!(caps(None, Some(10_000)), [8_192, 10_000, 10_000]);
}

#[test]
fn an_answer_that_never_ends_is_given_as_far_as_it_came_and_marked() {
    let pieces = (0..9).map(|number| cut(&format!("part {number} of it all. ")));
    let (trace, ending) = says(pieces).play();
    let Outcome::Partial { text, .. } = ending.outcome else {
        panic!("{trace}")
    };
    assert_eq!(
        text,
        "part 0 of it all. part 1 of it all. part 2 of it all. part 3 of it all. "
    );
    assert_eq!(ending.tally.api_calls, 4);
}

#[test]
fn the_same_cut_sentence_again_is_not_glued_on() {
    let (trace, ending) = says([cut("That failed, looking at"), cut("That failed, looking at")]).play();
    let Outcome::Partial { text, .. } = ending.outcome else {
        panic!("{trace}")
    };
    assert_eq!(text, "That failed, looking at");
}

#[test]
fn a_call_cut_at_the_output_limit_is_asked_for_again_with_more_room() {
    let mut half = calls(&["write_file"]);
    half.finish = FinishReason::Length;
    half.tool_calls[0].arguments = "{\"path\": \"x".to_owned();
    let script = Script::new([
        Happening::Says(half),
        Happening::Says(calls(&["write_file"])),
        ran(),
    ]);
    let (trace, _) = script.play();
    insta::assert_snapshot!(trace);
}

#[test]
fn a_refusal_ends_the_turn_after_one_call() {
    let refused = Completion {
        finish: FinishReason::Refused,
        ..text("")
    };
    let (trace, ending) = says([refused]).play();
    assert!(matches!(ending.outcome, Outcome::Refused { .. }), "{trace}");
    assert_eq!(ending.tally.api_calls, 1);
}

#[test]
fn answers_with_nothing_are_asked_again_a_bounded_number_of_times() {
    let (trace, ending) = says((0..40).map(|_| text(""))).play();
    assert!(matches!(ending.outcome, Outcome::Empty { .. }), "{trace}");
    assert!(ending.tally.api_calls <= 8, "{trace}");
}

#[test]
fn thoughts_alone_are_no_answer() {
    let (trace, ending) = says([thought("hm"), thought("hm"), text("now I know")]).play();
    assert_eq!(
        ending.outcome,
        Outcome::Replied {
            text: "now I know".to_owned()
        },
        "{trace}"
    );
}

#[test]
fn nothing_after_tools_is_nudged_and_the_nudge_is_no_row() {
    let script = Script::new([
        Happening::Says(calls(&["terminal"])),
        ran(),
        Happening::Says(text("")),
        Happening::Says(text("so")),
    ]);
    let (trace, ending) = script.play();
    insta::assert_snapshot!(trace);
    let roles: Vec<Role> = ending
        .talk
        .messages()
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
}

#[test]
fn the_last_allowed_call_may_answer() {
    let mut script = Script::new([
        Happening::Says(calls(&["terminal"])),
        ran(),
        Happening::Says(text("just in time")),
    ]);
    script.setup.max_calls = 2;
    let (_, ending) = script.play();
    assert_eq!(
        ending.outcome,
        Outcome::Replied {
            text: "just in time".to_owned()
        }
    );
}

#[test]
fn a_spent_turn_ends_with_a_summary_asked_without_tools() {
    let mut script = Script::new([
        Happening::Says(calls(&["terminal"])),
        ran(),
        Happening::Says(calls(&["terminal"])),
        ran(),
        Happening::Says(text("what was done")),
    ]);
    script.setup.max_calls = 2;
    let (trace, ending) = script.play();
    insta::assert_snapshot!(trace);
    assert_eq!(ending.tally.api_calls, 3);
}
