//! The original behind a line of the summary, for the model and for a person.

use super::{Row, long_job::RING};
use crate::{
    demo::{DemoError, stage::Stage},
    mock::Step,
};
use serde_json::json;

pub(super) const ROW: Row = Row {
    title: "Recall a hidden message by the id that the summary cites",
    run,
};

const ANSWER: &str = "The bittern's ring reads BT-4471; it called from the reeds at dusk of the second day.";

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let cited = stage.long.cited.clone();
    let id: i64 = cited.parse().unwrap_or_default();
    let original: String = stage
        .column("SELECT content FROM messages WHERE id = ?1", &[&cited])
        .pop()
        .unwrap_or_default();
    stage.script([Step::call("recall", json!({"ids": [id]})), Step::say(ANSWER)]);
    // The old name of the conversation leads to the session that goes on.
    let before = stage.long.before.clone();
    let result = stage.json(&[
        "-z",
        "Where was the ringed bittern?",
        "--resume",
        &before,
        "--json",
    ])?;
    let after = stage.long.after.clone();
    stage.claim(
        "resumed by its old id, the conversation goes on where it is now",
        result["session_id"] == after.as_str() && result["final_response"] == ANSWER,
        || result.to_string(),
    )?;
    let newest =
        "SELECT content FROM messages WHERE session_id = ?1 AND role = 'tool' ORDER BY id DESC LIMIT 1";
    let recalled: String = stage.column(newest, &[&after]).pop().unwrap_or_default();
    stage.claim(
        &format!("the model called `recall` with {id} and was given the log that it had forgotten"),
        recalled.contains(RING) && recalled.contains("a bittern called from the reeds"),
        || recalled.clone(),
    )?;
    let printed = stage.json(&["recall", &format!("m:{cited}"), "--session", &after, "--json"])?;
    stage.claim(
        "a person is given the same message, byte for byte",
        !original.is_empty() && printed["messages"][0]["content"] == original.as_str(),
        || printed.to_string(),
    )
}
