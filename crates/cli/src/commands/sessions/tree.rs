//! `sessions lineage` and `sessions branch`.

use clap::Args;
use serde_json::{Value, json};
use talaria_store::{NewSession, SessionRow, SessionStore};
use talaria_types::SessionId;

use super::find;
use crate::exit::{DONE, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::text;

/// Arguments of `lineage`.
#[derive(Args, Debug)]
pub(super) struct Lineage {
    /// Id, unique prefix or title of any of its segments.
    session: String,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Lineage {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let (store, id) = find(place, &self.session)?;
        let tip = store.tip(&id)?;
        let ids = store.lineage(&tip)?;
        let rows: Result<Vec<Option<SessionRow>>, _> = ids.iter().map(|id| store.session(id)).collect();
        let rows: Vec<SessionRow> = rows?.into_iter().flatten().collect();
        if self.json {
            let segments: Vec<Value> = rows.iter().map(segment).collect();
            output::json(&json!({"root": ids.first(), "tip": tip, "sessions": segments}));
            return Ok(DONE);
        }
        for row in &rows {
            let end = row.end_reason.as_deref().unwrap_or("open");
            let title = row.title.as_deref().unwrap_or("untitled");
            let started = text::moment(row.started_at);
            output::line(&format!(
                "{}  {started}  {}  {end}  {title}",
                row.id,
                text::count(row.message_count, "message")
            ));
        }
        Ok(DONE)
    }
}

fn segment(row: &SessionRow) -> Value {
    json!({
        "id": row.id, "parent": row.parent_session_id, "end_reason": row.end_reason, "title": row.title,
        "compaction": row.end_reason.as_deref() == Some("compression"),
    })
}

/// Arguments of `branch`.
#[derive(Args, Debug)]
pub(super) struct Branch {
    /// Id, unique prefix or title; its live end is copied.
    session: String,
    /// The title of the copy.
    #[arg(long)]
    title: Option<String>,
    /// Copy the segment as it was instead of the live end.
    #[arg(long)]
    exact: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Branch {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let (store, found) = find(place, &self.session)?;
        let from = if self.exact { found } else { store.tip(&found)? };
        let Some(row) = store.session(&from)? else {
            return Err(Failure::usage(format!("session {from} is gone")));
        };
        let new = branch_of(row, self.title);
        let messages = store.branch(&from, &new)?;
        let bytes: usize = store
            .live(&new.id)?
            .iter()
            .map(|row| row.message.content.text().len())
            .sum();
        if self.json {
            let tokens = (bytes as u64).div_ceil(4);
            output::json(
                &json!({"session_id": new.id, "from": from, "messages": messages, "tokens": tokens}),
            );
        } else {
            output::line(new.id.as_str());
            output::note(&format!(
                "{} copied from {from}",
                text::count(messages, "message")
            ));
        }
        Ok(DONE)
    }
}

/// A session like `row` that says where it comes from.
fn branch_of(row: SessionRow, title: Option<String>) -> NewSession {
    let mut model_config = row.model_config;
    if !model_config.is_object() {
        model_config = json!({});
    }
    model_config["_branched_from"] = row.id.as_str().into();
    NewSession {
        id: fresh_id(),
        source: row.source,
        parent: Some(row.id),
        model: row.model.unwrap_or_default(),
        model_config,
        system_prompt: row.system_prompt.unwrap_or_default(),
        cwd: row.cwd,
        title,
        started_at: text::now(),
        billing: (String::new(), String::new(), String::new()),
    }
}

/// A fresh id from the local time and the system's randomness.
fn fresh_id() -> SessionId {
    let stamp = text::stamp();
    let word = getrandom::u32().unwrap_or_else(|_| std::process::id());
    let [a, b, c, _] = word.to_le_bytes();
    SessionId::fresh(&stamp, [a, b, c])
}
