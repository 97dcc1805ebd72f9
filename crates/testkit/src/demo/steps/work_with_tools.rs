//! A turn in which the model writes a file, reads it and runs a command.

use super::Row;
use crate::{
    demo::{DemoError, stage::Stage},
    mock::Step,
};
use serde_json::json;

pub(super) const ROW: Row = Row {
    title: "A task with tools",
    run,
};

const BODY: &str = "The grey heron stands still for an hour.\nThen it is not still.\n";
const ANSWER: &str = "heron.txt holds two lines and 13 words.";

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    stage.script([
        Step::call("write_file", json!({"path": "heron.txt", "content": BODY})),
        Step::call("read_file", json!({"path": "heron.txt"})),
        Step::call("terminal", json!({"command": "wc -l heron.txt"})),
        Step::say(ANSWER),
    ]);
    let result = stage.json(&["-z", "Write two lines about herons and count them.", "--json"])?;
    let session = result["session_id"].as_str().unwrap_or_default().to_owned();
    stage.session.clone_from(&session);
    stage.claim(
        "the answer is the model's",
        result["final_response"] == ANSWER,
        || result.to_string(),
    )?;
    let written = stage.file("heron.txt");
    stage.claim(
        "the tool wrote the file, byte for byte",
        written.as_deref() == Some(BODY),
        || format!("{written:?}"),
    )?;
    let roles: Vec<String> = stage.column(
        "SELECT role FROM messages WHERE session_id = ?1 ORDER BY id",
        &[&session],
    );
    let wanted = [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ];
    stage.claim(
        "eight messages are in the database, in their order",
        roles == wanted,
        || format!("{roles:?}"),
    )?;
    let outputs: Vec<String> = stage.column(
        "SELECT content FROM messages WHERE session_id = ?1 AND role = 'tool' ORDER BY id",
        &[&session],
    );
    let ran = outputs
        .last()
        .is_some_and(|output| output.contains("2 heron.txt"));
    stage.claim("the command's output came back to the model", ran, || {
        format!("{outputs:?}")
    })?;
    let open = "SELECT count(*) FROM tool_journal WHERE session_id = ?1 AND message_id IS NULL";
    let open = stage.count(open, &[&session]);
    stage.claim(
        "the journal knows of no call without its result",
        open == 0,
        || format!("{open} open calls"),
    )
}
