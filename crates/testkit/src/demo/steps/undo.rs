//! A compression taken back.

use super::Row;
use crate::demo::{DemoError, stage::Stage};

pub(super) const ROW: Row = Row {
    title: "Undo the compression",
    run,
};

/// A message as it is compared: who, what, and which calls.
const SHAPE: &str = "m.role || '|' || ifnull(m.content, '') || '|' || ifnull(m.tool_calls, '') || '|' || ifnull(m.tool_call_id, '')";

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let (before, after) = (stage.long.before.clone(), stage.long.after.clone());
    let rows = |stage: &Stage<'_>| {
        let sql = "SELECT id || ' ' || active || ' ' || ifnull(content, '') FROM messages WHERE session_id IN (?1, ?2) ORDER BY id";
        stage.column::<String>(sql, &[&before, &after])
    };
    let old = rows(stage);
    let mut expected: Vec<String> = stage.column(
        &format!(
            "SELECT {SHAPE} FROM compactions c JOIN json_each(c.rows_before) live JOIN messages m ON m.id = live.value
             WHERE c.session_after = ?1 ORDER BY live.key"
        ),
        &[&after],
    );
    let hidden = expected.len();
    expected.extend(stage.column::<String>(
        &format!(
            "SELECT {SHAPE} FROM compactions c JOIN messages m ON m.session_id = c.session_after AND m.id > c.last_written
             WHERE c.session_after = ?1 ORDER BY m.id"
        ),
        &[&after],
    ));
    let since = expected.len() - hidden;

    let undone = stage.json(&["uncompress", &before, "--json"])?;
    let new = undone["session_id"].as_str().unwrap_or_default().to_owned();
    let record = "SELECT count(*) FROM compactions WHERE session_after = ?1 AND undone_by = ?2";
    let record = stage.count(record, &[&after, &new]);
    stage.claim(
        &format!("the undo is recorded, and the session {new} goes on without the compression"),
        record == 1,
        || undone.to_string(),
    )?;
    let held: Vec<String> = stage.column(
        &format!("SELECT {SHAPE} FROM messages m WHERE m.session_id = ?1 ORDER BY m.id"),
        &[&new],
    );
    stage.claim(
        &format!(
            "it holds the {hidden} messages from before, byte for byte, then the {since} that came after"
        ),
        hidden > 0 && since > 0 && held == expected,
        || format!("{} messages instead of {}", held.len(), expected.len()),
    )?;
    stage.claim(
        "the compressed session and its originals are as they were",
        !old.is_empty() && rows(stage) == old,
        || format!("{} rows before", old.len()),
    )
}
