use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use talaria_types::{Content, ImagePart, ImageSource, Message, Part, Role, ToolCall};

use super::*;

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
        extra: serde_json::Map::new(),
    }
}

fn calling(calls: &[(&str, &str)]) -> Message {
    Message {
        tool_calls: calls
            .iter()
            .map(|(id, arguments)| call(id, "terminal", arguments))
            .collect(),
        ..Message::assistant("")
    }
}

fn shared(messages: Vec<Message>) -> Vec<Arc<Message>> {
    messages.into_iter().map(Arc::new).collect()
}

/// One line a message: role, id, text, calls.
fn shape(messages: &[Arc<Message>]) -> Vec<String> {
    messages
        .iter()
        .map(|message| {
            let calls: Vec<String> = message
                .tool_calls
                .iter()
                .map(|call| format!(" {}={}({})", call.id, call.name, call.arguments))
                .collect();
            let id = message
                .tool_call_id
                .as_deref()
                .map(|id| format!(" {id}"))
                .unwrap_or_default();
            format!(
                "{}{id}: {}{}",
                message.role.as_str(),
                message.content.text(),
                calls.concat()
            )
        })
        .collect()
}

fn composed(messages: Vec<Message>) -> Vec<String> {
    let sent = compose(&shared(messages));
    assert_eq!(validate(&sent), [], "{sent:#?}");
    shape(&sent)
}

#[test]
fn a_sound_conversation_is_sent_as_the_same_messages() {
    let history = shared(vec![
        Message::user("list"),
        calling(&[("a", "{\"x\": 1}"), ("b", "{}")]),
        Message::tool("a", "terminal", "one"),
        Message::tool("b", "terminal", ""),
        Message::assistant("done"),
        Message::user("thanks"),
    ]);
    let sent = compose(&history);
    assert_eq!(validate(&sent), []);
    assert_eq!(sent.len(), history.len());
    assert!(
        sent.iter()
            .zip(&history)
            .all(|(sent, stored)| Arc::ptr_eq(sent, stored))
    );
}

#[test]
fn a_result_without_a_call_is_not_sent_and_a_call_without_a_result_is_told_to_be_unknown() {
    let sent = composed(vec![
        Message::user("a"),
        calling(&[("call_1", "{}")]),
        Message::assistant("b"),
        Message::user("c"),
        Message::tool("call_gone", "terminal", "orphan result 99"),
        Message::assistant("d"),
        Message::user("e"),
    ]);
    insta::assert_snapshot!(sent.join("\n"), @r"
    user: a
    assistant:  call_1=terminal({})
    tool call_1: [Result lost: the outcome of this call is unknown. Check its effects before repeating it.]
    assistant: b
    user: c
    assistant: d
    user: e
    ");
}

#[test]
fn a_call_right_behind_a_summary_points_to_the_summary_for_its_result() {
    let summary = format!("{} reference\n## Goal", crate::compress::SUMMARY_TAG);
    let sent = composed(vec![
        Message::user(summary),
        calling(&[("c", "{}")]),
        Message::user("go on"),
    ]);
    assert_eq!(
        sent[2],
        "tool c: [Result unavailable — see context summary above]"
    );
}

#[test]
fn results_stand_in_call_order_whatever_order_they_were_stored_in() {
    let sent = composed(vec![
        Message::user("go"),
        calling(&[("a", "{}"), ("b", "{}"), ("c", "{}")]),
        Message::tool("c", "terminal", "3"),
        Message::tool("a", "terminal", "1"),
        Message::tool("a", "terminal", "a second answer"),
        Message::tool("b", "terminal", "2"),
    ]);
    assert_eq!(sent[2..], ["tool a: 1", "tool b: 2", "tool c: 3"]);
}

#[test]
fn repeated_and_missing_call_ids_keep_every_result_with_its_call() {
    let unnamed = |text: &str| Message {
        tool_call_id: None,
        ..Message::tool("", "terminal", text)
    };
    let sent = composed(vec![
        Message::user("dups"),
        calling(&[("call_0", "{\"n\":1}"), ("call_0", "{\"n\":2}")]),
        Message::tool("call_0", "terminal", "first"),
        Message::tool("call_0", "terminal", "second"),
        Message::assistant("ok"),
        Message::user("again"),
        calling(&[("call_0", "{\"n\":3}"), ("", "{\"n\":4}"), ("", "{\"n\":5}")]),
        unnamed("fourth"),
        Message::tool("call_0", "terminal", "third"),
        Message::tool("", "terminal", "fifth"),
    ]);
    insta::assert_snapshot!(sent.join("\n"), @r#"
    user: dups
    assistant:  call_0=terminal({"n":1}) call_0_2=terminal({"n":2})
    tool call_0: first
    tool call_0_2: second
    assistant: ok
    user: again
    assistant:  call_0_3=terminal({"n":3}) call_talaria_1=terminal({"n":4}) call_talaria_2=terminal({"n":5})
    tool call_0_3: third
    tool call_talaria_1: fourth
    tool call_talaria_2: fifth
    "#);
}

#[test]
fn a_result_that_names_the_other_id_of_its_call_is_kept() {
    let mut asking = calling(&[("fc_1", "{}")]);
    asking.tool_calls[0]
        .extra
        .insert("call_id".to_owned(), json!("call_1"));
    let sent = composed(vec![
        Message::user("x"),
        asking,
        Message::tool("call_1", "terminal", "out"),
    ]);
    assert_eq!(sent[2], "tool fc_1: out");
}

#[test]
fn two_prompts_in_a_row_become_one_and_no_word_is_lost() {
    let image = ImagePart {
        source: ImageSource::Stored("ab".to_owned()),
        media_type: "image/png".to_owned(),
    };
    let recalled = Message {
        sent_as: Some("second\n\nrecalled".to_owned()),
        ..Message::user("second")
    };
    let history = shared(vec![
        Message::user("first"),
        recalled,
        Message::user(Content::Parts(vec![
            Part::Text {
                text: "look".to_owned(),
            },
            Part::Image(image.clone()),
        ])),
        Message::user("fourth"),
    ]);
    let sent = compose(&history);
    assert_eq!(validate(&sent), []);
    assert_eq!(sent.len(), 1);
    assert_eq!(
        sent[0].content.text(),
        "first\n\nsecond\n\nrecalled\nlook\nfourth"
    );
    assert_eq!(sent[0].content.images().collect::<Vec<_>>(), [&image]);
    assert_eq!(sent[0].sent_as, None);
}

#[test]
fn an_assistant_that_only_thought_is_not_sent_and_neighbours_of_one_role_join() {
    let mut thinking = Message::assistant(" \n");
    thinking.reasoning.text = Some("hm".to_owned());
    let sent = composed(vec![
        Message::user("a"),
        thinking,
        Message::user("b"),
        Message::assistant("one"),
        Message {
            tool_calls: vec![call("c", "x", "{}")],
            ..Message::assistant("two")
        },
        Message::tool("c", "x", "r"),
    ]);
    insta::assert_snapshot!(sent.join("\n"), @r"
    user: a

    b
    assistant: one

    two c=x({})
    tool c: r
    ");
}

#[test]
fn a_conversation_that_begins_or_ends_with_the_assistant_is_framed() {
    let sent = composed(vec![Message::assistant("hello")]);
    insta::assert_snapshot!(sent.join("\n"), @r"
    user: (The beginning of this conversation is not shown.)
    assistant: hello
    user: Continue.
    ");
    assert_eq!(composed(vec![Message::user("  ")]), ["user: (empty message)"]);
    assert!(compose(&[]).is_empty());
}

#[test]
fn tool_names_that_servers_refuse_are_sent_in_a_shape_they_take() {
    let asking = Message {
        tool_calls: vec![
            call("1", "", "{}"),
            call("2", " functions.read_file ", "{}"),
            call("3", "天气", "{}"),
            call("4", &"x".repeat(90), "{}"),
        ],
        ..Message::assistant("")
    };
    let results = (1..=4).map(|id| Message::tool(id.to_string(), "whatever", "r"));
    let history: Vec<Message> = [Message::user("u"), asking].into_iter().chain(results).collect();
    let sent = compose(&shared(history));
    assert_eq!(validate(&sent), []);
    let names: Vec<&str> = sent[1].tool_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "invalid_tool_call",
            "functions_read_file",
            "invalid_tool_call",
            &"x".repeat(64)
        ]
    );
    let answered: Vec<Option<&str>> = sent[2..]
        .iter()
        .map(|result| result.tool_name.as_deref())
        .collect();
    assert_eq!(answered, names.into_iter().map(Some).collect::<Vec<_>>());
}

#[test]
fn arguments_are_read_the_way_they_were_meant() {
    let cases = [
        ("{\"a\": 1}", "{\"a\": 1}", Damage::None),
        ("", "{}", Damage::Blank),
        ("null", "{}", Damage::Blank),
        ("None", "{}", Damage::Blank),
        (
            "{\"command\": \"echo t\",}",
            "{\"command\":\"echo t\"}",
            Damage::Slips,
        ),
        ("{\"c\": \"a\nb\t\"}", "{\"c\":\"a\\nb\\t\"}", Damage::Slips),
        ("{\"c\": \"d\"}{\"c\": \"d\"}", "{\"c\":\"d\"}", Damage::Slips),
        ("{\"c\": \"d\"}}]", "{\"c\":\"d\"}", Damage::Slips),
        (
            "{'a': True, 'b': None, c: [False, 1.5,],}",
            "{\"a\":true,\"b\":null,\"c\":[false,1.5]}",
            Damage::Slips,
        ),
        ("```json\n{\"a\": 1}\n```", "{\"a\":1}", Damage::Slips),
        ("\"{\\\"a\\\": 1}\"", "{\"a\": 1}", Damage::Slips),
        ("{\"a\": [1, 2}", "{\"a\":[1,2]}", Damage::Slips),
        (
            "{\"p\": \"C:\\Users\\x\"}",
            "{\"p\":\"C:\\\\Users\\\\x\"}",
            Damage::Slips,
        ),
        ("{\"a\": \"\\ud800\"}", "{\"a\":\"\u{fffd}\"}", Damage::Slips),
        (
            "{\"a\": \"\\ud83d\\ude00\"}",
            "{\"a\": \"\\ud83d\\ude00\"}",
            Damage::None,
        ),
        ("{\"a\": \"\\ud83d\\ude00\",}", "{\"a\":\"😀\"}", Damage::Slips),
        (
            "{\"command\": \"echo a",
            "{\"command\":\"echo a\"}",
            Damage::CutOff,
        ),
        (
            "{\"command\": \"echo a\"",
            "{\"command\":\"echo a\"}",
            Damage::CutOff,
        ),
        (
            "{\"a\": {\"b\": [1, tr",
            "{\"a\":{\"b\":[1,null]}}",
            Damage::CutOff,
        ),
        ("{\"a\": 1, \"b", "{\"a\":1}", Damage::CutOff),
        ("{\"a\": 1, \"b\":", "{\"a\":1}", Damage::CutOff),
        ("[1]", "{}", Damage::Hopeless),
        ("7", "{}", Damage::Hopeless),
        ("{\"path\": bad.txt, \"content\": \"x\"}", "{}", Damage::Hopeless),
        ("ls -la", "{}", Damage::Hopeless),
        ("{\"n\": 1e999}", "{}", Damage::Hopeless),
    ];
    for (written, text, damage) in cases {
        let repaired = repair_arguments(written);
        assert_eq!((repaired.text(), repaired.damage), (text, damage), "{written}");
    }
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(repair_arguments(&deep).damage, Damage::Hopeless);
}

/// Any row a store may hold, from small alphabets, so that ids meet.
fn any_row() -> impl Strategy<Value = Message> {
    let id = prop_oneof![
        Just("call_0"),
        Just("call_1"),
        Just(""),
        Just("call_0_2"),
        Just("call_talaria_1")
    ];
    let name = prop_oneof![Just("terminal"), Just(""), Just("a.b"), Just("read_file")];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just("{\"a\":1,}".to_owned()),
        Just("null".to_owned()),
        "\\PC{0,12}",
        "[{}\\[\\]\":,a1\\\\u ]{0,16}",
    ];
    let calls = proptest::collection::vec((id.clone(), name, arguments), 0..4);
    let text = prop_oneof![Just(String::new()), Just(" ".to_owned()), "[a-c]{1,3}"];
    prop_oneof![
        text.clone().prop_map(Message::user),
        text.clone().prop_map(|text| Message {
            sent_as: Some(text.clone()),
            ..Message::user(Content::Parts(vec![Part::Text { text }]))
        }),
        (text.clone(), calls).prop_map(|(text, calls)| Message {
            tool_calls: calls
                .iter()
                .map(|(id, name, arguments)| call(id, name, arguments))
                .collect(),
            ..Message::assistant(text)
        }),
        (id, text.clone()).prop_map(|(id, text)| Message::tool(id, "terminal", text)),
        text.prop_map(|text| Message::new(Role::System, text)),
    ]
}

fn any_history() -> impl Strategy<Value = Vec<Arc<Message>>> {
    proptest::collection::vec(any_row().prop_map(Arc::new), 0..24)
}

/// Ends in a user or tool row, every call answered: what was really sent once.
fn is_settled(history: &[Arc<Message>], sent: &[Arc<Message>]) -> bool {
    let asked = history.last().is_some_and(|last| match last.role {
        Role::User => true,
        Role::Tool => sent.last().is_some_and(|last| last.role == Role::Tool),
        Role::System | Role::Assistant => false,
    });
    let lost = |message: &&Arc<Message>| message.content.text() == RESULT_LOST;
    asked
        && sent
            .iter()
            .rev()
            .take_while(|message| message.role == Role::Tool)
            .filter(lost)
            .count()
            == 0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_stored_is_sent_in_a_form_that_strict_servers_take(history in any_history()) {
        let sent = compose(&history);
        prop_assert!(sent.is_empty() || validate(&sent).is_empty(), "{:?}\n{:?}", validate(&sent), shape(&sent));
        if history.iter().any(|row| row.role == Role::User) {
            prop_assert!(!sent.is_empty());
        }
    }

    #[test]
    fn composing_what_was_composed_changes_nothing(history in any_history()) {
        let sent = compose(&history);
        prop_assert_eq!(&compose(&sent), &sent);
    }

    #[test]
    fn what_was_sent_once_is_sent_the_same_when_the_conversation_goes_on(
        history in any_history(),
        answer in "[a-c]{1,3}",
        more in any_history(),
    ) {
        let settled = |length: &usize| is_settled(&history[..*length], &compose(&history[..*length]));
        let Some(length) = (1..=history.len()).rev().find(settled) else { return Ok(()) };
        let history = &history[..length];
        let before = compose(history);
        let answered = [Arc::new(Message::assistant(answer))];
        let longer: Vec<_> = history.iter().chain(&answered).chain(&more).cloned().collect();
        let after = compose(&longer);
        prop_assert!(after.len() >= before.len());
        prop_assert_eq!(&after[..before.len()], &before[..]);
    }

    #[test]
    fn a_growing_conversation_is_composed_as_if_read_at_once(history in any_history(), cuts in any::<[u8; 3]>()) {
        let mut composer = Composer::default();
        for cut in cuts {
            let part = &history[..usize::from(cut) % (history.len() + 1)];
            prop_assert_eq!(composer.compose(part), compose(part));
        }
        let first = composer.compose(&history);
        let again = composer.compose(&history);
        prop_assert_eq!(&first, &compose(&history));
        let settled = first.iter().zip(&again).filter(|(a, b)| Arc::ptr_eq(a, b)).count();
        prop_assert!(settled + 8 >= first.len(), "only closing rows are made anew");
    }

    #[test]
    fn any_text_becomes_a_json_object(text in "\\PC{0,40}|[{}\\[\\]\"':,a1\\\\u\n ]{0,40}") {
        let repaired = repair_arguments(&text);
        let value = serde_json::from_str::<serde_json::Value>(repaired.text());
        prop_assert!(value.is_ok_and(|value| value.is_object()), "{:?}", repaired);
        prop_assert_eq!(repair_arguments(repaired.text()).damage, Damage::None);
    }
}
