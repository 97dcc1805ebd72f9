//! `model`: which model is used, and choosing another.

use clap::{ArgMatches, Args};
use serde_json::json;
use talaria_config::{Loaded, Overrides};

use super::Row;
use crate::args;
use crate::exit::{DONE, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "model",
    about: "Show the model in use, or choose another",
    define: Model::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Model {
    /// The model to use from now on.
    #[arg(value_name = "MODEL")]
    name: Option<String>,

    /// Its provider.
    #[arg(long)]
    provider: Option<String>,

    /// The address of its API.
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,

    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Model = args::read(matches)?;
    let changes = [
        ("model.provider", &asked.provider),
        ("model.base_url", &asked.base_url),
        ("model.default", &asked.name),
    ];
    for (key, value) in changes {
        if let Some(value) = value {
            talaria_config::set(&place.home, key, value)?;
        }
    }
    let cwd = place.cwd(None)?;
    show(&place.config(&cwd, &Overrides::default())?, asked.json);
    Ok(DONE)
}

fn show(loaded: &Loaded, json: bool) {
    let model = &loaded.config.model;
    if json {
        output::json(&json!({
            "model": model.default, "provider": model.provider, "base_url": loaded.shown.get("model.base_url"),
            "api_mode": model.api_mode, "context_length": model.context_length,
        }));
        return;
    }
    let unset = "(not set)".to_owned();
    for key in [
        "model.default",
        "model.provider",
        "model.base_url",
        "model.api_mode",
        "model.context_length",
    ] {
        let value = loaded
            .shown
            .get(key)
            .filter(|value| !value.is_empty())
            .unwrap_or(&unset);
        output::line(&format!("{key} = {value}  # {}", loaded.origin(key)));
    }
}
