//! `uncompress`: a new session with the originals of a compressed one.

use clap::{ArgMatches, Args};
use serde_json::json;

use super::Row;
use crate::args::{self, TurnFlags};
use crate::exit::{DONE, Outcome};
use crate::face;
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "uncompress",
    about: "Undo the newest compression of a session: a new one holds the originals and all that came after",
    define: Uncompress::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Uncompress {
    /// Id, unique prefix or title of any segment of the lineage.
    #[arg(value_name = "SESSION")]
    session: String,

    /// How many compressions are undone.
    #[arg(long, value_name = "N", default_value_t = 1)]
    steps: usize,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Uncompress = args::read(matches)?;
    let (engine, runtime) = face::engine_for_commands(place, &TurnFlags::default())?;
    let undone = runtime.block_on(engine.uncompress(&asked.session, asked.steps.max(1)))?;
    if asked.json {
        output::json(&json!(undone));
    } else {
        output::line(&format!(
            "{}: {} messages, about {} tokens",
            undone.session_id, undone.messages, undone.tokens
        ));
    }
    Ok(DONE)
}
