//! A fact that the model keeps, and that the next conversation knows.

use super::Row;
use crate::{
    demo::{DemoError, stage::Stage},
    mock::Step,
};
use serde_json::json;

pub(super) const ROW: Row = Row {
    title: "Remember something for good, and take it back",
    run,
};

const FACT: &str = "Counts herons from the bridge, not from the bank.";

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let add = json!({"action": "add", "target": "user", "content": FACT});
    stage.script([Step::call("memory", add), Step::say("Noted.")]);
    stage.json(&["-z", "I count herons from the bridge. Remember that.", "--json"])?;
    let kept = stage.home_file("memories/USER.md").unwrap_or_default();
    stage.claim("the fact is in USER.md", kept.contains(FACT), || kept.clone())?;
    stage.script([Step::say("From the bridge.")]);
    stage.json(&["-z", "Where do I count herons from?", "--json"])?;
    let requests = stage.server.main_requests();
    let told = requests.last().is_some_and(|request| request.says(FACT));
    stage.claim("a new conversation's prompt holds it", told, || {
        format!("{} requests", requests.len())
    })?;
    stage.json(&["memory", "undo", "--json"])?;
    let left = stage.home_file("memories/USER.md").unwrap_or_default();
    stage.claim("`memory undo` takes it back", !left.contains(FACT), || {
        left.clone()
    })
}
