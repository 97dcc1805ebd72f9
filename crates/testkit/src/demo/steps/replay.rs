//! A recorded turn run again, without the model.

use super::Row;
use crate::demo::{
    DemoError,
    stage::{Stage, shown},
};

pub(super) const ROW: Row = Row {
    title: "Replay the first turn without a network",
    run,
};

fn run(stage: &mut Stage<'_>) -> Result<(), DemoError> {
    let session = stage.session.clone();
    let asked = stage.server.requests().len();
    let sql = "SELECT count(*) FROM messages";
    let rows = stage.count(sql, &[]);
    let output = stage.run(&["replay", &session, "--turn", "1"])?;
    stage.claim(
        "the replay goes as it was recorded",
        output.status.success(),
        || shown(&output),
    )?;
    let now = stage.server.requests().len();
    stage.claim("the model was not asked", now == asked, || {
        format!("{} requests", now - asked)
    })?;
    let after = stage.count(sql, &[]);
    stage.claim(
        "the database has no message more and none less",
        after == rows,
        || format!("{rows} and {after}"),
    )?;
    let records = "SELECT count(*) FROM turn_records WHERE session_id = ?1";
    let records = stage.count(records, &[&session]);
    stage.claim("the records it ran from are in the database", records > 0, || {
        format!("{records} records")
    })
}
