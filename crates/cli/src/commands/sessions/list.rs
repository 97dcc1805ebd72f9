//! `sessions list` and `sessions stats`.

use clap::Args;
use serde_json::json;
use talaria_store::{ListFilter, Listed, SessionStore, StoreStats};

use crate::exit::{DONE, Outcome};
use crate::output::{self, Style};
use crate::place::Place;
use crate::text;

/// Arguments of `list`.
#[derive(Args, Debug)]
pub(super) struct List {
    /// Sessions at most; 0 is all.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Leave out the first N.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// Only sessions of this source.
    #[arg(long, value_name = "S")]
    source: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Sessions a person is shown when no number is given.
const SCREENFUL: u64 = 20;

impl List {
    pub(super) fn run(self, place: &Place) -> Outcome {
        // A program wants everything; a person a screenful.
        let default = (!self.json).then_some(SCREENFUL);
        let limit = self.limit.map_or(default, |limit| (limit > 0).then_some(limit));
        let filter = ListFilter {
            limit,
            offset: self.offset,
            source: self.source,
        };
        let sessions = match place.store()? {
            Some(store) => store.list(&filter)?,
            None => Vec::new(),
        };
        if self.json {
            output::json(&json!({"sessions": masked(sessions)}));
        } else if sessions.is_empty() {
            output::note("there are no sessions yet");
        } else {
            output::line(&table(&sessions, place.stdout()));
        }
        Ok(DONE)
    }
}

fn masked(mut sessions: Vec<Listed>) -> Vec<Listed> {
    for session in &mut sessions {
        session.preview = talaria_redact::redact_own(&session.preview).into_owned();
    }
    sessions
}

fn table(sessions: &[Listed], style: Style) -> String {
    let now = text::now();
    let rows: Vec<Vec<String>> = sessions
        .iter()
        .map(|session| {
            vec![
                session.title.clone().unwrap_or_default(),
                talaria_redact::redact_own(&session.preview).into_owned(),
                text::ago(session.last_active, now),
                session.id.to_string(),
            ]
        })
        .collect();
    let table = text::table(
        &[("Title", 32), ("Preview", 40), ("Last active", 13), ("ID", 40)],
        &rows,
    );
    match table.split_once('\n') {
        Some((head, rest)) => format!("{}\n{rest}", style.bold(head)),
        None => table,
    }
}

/// Arguments of `stats`.
#[derive(Args, Debug)]
pub(super) struct Stats {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let stats = match place.store()? {
            Some(store) => store.stats()?,
            None => StoreStats::default(),
        };
        if self.json {
            output::json(&stats);
            return Ok(DONE);
        }
        let lines = [
            ("sessions", stats.sessions.to_string()),
            ("lineages", stats.lineages.to_string()),
            ("messages", stats.messages.to_string()),
            ("database", text::bytes(stats.bytes)),
        ];
        for (name, value) in lines {
            output::line(&format!("{name:<10} {value}"));
        }
        for (source, count) in &stats.by_source {
            output::line(&format!("  {source:<8} {count}"));
        }
        Ok(DONE)
    }
}
