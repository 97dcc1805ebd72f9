//! A review that looks back at a turn and keeps what the model did not.

use super::Row;
use crate::{
    demo::{DemoError, stage::Stage},
    mock::Step,
};
use serde_json::json;

pub(super) const ROW: Row = Row {
    title: "Look back at a turn by itself",
    run,
};

const FACT: &str = "Heron counts go into a table, one row a day.";
const ANSWER: &str = "Here is the count as a table.";

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    stage.review_every(1)?;
    let add = json!({"action": "add", "target": "memory", "content": FACT});
    stage.script([
        Step::say(ANSWER),
        Step::call("memory", add),
        Step::say("Nothing more to save."),
    ]);
    let result = stage.json(&["-q", "No, as a table! One row a day, always.", "--json"])?;
    stage.review_every(0)?;
    let session = result["session_id"].as_str().unwrap_or_default().to_owned();
    stage.claim(
        "the answer is the turn's own",
        result["final_response"] == ANSWER,
        || result.to_string(),
    )?;
    let kept = stage.home_file("memories/MEMORY.md").unwrap_or_default();
    stage.claim(
        "the review kept the lesson in MEMORY.md",
        kept.contains(FACT),
        || kept.clone(),
    )?;
    let rows = stage.count("SELECT count(*) FROM messages WHERE session_id = ?1", &[&session]);
    stage.claim("the conversation holds no row of it", rows == 2, || {
        format!("{rows} rows")
    })?;
    let requests = stage.server.main_requests();
    let [turn, review, ..] = requests.as_slice() else {
        return stage.claim("a review was made", false, || {
            format!("{} requests", requests.len())
        });
    };
    let (turn, review) = (turn.messages(), review.messages());
    stage.claim(
        "it began with the conversation's own bytes",
        review.starts_with(turn),
        || format!("{} and {} messages", turn.len(), review.len()),
    )
}
