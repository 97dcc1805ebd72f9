//! Full-text search over what was said.

use super::Row;
use crate::demo::{DemoError, stage::Stage};

pub(super) const ROW: Row = Row {
    title: "Search every word that was said",
    run,
};

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let found = stage.json(&["search", "heron", "--json"])?;
    let hits = found["hits"].as_array().cloned().unwrap_or_default();
    stage.claim("search finds the heron", !hits.is_empty(), || found.to_string())?;
    let session = stage.session.clone();
    // A home that is used again has herons of earlier runs too.
    let sessions = hits.iter().any(|hit| hit["session_id"] == session.as_str());
    stage.claim("the session that spoke of it is among the hits", sessions, || {
        found.to_string()
    })?;
    let ids: Vec<String> = hits.iter().map(|hit| hit["message_id"].to_string()).collect();
    let sql = "SELECT count(*) FROM messages WHERE id = ?1 AND (content LIKE '%heron%' OR tool_calls LIKE '%heron%')";
    let real = ids.iter().all(|id| stage.count(sql, &[id]) == 1);
    stage.claim("each hit is a message that holds the word", real, || {
        format!("{ids:?}")
    })?;
    let none = stage.json(&["search", "ptarmigan", "--json"])?;
    stage.claim("a word that nobody said is not found", none["total"] == 0, || {
        none.to_string()
    })
}
