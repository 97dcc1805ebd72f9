//! `sessions`: the stored conversations.

mod context;
mod export;
mod list;
mod remove;
mod show;
mod tree;

use clap::{ArgMatches, Args, Subcommand};
use talaria_store::SessionStore;
use talaria_store::sqlite::SqliteStore;
use talaria_types::SessionId;

use super::Row;
use crate::args;
use crate::exit::{DONE, Failure, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "sessions",
    about: "List, show, export and change stored sessions",
    define: Sessions::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Sessions {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List sessions, newest first; a lineage once, by its live end.
    List(list::List),
    /// Print a session.
    Show(show::Show),
    /// Write sessions out, as JSON lines or Markdown.
    Export(export::Export),
    /// Erase a session with its messages.
    Delete(remove::Delete),
    /// Give a session a title.
    Rename(Rename),
    /// Erase ended sessions that were not used for a while.
    Prune(remove::Prune),
    /// Print numbers of the whole store.
    Stats(list::Stats),
    /// Search every message of every session (as `talaria search`).
    Search(super::search::Search),
    /// Print the segments of a session's lineage.
    Lineage(tree::Lineage),
    /// Make a copy that goes its own way.
    Branch(tree::Branch),
    /// Show what fills a session's window, and how far the next compression is.
    Context(context::Context),
}

/// Arguments of `rename`.
#[derive(Args, Debug)]
struct Rename {
    /// Id, unique prefix or title.
    session: String,
    /// The new title; none takes the old one away.
    #[arg(num_args = 0..)]
    title: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let sessions: Sessions = args::read(matches)?;
    match sessions.action {
        Action::List(list) => list.run(place),
        Action::Show(show) => show.run(place),
        Action::Export(export) => export.run(place),
        Action::Delete(delete) => delete.run(place),
        Action::Rename(rename) => rename.run(place),
        Action::Prune(prune) => prune.run(place),
        Action::Stats(stats) => stats.run(place),
        Action::Search(_) => {
            let inner = matches.subcommand().map(|(_, inner)| inner);
            inner.map_or(Ok(DONE), |inner| super::search::run_from(place, inner))
        }
        Action::Lineage(lineage) => lineage.run(place),
        Action::Branch(branch) => branch.run(place),
        Action::Context(context) => context.run(place),
    }
}

/// The store and the session of that name in it.
fn find(place: &Place, name: &str) -> Result<(SqliteStore, SessionId), Failure> {
    let store = place.store_with(name)?;
    let id = store.resolve(name)?;
    Ok((store, id))
}

/// Asks before something is erased; without a terminal only `--yes` is a yes.
fn confirmed(question: &str, yes: bool) -> Result<bool, Failure> {
    use std::io::IsTerminal;
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!("{question} was not confirmed")).hint("add --yes"));
    }
    output::notes(&format!("{question}? [y/N] "));
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.map_err(|error| Failure::failed(format!("the terminal cannot be read: {error}")))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

impl Rename {
    fn run(self, place: &Place) -> Outcome {
        let (store, id) = find(place, &self.session)?;
        let title = self.title.join(" ");
        let title = (!title.trim().is_empty()).then_some(title);
        store.set_title(&id, title.as_deref())?;
        let stored = store.session(&id)?.and_then(|row| row.title);
        if self.json {
            output::json(&serde_json::json!({"session_id": id, "title": stored}));
        } else {
            output::note(&match &stored {
                Some(title) => format!("{id} is now called “{title}”"),
                None => format!("{id} has no title any more"),
            });
        }
        Ok(DONE)
    }
}
