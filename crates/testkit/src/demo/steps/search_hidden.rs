//! Full-text search over what the model no longer sees.

use super::Row;
use crate::demo::{DemoError, stage::Stage};

pub(super) const ROW: Row = Row {
    title: "Search in what was hidden",
    run,
};

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let found = stage.json(&["search", "bittern", "--role", "tool", "--json"])?;
    let hits = found["hits"].as_array().cloned().unwrap_or_default();
    let (after, before) = (stage.long.after.clone(), stage.long.before.clone());
    let hidden = "SELECT count(*) FROM compactions c JOIN json_each(c.source_ids) hidden
                  JOIN messages m ON m.id = hidden.value
                  WHERE c.session_after = ?1 AND m.id = ?2 AND m.content LIKE '%bittern%'";
    let is_hidden = |hit: &serde_json::Value| {
        hit["session_id"] == before.as_str()
            && stage.count(hidden, &[&after, &hit["message_id"].to_string()]) == 1
    };
    let hit = hits.iter().find(|hit| is_hidden(hit)).cloned();
    stage.claim(
        "search finds the bittern in a hidden message, and names the session that has it",
        hit.is_some(),
        || found.to_string(),
    )?;
    let id = hit.unwrap_or_default()["message_id"].to_string();
    let cited = stage.long.cited.clone();
    stage.claim("it is the message that the summary cites", id == cited, || {
        format!("found {id}, cited {cited}")
    })
}
