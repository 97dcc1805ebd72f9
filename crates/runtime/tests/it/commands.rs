//! What is typed with a slash, as a front end sends it.

use serde_json::json;
use talaria_runtime::Open;
use talaria_types::{Event, Op, Role};

use crate::rig::{Rig, Talk};

fn text(text: &str) -> serde_json::Value {
    json!({"text": text})
}

/// What the program says to a command.
async fn say(talk: &mut Talk, name: &str, args: &str) -> String {
    talk.handle.send(Op::Command {
        name: name.to_owned(),
        args: args.to_owned(),
    });
    match talk
        .until(|event| matches!(event, Event::Status { .. } | Event::Warning { .. }))
        .await
    {
        Event::Status { text } | Event::Warning { text } => text,
        _ => unreachable!(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_asks_the_same_again_and_the_first_answer_is_not_sent() {
    let rig = Rig::new(json!([text("a poor answer"), text("a better answer")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let (_, first) = talk.turn("what is a heron?").await;
    talk.handle.send(Op::Command {
        name: "retry".to_owned(),
        args: String::new(),
    });
    let (_, second) = talk.rest().await;
    assert_eq!(second.final_response.as_deref(), Some("a better answer"));
    assert_eq!(first.session_id, second.session_id);
    let requests = rig.server.main_requests();
    assert_eq!(requests[0].messages(), requests[1].messages());
    let live = engine.store().live(&second.session_id).unwrap();
    let roles: Vec<Role> = live.iter().map(|row| row.message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant]);
    // What was said first is taken back, not erased.
    assert_eq!(engine.store().all(&second.session_id).unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_title_given_before_the_first_turn_is_the_sessions_and_one_that_is_taken_is_refused() {
    let Rig { server, home } = Rig::new(json!([text("one"), text("two")]));
    // Two conversations speak to it.
    let rig = Rig {
        server: server.allowing("prefix"),
        home,
    };
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    assert_eq!(say(&mut talk, "title", "").await, "no title yet");
    assert_eq!(say(&mut talk, "title", "The herons").await, "title: The herons");
    let (_, first) = talk.turn("begin").await;
    assert_eq!(say(&mut talk, "title", "").await, "The herons");
    assert_eq!(engine.store().resolve("The herons").unwrap(), first.session_id);

    let mut other = Talk::open(&engine, Open::New).await;
    other.turn("begin").await;
    let refused = say(&mut other, "title", "The herons").await;
    assert!(
        refused.contains("The herons") && refused.contains(first.session_id.as_str()),
        "{refused}"
    );
    assert_eq!(say(&mut other, "title", "").await, "no title yet");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_branches_of_one_title_both_have_one() {
    let rig = Rig::new(json!([text("one"), text("two"), text("three")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("begin").await;
    let titles = async |talk: &mut Talk| {
        say(talk, "branch", "Another way").await;
        say(talk, "title", "").await
    };
    assert_eq!(titles(&mut talk).await, "Another way");
    talk.turn("on").await;
    assert_eq!(titles(&mut talk).await, "Another way #2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tokens_of_a_session_are_those_of_its_whole_lineage() {
    let counted =
        |text: &str, tokens: u64| json!({"text": text, "usage": {"prompt": tokens, "completion": 7}});
    let long = "what does the log say? ".repeat(200);
    let mut steps: Vec<_> = (0..6).map(|_| counted(&long, 1_000)).collect();
    steps.push(counted("after", 300));
    let headings: String = talaria_context::compress::HEADINGS
        .iter()
        .map(|heading| format!("## {heading}\nThe log.\n\n"))
        .collect();
    let scenario = json!({"steps": steps, "tasks": {"summary": [text(&headings)]}});
    let rig = Rig::with_scenario(&scenario, "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    for _ in 0..6 {
        talk.turn(&long).await;
    }
    talk.handle.send(Op::Command {
        name: "compress".to_owned(),
        args: String::new(),
    });
    let (_, last) = talk.turn("and now?").await;
    assert_ne!(last.session_id, last.root_session_id, "it was not compressed");
    let status = say(&mut talk, "status", "").await;
    assert!(
        status.contains("calls   7") && status.contains("tokens  6300 in"),
        "{status}"
    );
    let totals = engine.store().totals(&last.root_session_id).unwrap();
    assert_eq!(totals.usage.prompt_tokens, 6_300);
    assert_eq!(totals.usage.completion_tokens, 49);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_says_what_would_be_left_and_changes_nothing() {
    let long = "what does the log say? ".repeat(300);
    let steps: Vec<_> = (0..6).map(|_| text(&long)).collect();
    let rig = Rig::new(json!(steps));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let mut session = None;
    for _ in 0..6 {
        session = Some(talk.turn(&long).await.1.session_id);
    }
    let (report, _) = engine
        .compress(session.unwrap().as_str(), None, true)
        .await
        .unwrap();
    assert!(report.messages_hidden > 0 && !report.compressed, "{report:?}");
    assert!(report.tokens_after < report.tokens_before, "{report:?}");
    assert_eq!(rig.server.requests().len(), 6);
    assert!(
        engine
            .store()
            .compactions(&report.session_after)
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressing_here_takes_a_number_and_says_so() {
    let rig = Rig::new(json!([text("one")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("begin").await;
    for args in ["here abc", "here 0", "here 3 words"] {
        let refused = say(&mut talk, "compress", args).await;
        assert!(refused.contains("1 to 100"), "{args}: {refused}");
    }
    assert_eq!(rig.server.requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_is_asked_from_the_next_turn_on_and_its_prompt_says_so() {
    let rig = Rig::new(json!([text("one"), text("two")]));
    let Rig { server, home } = rig;
    let rig = Rig {
        server: server.allowing("prefix"),
        home,
    };
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("begin").await;
    assert!(say(&mut talk, "model", "").await.contains("mock-model of custom"));
    assert!(
        say(&mut talk, "model", "other-model")
            .await
            .contains("other-model of custom")
    );
    let (_, result) = talk.turn("on").await;
    assert_eq!((result.model.as_str(), result.completed), ("other-model", true));
    let requests = rig.server.main_requests();
    assert_eq!(requests[1].model, "other-model");
    assert!(
        requests[1].says("other-model"),
        "the prompt names the model before"
    );
    // The conversation itself goes on.
    assert_eq!(requests[1].messages()[1..3].len(), 2);
    assert!(requests[1].says("begin") && requests[1].says("one"));
    let row = engine.store().session(&result.session_id).unwrap().unwrap();
    assert_eq!(row.model.as_deref(), Some("other-model"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_cannot_be_had_changes_nothing() {
    let rig = Rig::new(json!([text("one")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let refused = say(&mut talk, "model", "gpt-5 --provider no-such-provider").await;
    assert!(
        refused.contains("no-such-provider") && refused.contains("nothing was changed"),
        "{refused}"
    );
    let (_, result) = talk.turn("begin").await;
    assert_eq!(result.model, "mock-model");
}
