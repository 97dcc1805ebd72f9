//! What servers ask of the model and of the person.

use serde_json::json;
use talaria_mcp::Source;
use talaria_tools::approval::Mode;
use talaria_types::ApprovalAnswer;
use tempfile::TempDir;

use crate::rig::{PEER, Rig, settings};

#[tokio::test]
async fn a_sample_is_given_when_it_is_switched_on_and_so_often_a_minute() {
    let rig = Rig::new(json!({"command": PEER, "sampling": {"enabled": true, "max_rpm": 1}})).await;
    let text = rig.text("sample", json!({"text": "hi"})).await;
    assert!(
        text.contains("you said hi") && text.contains("parrot-1"),
        "{text}"
    );
    let text = rig.text("sample", json!({"text": "hi"})).await;
    assert!(text.contains("at most 1 requests"), "{text}");
}

#[tokio::test]
async fn nobody_samples_unasked() {
    let rig = Rig::peer().await;
    let text = rig.text("sample", json!({"text": "hi"})).await;
    assert!(
        text.contains("not switched on") && !text.contains("you said"),
        "{text}"
    );
}

#[tokio::test]
async fn a_servers_question_reaches_the_person_and_is_cancelled_without_one() {
    let rig = Rig::peer().await;
    assert!(rig.text("ask", json!({})).await.contains("cancel"));
    rig.person.answers.lock().unwrap().push_back("Ada".to_owned());
    let text = rig.text("ask", json!({})).await;
    assert!(text.contains("accept") && text.contains("Ada"), "{text}");
    assert!(rig.person.heard.lock().unwrap()[0].contains("The MCP server peer asks:\nWho?"));
}

#[tokio::test]
async fn a_server_is_told_the_folder_it_works_for() {
    let rig = Rig::peer().await;
    let text = rig.text("roots", json!({})).await;
    assert!(
        text.contains(&format!("file://{}", rig.home.path().display())),
        "{text}"
    );
}

#[tokio::test]
async fn a_tool_that_a_project_brings_is_asked_for_once() {
    let home = || TempDir::new().unwrap();
    let written = json!({"command": PEER, "trust": true});
    let mut rig = Rig::of(home(), &settings(&written, Source::Project), Mode::Smart).await;
    let denied = rig.text("echo", json!({"text": "x"})).await;
    assert!(
        denied.contains("DENIED") && denied.contains("nobody to ask"),
        "{denied}"
    );
    rig.person.consent = Some(ApprovalAnswer::Session);
    for _ in 0..2 {
        assert!(rig.text("echo", json!({"text": "x"})).await.contains("\nx\n"));
    }
    let heard = rig.person.heard.lock().unwrap().clone();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(
        heard[0].starts_with("mcp__peer__echo {\"text\":\"x\"}"),
        "{heard:?}"
    );
}

#[tokio::test]
async fn who_wants_to_be_asked_about_everything_is() {
    let asked = |written, mode| async move {
        let rig = Rig::of(TempDir::new().unwrap(), &settings(&written, Source::Config), mode).await;
        rig.text("get_sum", json!({"a": 1, "b": 1}))
            .await
            .contains("DENIED")
    };
    assert!(asked(json!({"command": PEER}), Mode::Manual).await);
    assert!(asked(json!({"command": PEER, "trust": false}), Mode::Smart).await);
    assert!(!asked(json!({"command": PEER, "trust": true}), Mode::Manual).await);
    assert!(!asked(json!({"command": PEER}), Mode::Smart).await);
    assert!(!asked(json!({"command": PEER, "trust": false}), Mode::Off).await);
}
