//! What a kill leaves, and what becomes of it.

use std::sync::Arc;

use serde_json::json;
use talaria_runtime::Open;
use talaria_store::{CallJournal, CallState};
use talaria_types::{Effect, Event, Message, Op, Timestamp, ToolCall, TurnId};

use crate::rig::{Rig, Talk};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_tool_call_is_answered_as_unknown_and_not_repeated() {
    let rig = Rig::new(json!([{"text": "begun"}, {"text": "I will check first"}]));
    let engine = rig.engine();
    let (_, result) = Talk::open(&engine, Open::New).await.turn("begin").await;
    let id = result.session_id;
    // What a process leaves that was killed while a call ran.
    let call = ToolCall {
        id: "call_killed".to_owned(),
        name: "terminal".to_owned(),
        arguments: r#"{"command":"touch once"}"#.to_owned(),
        extra: serde_json::Map::new(),
    };
    let user = Arc::new(Message::user("do it"));
    let asked = Arc::new(Message {
        tool_calls: vec![call],
        ..Message::assistant("")
    });
    engine
        .store()
        .append(&id, &[user, asked], Timestamp(2.0))
        .unwrap();
    let entry = CallJournal {
        session_id: id.clone(),
        turn_id: TurnId::new("t1"),
        call_id: "call_killed".to_owned(),
        tool: "terminal".to_owned(),
        effect: Effect::Execute,
        state: CallState::Started,
        started_at: Some(Timestamp(3.0)),
        pid: Some(1),
        result: None,
    };
    engine.store().journal(&entry, Timestamp(3.0)).unwrap();

    let resume = Open::Resume {
        name: id.to_string(),
        exact: false,
    };
    Talk::open(&rig.engine(), resume).await.turn("go on").await;
    let requests = rig.server.main_requests();
    assert!(requests[1].says("outcome unknown, effect: execute; check what it did"));
    assert!(!rig.home.work().join("once").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_a_row_before_a_call_of_it_acts_on_the_world() {
    let wait = "touch begun; until test -e go; do sleep 0.02; done";
    let rig = Rig::new(json!([
        {"text": "I write.", "tool_calls": [{"name": "terminal", "args": {"command": wait}}]},
        {"text": "done"},
    ]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt { content: "go".into() });
    talk.until(|event| matches!(event, Event::ToolStarted { .. }))
        .await;
    let newest = engine.store().newest(None).unwrap().unwrap();
    let rows = engine.store().all(&newest).unwrap();
    let asked = rows.last().unwrap();
    assert_eq!(asked.message.content.text(), "I write.");
    assert_eq!(asked.message.tool_calls.len(), 1);
    assert_eq!(engine.store().open_calls(&newest).unwrap().len(), 1);
    std::fs::write(rig.home.work().join("go"), "").unwrap();
    talk.rest().await;
    assert_eq!(engine.store().all(&newest).unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_a_row_while_its_question_waits_for_a_person() {
    let rig = Rig::new(json!([
        {"text": "I ask.", "tool_calls": [{"name": "clarify", "args": {"question": "which?"}}]},
        {"text": "done"},
    ]));
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt { content: "go".into() });
    let Event::QuestionAsked(question) = talk.until(|event| matches!(event, Event::QuestionAsked(_))).await
    else {
        unreachable!()
    };
    let newest = engine.store().newest(None).unwrap().unwrap();
    let rows = engine.store().all(&newest).unwrap();
    assert_eq!(rows.last().unwrap().message.content.text(), "I ask.");
    talk.handle.send(Op::Reply {
        id: question.id,
        text: Some("this one".to_owned()),
    });
    talk.rest().await;
    let rows = engine.store().all(&newest).unwrap();
    assert!(rows[2].message.content.text().contains("this one"));
}
