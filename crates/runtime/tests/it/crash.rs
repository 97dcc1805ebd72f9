//! What a kill leaves, and what becomes of it.

use std::sync::Arc;

use serde_json::json;
use talaria_runtime::Open;
use talaria_store::{CallJournal, CallState};
use talaria_types::{Effect, Message, Timestamp, ToolCall, TurnId};

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
