//! Servers that die, hang, or talk nonsense.

use std::time::Duration;

use serde_json::json;
use talaria_mcp::Source;
use talaria_tools::approval::Mode;
use tempfile::TempDir;

use crate::rig::{PEER, Rig, settings};

#[tokio::test]
async fn a_server_that_cannot_start_is_told_with_its_last_words_and_left_alone() {
    let rig = Rig::new(json!({"command": PEER, "args": ["dead"]})).await;
    let told = rig.warnings.join("\n");
    assert!(
        told.contains("\"peer\"") && told.contains("cannot find my configuration"),
        "{told}"
    );
    let again = rig.servers.test("peer").await.unwrap_err().to_string();
    assert!(
        again.contains("3 times in a row") && again.contains("left alone"),
        "{again}"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let rig = Rig::new(json!({"command": "/nowhere/server"})).await;
    assert!(
        rig.warnings[0].contains("/nowhere/server cannot be started"),
        "{:?}",
        rig.warnings
    );
}

#[tokio::test]
async fn a_server_that_never_answers_the_first_word_is_given_up() {
    let rig = Rig::new(json!({"command": PEER, "args": ["mute"], "connect_timeout": 0.05})).await;
    assert!(
        rig.warnings[0].contains("did not start within"),
        "{:?}",
        rig.warnings
    );
}

#[tokio::test]
async fn a_crash_in_a_call_is_told_and_the_next_call_has_a_new_server() {
    let rig = Rig::peer().await;
    let crashed = rig.call("mcp__peer__crash", json!({})).await;
    let text = crashed.content.text();
    assert!(
        !crashed.ok && text.contains("ended while the call ran") && text.contains("not known"),
        "{text}"
    );
    assert!(
        rig.text("echo", json!({"text": "back"}))
            .await
            .contains("\nback\n")
    );
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_given_up_and_the_server_is_told() {
    let rig = Rig::new(json!({"command": PEER, "timeout": 0.05})).await;
    let text = rig.text("never", json!({})).await;
    assert!(text.contains("did not answer within"), "{text}");
    let log = rig.home.path().join("logs/mcp-stderr.log");
    let mut told = String::new();
    for _ in 0..2_000 {
        told = std::fs::read_to_string(&log).unwrap_or_default();
        if told.contains("cancelled") {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(told.contains("[peer] peer is up"), "{told}");
}

#[tokio::test]
async fn an_interrupt_ends_a_call_at_once() {
    let rig = Rig::peer().await;
    let cancel = rig.cancel.clone();
    let (result, ()) = tokio::join!(rig.call("mcp__peer__never", json!({})), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert!(!result.ok && result.duration_ms < 5_000, "{result:?}");
}

#[tokio::test]
async fn noise_between_messages_is_passed_over() {
    let rig = Rig::peer().await;
    assert!(rig.text("noise", json!({})).await.contains("after the noise"));
}

#[tokio::test]
async fn the_programs_of_servers_end_with_the_session() {
    let rig = Rig::peer().await;
    assert!(rig.servers.states()[0].connected);
    rig.servers.close().await;
    assert!(!rig.servers.states()[0].connected);
}

#[tokio::test]
async fn a_server_that_is_remembered_is_started_by_its_first_call_only() {
    let settings = settings(&json!({"command": PEER}), Source::Config);
    let first = Rig::of(TempDir::new().unwrap(), &settings, Mode::Smart).await;
    first.servers.close().await;
    let second = Rig::of(first.home, &settings, Mode::Smart).await;
    assert!(!second.servers.states()[0].connected);
    assert!(second.registry.get("mcp__peer__echo").is_some());
    assert!(
        second
            .text("echo", json!({"text": "late"}))
            .await
            .contains("\nlate\n")
    );
    assert!(second.servers.states()[0].connected);
}

#[tokio::test]
async fn a_tool_the_server_no_longer_has_is_answered_honestly() {
    let rig = Rig::peer().await;
    let waited = tokio::time::timeout(Duration::from_secs(30), rig.text("echo", json!({"text": 5}))).await;
    assert!(waited.is_ok());
    let settings = settings(&json!({"command": PEER, "args": ["x"]}), Source::Config);
    let text = serde_json::to_string(&json!({"server": "peer 1.0", "resources": false, "prompts": false, "may_change": false,
        "tools": [{"name": "gone", "description": "gone", "parameters": {"type": "object", "properties": {}}}]}))
    .unwrap();
    let home = TempDir::new().unwrap();
    let known = Rig::of(home, &settings, Mode::Smart).await;
    let file = std::fs::read_dir(known.home.path().join("cache/mcp"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    std::fs::write(file, text).unwrap();
    let later = Rig::of(known.home, &settings, Mode::Smart).await;
    let answer = later.text("gone", json!({})).await;
    assert!(
        answer.contains("refused") && answer.contains("no tool gone"),
        "{answer}"
    );
}
