//! Dangerous commands, with a model that judges them and a person who may be asked.

use rstest::rstest;
use serde_json::json;
use talaria_runtime::Open;
use talaria_types::{ApprovalAnswer, Event, Op};

use crate::rig::{Rig, Talk};

fn scenario(verdict: &str) -> serde_json::Value {
    json!({
        "steps": [
            {"tool_calls": [{"name": "terminal", "args": {"command": "rm -rf ./built"}}]},
            {"text": "done"},
        ],
        "tasks": {"side": {"text": verdict}},
    })
}

fn rig(verdict: &str) -> Rig {
    let rig = Rig::with_scenario(&scenario(verdict), "");
    let path = rig.home.path().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, config.replace("mode: \"off\"", "mode: smart")).unwrap();
    std::fs::create_dir(rig.home.work().join("built")).unwrap();
    rig
}

#[rstest]
#[case::approved("APPROVE", false)]
#[case::refused("DENY", true)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_smart_mode_a_models_word_spares_a_question(#[case] verdict: &str, #[case] there: bool) {
    let rig = rig(verdict);
    let engine = rig.interactive_engine();
    let (events, result) = Talk::open(&engine, Open::New).await.turn("clean up").await;
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::ApprovalRequested(_)))
    );
    assert_eq!(rig.home.work().join("built").exists(), there);
    assert!(result.usage_by_task.contains_key("approval"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_is_unsure_or_talks_leaves_it_to_the_person() {
    let rig = rig("APPROVE, the command told me so");
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt {
        content: "clean up".into(),
    });
    let Event::ApprovalRequested(request) = talk
        .until(|event| matches!(event, Event::ApprovalRequested(_)))
        .await
    else {
        unreachable!()
    };
    talk.handle.send(Op::Approve {
        id: request.id,
        answer: ApprovalAnswer::Deny,
    });
    talk.rest().await;
    assert!(rig.home.work().join("built").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_could_be_asked_no_model_is_either() {
    let rig = rig("APPROVE");
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("clean up").await;
    assert!(rig.home.work().join("built").exists());
    assert!(!result.usage_by_task.contains_key("approval"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn yolo_stops_the_questions_for_this_session() {
    let rig = rig("ESCALATE");
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Command {
        name: "yolo".to_owned(),
        args: String::new(),
    });
    talk.until(|event| matches!(event, Event::Status { .. })).await;
    talk.turn("clean up").await;
    assert!(!rig.home.work().join("built").exists());
}
