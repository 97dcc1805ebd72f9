//! `sessions delete` and `sessions prune`: the only commands that erase.

use clap::Args;
use serde_json::json;
use talaria_store::{SessionStore, StoreError};
use talaria_types::{ErrorKind, Timestamp};

use super::{confirmed, find};
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::text;

/// Arguments of `delete`.
#[derive(Args, Debug)]
pub(super) struct Delete {
    /// Id, unique prefix or title.
    session: String,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Delete {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let (store, id) = find(place, &self.session)?;
        let row = store.session(&id)?;
        let named = row.as_ref().and_then(|row| row.title.as_deref());
        if !id.as_str().starts_with(&self.session) && named != Some(self.session.as_str()) {
            // A title means the newest of its line everywhere else; what is erased is meant exactly.
            let title = named.unwrap_or_default();
            return Err(Failure::usage(format!(
                "{:?} may mean more than one session; the newest is {id} “{title}”",
                self.session
            ))
            .hint("name the one to erase by its id"));
        }
        let messages = text::count(row.as_ref().map_or(0, |row| row.message_count), "message");
        let title = row
            .and_then(|row| row.title)
            .map(|title| format!(" “{title}”"))
            .unwrap_or_default();
        if !confirmed(&format!("erasing session {id}{title} with {messages}"), self.yes)? {
            output::note("nothing was erased");
            return Ok(FAILED);
        }
        match store.delete(&id) {
            Err(error @ StoreError::SessionBusy { .. }) if self.json => {
                let told = json!({"kind": ErrorKind::SessionBusy, "message": error.to_string()});
                output::json(&json!({"deleted": [], "error": told}));
                return Err(error.into());
            }
            done => done?,
        }
        if self.json {
            output::json(&json!({"deleted": [id]}));
        } else {
            output::note(&format!("{id} is erased"));
        }
        Ok(DONE)
    }
}

/// Arguments of `prune`.
#[derive(Args, Debug)]
pub(super) struct Prune {
    /// Days without use.
    #[arg(long, value_name = "DAYS", default_value_t = 90)]
    older_than: u64,
    /// Only sessions of this source.
    #[arg(long, value_name = "S")]
    source: Option<String>,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Prune {
    pub(super) fn run(self, place: &Place) -> Outcome {
        let Some(store) = place.store()? else {
            output::note("there are no sessions yet");
            return Ok(DONE);
        };
        let of = self
            .source
            .as_deref()
            .map(|source| format!(" of {source}"))
            .unwrap_or_default();
        let question = format!(
            "erasing ended sessions{of} that were not used for {}",
            text::count(self.older_than, "day")
        );
        if !confirmed(&question, self.yes)? {
            output::note("nothing was erased");
            return Ok(FAILED);
        }
        let before = Timestamp(text::now().0 - self.older_than as f64 * 86_400.0);
        let erased = store.prune(before, self.source.as_deref())?;
        if self.json {
            output::json(&json!({"deleted_count": erased}));
        } else {
            output::note(&format!("{} erased", text::count(erased, "session")));
        }
        Ok(DONE)
    }
}
