//! A kill in the middle of a command, and what the next turn makes of it.

use super::Row;
use crate::{
    demo::{DemoError, stage::Stage},
    mock::Step,
};
use serde_json::json;

pub(super) const ROW: Row = Row {
    title: "kill -9 in the middle of a tool, then resume",
    run,
};

const COMMAND: &str = "echo started >> deploy.log; sleep 20; echo finished >> deploy.log";

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    stage.script([
        Step::call("terminal", json!({"command": COMMAND})),
        Step::say("never said"),
    ]);
    let session = stage.session.clone();
    let mut child = stage.start(&["-z", "Deploy it.", "--resume", &session])?;
    let is_running = stage.wait_for(|stage| stage.file("deploy.log").is_some());
    child.kill()?;
    child.wait()?;
    stage.claim(
        "the command was running when the program was killed",
        is_running,
        || "deploy.log was not written within a minute".to_owned(),
    )?;
    let stored = "SELECT count(*) FROM messages WHERE session_id = ?1 AND role = 'assistant' AND tool_calls LIKE '%deploy.log%'";
    let stored = stage.count(stored, &[&session]);
    stage.claim("the call was stored before it ran", stored == 1, || {
        format!("{stored} rows")
    })?;
    let open = "SELECT count(*) FROM tool_journal WHERE session_id = ?1 AND message_id IS NULL";
    let open = stage.count(open, &[&session]);
    stage.claim(
        "the journal holds one call whose end nobody saw",
        open == 1,
        || format!("{open} rows"),
    )?;

    let answer = "The deployment was cut off. I do not know whether it went through; let me check first.";
    stage.script([Step::say(answer)]);
    let result = stage.json(&["-z", "How far did it get?", "--resume", &session, "--json"])?;
    stage.claim("the session goes on", result["final_response"] == answer, || {
        result.to_string()
    })?;
    let results: Vec<String> = stage.column(
        "SELECT content FROM messages WHERE session_id = ?1 AND role = 'tool' ORDER BY id",
        &[&session],
    );
    let honest = results
        .last()
        .is_some_and(|text| text.contains("interrupted") && text.contains("outcome unknown"));
    stage.claim("the model is told that the outcome is unknown", honest, || {
        format!("{:?}", results.last())
    })?;
    let starts = stage
        .file("deploy.log")
        .unwrap_or_default()
        .matches("started")
        .count();
    stage.claim("the command was not run a second time", starts == 1, || {
        format!("started {starts} times")
    })
}
