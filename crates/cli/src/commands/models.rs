//! `models`: what is known about models, and fetching it anew.

use clap::{ArgMatches, Args, Subcommand};
use serde_json::json;
use talaria_config::{Loaded, Overrides, env};
use talaria_providers::catalogue::update;
use talaria_types::{ApiMode, ModelIdentity};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "models",
    about: "Show what is known about a model, or fetch newer facts and prices",
    define: Models::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Models {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the window, the longest answer and the prices of a model.
    Show(Show),
    /// Fetch facts and prices of all models from models.dev, or from another address of the same shape.
    Update(Update),
}

/// Arguments of `show`.
#[derive(Args, Debug)]
struct Show {
    /// The model.
    model: String,
    /// Its provider; prices are known per provider.
    #[arg(long)]
    provider: Option<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Arguments of `update`.
#[derive(Args, Debug)]
struct Update {
    /// Where from.
    #[arg(long, value_name = "URL", default_value = update::SOURCE)]
    url: String,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let models: Models = args::read(matches)?;
    let loaded = place.config(&place.cwd(None)?, &Overrides::default())?;
    match models.action {
        Action::Show(show) => show.run(&loaded),
        Action::Update(Update { url }) => fetch(place, &loaded, &url),
    }
}

impl Show {
    fn run(&self, loaded: &Loaded) -> Outcome {
        let (catalogue, warnings) = update::layered(&loaded.home.fetched_models(), &loaded.home.models());
        warnings
            .iter()
            .for_each(|warning| output::note(&format!("warning: {warning}")));
        let provider = self.provider.as_ref().unwrap_or(&loaded.config.model.provider);
        let identity = ModelIdentity {
            provider: provider.clone(),
            model: self.model.clone(),
            base_url: String::new(),
            api_mode: ApiMode::default(),
        };
        let limits = catalogue.limits(&identity);
        let facts = catalogue.offered(&identity);
        let cost = facts.and_then(|facts| facts.cost);
        if self.json {
            output::json(&json!({
                "model": self.model, "provider": provider, "limit": limits, "cost": cost,
                "reasoning": facts.map(|facts| facts.reasoning),
            }));
            return Ok(DONE);
        }
        let tokens = |count: Option<u64>| {
            count.map_or_else(|| "not known".to_owned(), |count| format!("{count} tokens"))
        };
        output::line(&format!("window          {}", tokens(limits.context)));
        output::line(&format!("longest answer  {}", tokens(limits.output)));
        let Some(cost) = cost else {
            output::line(&format!("prices          not known for the provider {provider}"));
            return Ok(if limits.context.is_some() { DONE } else { FAILED });
        };
        let part = |price: Option<f64>| price.map_or_else(|| "–".to_owned(), |price| format!("{price}"));
        output::line(&format!(
            "prices          {} in, {} out, {} cache read, {} cache write (USD for a million tokens)",
            cost.input,
            cost.output,
            part(cost.cache_read),
            part(cost.cache_write),
        ));
        Ok(DONE)
    }
}

fn fetch(place: &Place, loaded: &Loaded, url: &str) -> Outcome {
    let bundle = loaded
        .variable(env::HERMES_CA_BUNDLE)
        .or_else(|| loaded.variable(env::SSL_CERT_FILE))
        .map(std::path::PathBuf::from);
    let failed = |error: String| Failure::failed(error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(format!("the program cannot start its tasks: {error}")))?;
    let fetched = runtime.block_on(update::fetch(url, bundle.as_deref()));
    let fetched = fetched.map_err(|error| {
        failed(error.to_string())
            .hint("what was known before is kept; check the network, or give another address with --url")
    })?;
    place.home.ensure()?;
    let file = loaded.home.fetched_models();
    let text = serde_json::to_string(&fetched).unwrap_or_default();
    let beside = file.with_extension(format!("tmp{}", std::process::id()));
    let written = std::fs::create_dir_all(loaded.home.cache())
        .and_then(|()| std::fs::write(&beside, text))
        .and_then(|()| std::fs::rename(&beside, &file));
    written.map_err(|error| failed(format!("{} cannot be written: {error}", file.display())))?;
    let (providers, models) = fetched.counts();
    output::note(&format!(
        "{models} models of {providers} providers, in {}",
        file.display()
    ));
    Ok(DONE)
}
