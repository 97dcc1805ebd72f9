//! `compress`: hides the older part of a session behind a summary, by hand.

use clap::{ArgMatches, Args};
use serde_json::json;
use talaria_types::CompactionReport;

use super::Row;
use crate::args::{self, TurnFlags};
use crate::exit::{DONE, Outcome};
use crate::face;
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "compress",
    about: "Hide the older part of a session behind a summary; `uncompress` undoes it",
    define: Compress::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Compress {
    /// Id, unique prefix or title.
    #[arg(value_name = "SESSION")]
    session: String,

    /// What the summary should care for most.
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,

    /// Only say what would be hidden: no model is asked and nothing is written.
    #[arg(long)]
    preview: bool,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Compress = args::read(matches)?;
    let (engine, runtime) = face::engine_for_commands(place, &TurnFlags::default())?;
    let (report, warnings) = runtime.block_on(engine.compress(&asked.session, asked.focus, asked.preview))?;
    for warning in warnings {
        output::note(&format!("warning: {warning}"));
    }
    if asked.json {
        let mut value = json!(report);
        if asked.preview {
            value["preview"] = true.into();
        }
        output::json(&value);
    } else {
        output::line(&told(&report, asked.preview));
    }
    Ok(DONE)
}

fn told(report: &CompactionReport, preview: bool) -> String {
    if preview {
        return match &report.reason {
            Some(why) => format!("nothing would be compressed: {why}"),
            None => format!(
                "{} messages would be hidden, about {} → {} tokens; nothing was changed",
                report.messages_hidden, report.tokens_before, report.tokens_after
            ),
        };
    }
    if !report.compressed {
        return format!(
            "nothing was compressed: {}",
            report.reason.as_deref().unwrap_or("no reason given")
        );
    }
    let bill = report
        .bill_in_words()
        .map_or_else(String::new, |bill| format!("{bill}\n"));
    format!(
        "{} messages hidden, about {} → {} tokens, kept {} of {} anchors\n{bill}{} → {}",
        report.messages_hidden,
        report.tokens_before,
        report.tokens_after,
        report.anchors.kept,
        report.anchors.total,
        report.session_before,
        report.session_after
    )
}
