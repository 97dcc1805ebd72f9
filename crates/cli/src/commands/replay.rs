//! `replay`: a recorded turn again, without a network.

use clap::{ArgMatches, Args};
use serde_json::json;
use talaria_runtime::replay::replay;
use talaria_store::SessionStore;

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "replay",
    about: "Run a recorded turn again with its recorded answers, without a network",
    define: Replay::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Replay {
    /// Id, unique prefix or title.
    #[arg(value_name = "SESSION")]
    session: String,

    /// Which turn of the session, from 1 (the last one).
    #[arg(long, value_name = "N")]
    turn: Option<usize>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Replay = args::read(matches)?;
    let store = place.store_with(&asked.session)?;
    let session = store.resolve(&asked.session)?;
    let replayed = replay(&store, &session, asked.turn)?;
    let same = replayed.divergence.is_none();
    if asked.json {
        output::json(&json!({
            "session_id": session, "turn_id": replayed.turn, "calls": replayed.calls,
            "same": same, "divergence": replayed.divergence,
        }));
    }
    match &replayed.divergence {
        None if !asked.json => {
            output::line(&format!(
                "replay of turn {}: {}, all as recorded",
                replayed.turn,
                crate::text::count(replayed.calls, "call")
            ));
        }
        None => {}
        Some(divergence) => {
            let told = talaria_redact::redact(divergence);
            output::note(&format!(
                "replay of turn {}: it goes another way\n{told}",
                replayed.turn
            ));
        }
    }
    Ok(if same { DONE } else { FAILED })
}
