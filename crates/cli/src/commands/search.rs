//! `search`: full-text search over all sessions.

use clap::{ArgMatches, Args};
use serde_json::json;
use talaria_store::{SearchQuery, SearchResults, SessionStore};

use super::Row;
use crate::args;
use crate::exit::{DONE, Outcome};
use crate::output::{self, Style};
use crate::place::Place;
use crate::text;

pub(super) const ROW: Row = Row {
    name: "search",
    about: "Search every message of every session",
    define: Search::augment_args,
    run: |place, _, matches| run(place, &args::read(matches)?),
};

/// Search every message of every session; `talaria sessions search` is the same
#[derive(Args, Debug)]
pub(super) struct Search {
    /// Words to look for; "quoted" ones together, OR, NOT and word* are understood.
    #[arg(required = true, num_args = 1..)]
    query: Vec<String>,

    /// Hits at most.
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,

    /// Leave out the first N hits.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,

    /// Only messages of this role.
    #[arg(long, value_name = "R", value_parser = ["user", "assistant", "tool", "system"])]
    role: Option<String>,

    /// Only sessions of this source.
    #[arg(long, value_name = "S")]
    source: Option<String>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn run_from(place: &Place, matches: &ArgMatches) -> Outcome {
    run(place, &args::read(matches)?)
}

fn run(place: &Place, search: &Search) -> Outcome {
    let query = SearchQuery {
        text: search.query.join(" "),
        limit: search.limit,
        offset: search.offset,
        role: search.role.clone(),
        source: search.source.clone(),
    };
    let found = match place.store()? {
        Some(store) => store.search(&query)?,
        None => SearchResults::default(),
    };
    if search.json {
        let mut shape = json!({"query": query.text, "hits": found.hits, "total": found.total});
        if let Some(note) = &found.note {
            shape["note"] = note.as_str().into();
        }
        output::json(&shape);
    } else {
        show(&found, place.stdout());
    }
    Ok(DONE)
}

fn show(found: &SearchResults, style: Style) {
    for hit in &found.hits {
        let title = hit.title.as_deref().unwrap_or("untitled");
        let head = format!(
            "{}  {}  {}",
            hit.session_id,
            text::moment(hit.timestamp),
            hit.role
        );
        output::line(&format!(
            "{}  {}",
            style.bold(&head),
            style.dim(&format!("{title}  [{}]", hit.message_id))
        ));
        output::line(&format!("  {}", text::clipped(&hit.snippet, 160)));
    }
    let shown = found.hits.len() as u64;
    output::note(&match found.total {
        0 => "nothing found".to_owned(),
        total if total > shown => format!("{shown} of {total}; --limit and --offset show more"),
        total => format!("{total} found"),
    });
    if let Some(note) = &found.note {
        output::note(note);
    }
}
