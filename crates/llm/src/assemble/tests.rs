use super::*;

fn piece<'a>(
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a str>,
) -> CallPiece<'a> {
    CallPiece {
        index,
        id,
        name,
        arguments,
        extra: Map::new(),
    }
}

fn calls(pieces: Vec<CallPiece<'_>>) -> Vec<(String, String, String)> {
    let mut answer = Assembler::new(3);
    for piece in pieces {
        answer.call(piece, &mut Vec::new());
    }
    let completion = answer.finish(FinishReason::Stop, Reasoning::default(), &mut Vec::new());
    completion
        .tool_calls
        .into_iter()
        .map(|call| (call.id, call.name, call.arguments))
        .collect()
}

fn row(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

#[test]
fn interleaved_pieces_find_their_calls() {
    let seen = calls(vec![
        piece(Some(0), Some("ca"), Some("terminal"), Some(r#"{"comm"#)),
        piece(Some(1), Some("cb"), Some("terminal"), Some("")),
        piece(Some(1), None, None, Some(r#"{"command": "b"#)),
        piece(Some(0), None, None, Some(r#"and": "a"}"#)),
        piece(Some(1), None, None, Some(r#""}"#)),
    ]);
    assert_eq!(
        seen,
        [
            row("ca", "terminal", r#"{"command": "a"}"#),
            row("cb", "terminal", r#"{"command": "b"}"#)
        ]
    );
}

#[test]
fn a_new_id_on_the_same_index_is_a_new_call() {
    let seen = calls(vec![
        piece(Some(0), Some("x"), Some("t"), Some(r#"{"a":1}"#)),
        piece(Some(0), Some("y"), Some("t"), Some(r#"{"a":2}"#)),
    ]);
    assert_eq!(seen, [row("x", "t", r#"{"a":1}"#), row("y", "t", r#"{"a":2}"#)]);
}

#[test]
fn calls_without_an_index_are_told_apart_by_id_or_name() {
    let seen = calls(vec![
        piece(None, Some("x"), Some("t"), Some("{")),
        piece(None, None, None, Some("}")),
        piece(None, Some("y"), Some("u"), Some("{}")),
        piece(None, None, Some("v"), Some("{}")),
    ]);
    assert_eq!(
        seen.iter()
            .map(|(_, name, arguments)| format!("{name}{arguments}"))
            .collect::<Vec<_>>(),
        ["t{}", "u{}", "v{}"]
    );
}

#[test]
fn one_id_for_all_calls_becomes_an_id_for_each() {
    let seen = calls(vec![
        piece(Some(0), Some("call_0"), Some("t"), Some(r#"{"a":1}"#)),
        piece(Some(1), Some("call_0"), Some("t"), Some(r#"{"a":2}"#)),
        piece(None, Some("call_0"), Some("t"), Some(r#"{"a":3}"#)),
    ]);
    assert_eq!(
        seen,
        [
            row("call_0", "t", r#"{"a":1}"#),
            row("call_0_1", "t", r#"{"a":2}"#),
            row("call_0_2", "t", r#"{"a":3}"#)
        ]
    );
}

#[test]
fn a_call_without_an_id_gets_the_same_one_each_time() {
    let make = || {
        calls(vec![
            piece(Some(0), None, Some("t"), Some("{}")),
            piece(Some(1), Some(""), Some("t"), Some("{}")),
        ])
    };
    let (first, second) = (make(), make());
    assert_eq!(first, second);
    assert_ne!(first[0].0, first[1].0);
    assert!(first[0].0.starts_with("call_"), "{first:?}");
}

#[test]
fn a_name_is_taken_once_and_arguments_sent_twice_count_once() {
    let seen = calls(vec![
        piece(Some(0), Some("x"), Some("t"), Some(r#"{"a":1}"#)),
        piece(Some(0), Some("x"), Some("t"), Some(r#"{"a":1}"#)),
    ]);
    assert_eq!(seen, [row("x", "t", r#"{"a":1}"#)]);
}

#[test]
fn broken_arguments_are_kept_as_they_arrived() {
    let seen = calls(vec![piece(
        Some(0),
        Some("x"),
        Some("t"),
        Some(r#"{"action": listt_windows"}"#),
    )]);
    assert_eq!(seen[0].2, r#"{"action": listt_windows"}"#);
}

#[test]
fn a_slot_in_which_nothing_arrived_is_no_call() {
    assert!(calls(vec![piece(Some(0), None, None, None)]).is_empty());
}

#[test]
fn deltas_add_up_to_the_completion() {
    let mut answer = Assembler::new(0);
    let mut out = Vec::new();
    for text in ["\n<th", "ink>plan", "</think>\n\nHel", "lo `<think>", "`"] {
        answer.text(text, &mut out);
    }
    let completion = answer.finish(FinishReason::Stop, Reasoning::default(), &mut out);
    let shown: String = out
        .iter()
        .filter_map(|d| {
            if let Delta::Text(text) = d {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(completion.text, "Hello `<think>`");
    assert_eq!(shown, completion.text);
    assert_eq!(completion.reasoning.text.as_deref(), Some("plan"));
}

#[test]
fn what_broke_off_is_told_with_the_names_of_its_calls() {
    let mut answer = Assembler::new(0);
    answer.text("Half", &mut Vec::new());
    answer.call(
        piece(Some(0), Some("x"), Some("write_file"), Some("{\"pa")),
        &mut Vec::new(),
    );
    assert!(!answer.calls_are_whole());
    let partial = answer.partial();
    assert_eq!(
        (partial.text.as_str(), partial.tools),
        ("Half", vec!["write_file".to_owned()])
    );
}
