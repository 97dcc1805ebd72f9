//! `tools`: the toolsets and their tools.

use clap::{ArgMatches, Args};
use serde_json::json;
use talaria_config::Overrides;

use super::Row;
use crate::args;
use crate::exit::{DONE, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "tools",
    about: "List the toolsets that -t takes, and their tools",
    define: Tools::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Tools {
    /// `list`, which is also what happens without it.
    #[arg(value_parser = ["list"], hide = true)]
    action: Option<String>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Tools = args::read(matches)?;
    let cwd = place.cwd(None)?;
    let loaded = place.config(&cwd, &Overrides::default())?;
    let config = &loaded.config;
    let disabled = |name: &str| config.agent.disabled_toolsets.iter().any(|other| other == name);
    let offered = |name: &str| {
        !disabled(name) && (config.toolsets.is_empty() || config.toolsets.iter().any(|other| other == name))
    };
    let sets = talaria_runtime::toolsets(&loaded)?;
    if asked.json {
        let sets: Vec<_> = sets
            .iter()
            .map(|(name, tools)| json!({"name": name, "tools": tools, "enabled": offered(name)}))
            .collect();
        output::json(&json!({"toolsets": sets}));
        return Ok(DONE);
    }
    for (name, tools) in sets {
        let mark = if offered(&name) { "" } else { "  (off)" };
        output::line(&format!("{name:<12} {}{mark}", tools.join(", ")));
    }
    Ok(DONE)
}
