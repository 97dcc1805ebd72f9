//! Sessions over several turns, engines and wishes of the person.

use serde_json::json;
use talaria_runtime::{Open, replay};
use talaria_types::{Event, ExitReason, Op, Role};

use crate::rig::{Rig, Talk};

fn text(text: &str) -> serde_json::Value {
    json!({ "text": text })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_resumed_session_extends_the_bytes_of_what_was_sent() {
    let call = json!({"tool_calls": [{"name": "terminal", "args": {"command": "echo é"}, "id": "call_1"}]});
    let rig = Rig::new(json!([call, text("one"), text("two")]));
    let id = {
        let engine = rig.engine();
        let mut talk = Talk::open(&engine, Open::New).await;
        talk.turn("first").await.1.session_id
    };
    let engine = rig.engine();
    let resume = Open::Resume {
        name: id.to_string(),
        exact: false,
    };
    let (_, result) = Talk::open(&engine, resume).await.turn("second").await;
    assert_eq!(result.session_id, id);
    let requests = rig.server.main_requests();
    let (before, after) = (requests[1].messages(), requests[2].messages());
    assert_eq!(&after[..before.len()], before);
    assert_eq!(after.len(), before.len() + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guidance_reaches_the_model_with_the_next_tool_result() {
    let call =
        json!({"tool_calls": [{"name": "terminal", "args": {"command": "sleep 0.4"}, "id": "call_1"}]});
    let rig = Rig::new(json!([call, text("understood")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt { content: "go".into() });
    talk.until(|event| matches!(event, Event::ToolStarted { .. }))
        .await;
    talk.handle.send(Op::Steer {
        text: "look left".to_owned(),
    });
    let (_, result) = talk.rest().await;
    assert!(rig.server.main_requests()[1].says("look left"));
    let rows = engine.store().all(&result.session_id).unwrap();
    let told = rows.iter().find(|row| row.message.role == Role::Tool).unwrap();
    assert!(told.message.content.text().contains("look left"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_in_a_tool_ends_the_turn_and_the_session_goes_on() {
    let call = json!({"tool_calls": [{"name": "terminal", "args": {"command": "sleep 30"}, "id": "call_1"},
        {"name": "terminal", "args": {"command": "touch second"}, "id": "call_2"}]});
    let rig = Rig::new(json!([call, text("on we go")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt { content: "go".into() });
    talk.until(|event| matches!(event, Event::ToolStarted { .. }))
        .await;
    talk.handle.send(Op::Interrupt);
    let (_, result) = talk.rest().await;
    assert_eq!(result.exit_reason, ExitReason::Interrupted);
    assert!(!rig.home.work().join("second").exists());
    let (_, result) = talk.turn("next").await;
    assert_eq!(result.exit_reason, ExitReason::TextResponse);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_turn_is_replayed_without_the_server() {
    let call = json!({"tool_calls": [{"name": "terminal", "args": {"command": "echo one"}, "id": "call_1"}]});
    let rig = Rig::new(json!([call, {"text": "1 2 ", "finish_reason": "length"}, text("3")]));
    let engine = rig.engine();
    let (_, result) = Talk::open(&engine, Open::New).await.turn("go").await;
    let sent = rig.server.main_requests().len();
    let replayed = replay::replay(&**engine.store(), &result.session_id, None).unwrap();
    assert_eq!(replayed.divergence, None);
    assert_eq!(replayed.calls, 3);
    assert_eq!(rig.server.main_requests().len(), sent);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_turns_of_one_session_run_one_after_the_other() {
    let slow = json!({"text": "first", "delay_ms": 400});
    let rig = Rig::new(json!([text("zero"), slow, text("second")]));
    let (one, two) = (rig.engine(), rig.engine());
    let (_, result) = Talk::open(&one, Open::New).await.turn("begin").await;
    let resume = || Open::Resume {
        name: result.session_id.to_string(),
        exact: false,
    };
    let (mut a, mut b) = (Talk::open(&one, resume()).await, Talk::open(&two, resume()).await);
    a.handle.send(Op::Prompt { content: "A".into() });
    a.until(|event| matches!(event, Event::TurnStarted { .. })).await;
    b.handle.send(Op::Prompt { content: "B".into() });
    let (first, second) = tokio::join!(a.rest(), b.rest());
    assert!(first.1.completed && second.1.completed);
    let rows = one.store().all(&result.session_id).unwrap();
    let roles: Vec<Role> = rows.iter().map(|row| row.message.role).collect();
    assert_eq!(
        roles,
        [
            Role::User,
            Role::Assistant,
            Role::User,
            Role::Assistant,
            Role::User,
            Role::Assistant
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_branch_goes_its_own_way() {
    let rig = Rig::new(json!([text("one"), text("two")]));
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let (_, first) = talk.turn("begin").await;
    talk.handle.send(Op::Command {
        name: "branch".to_owned(),
        args: String::new(),
    });
    let (_, second) = talk.turn("on").await;
    assert_ne!(first.session_id, second.session_id);
    assert_eq!(engine.store().all(&first.session_id).unwrap().len(), 2);
    assert_eq!(engine.store().live(&second.session_id).unwrap().len(), 4);
}
