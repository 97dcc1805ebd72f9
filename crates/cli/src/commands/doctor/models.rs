//! The models the configuration names: whether there is a credential, and whether they answer.

use std::time::Duration;

use talaria_config::{Loaded, Overrides};
use talaria_runtime::{EngineError, configured_models, probe};
use talaria_types::TurnError;

use super::{Finding, State};
use crate::place::Place;

const NAME: &str = "provider";

/// Each model with its credential; with `call` each is asked for one word, all at once.
pub(super) fn models(place: &Place, call: bool) -> Vec<Finding> {
    let loaded = place
        .cwd(None)
        .and_then(|cwd| place.config(&cwd, &Overrides::default()));
    // What is wrong with the configuration is told by its own check.
    let Ok(loaded) = loaded else { return Vec::new() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(ask(&loaded, call)),
        Err(error) => vec![Finding::failed(
            NAME,
            format!("the program cannot start its tasks: {error}"),
        )],
    }
}

async fn ask(loaded: &Loaded, call: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut calls = Vec::new();
    for (place, endpoint) in configured_models(loaded) {
        let is_chosen = place == "model";
        let endpoint = match endpoint {
            Ok(endpoint) => endpoint,
            Err(error) => {
                findings.push(unresolved(&place, is_chosen, &error));
                continue;
            }
        };
        let identity = &endpoint.identity;
        let told = format!(
            "{} of {} at {}",
            identity.model,
            identity.provider,
            talaria_redact::redact_url(&identity.base_url)
        );
        let told = if is_chosen {
            told
        } else {
            format!("{place}: {told}")
        };
        if call {
            calls.push((told, is_chosen, tokio::spawn(probe(endpoint))));
        } else {
            findings.push(Finding::ok(NAME, told));
        }
    }
    for (told, is_chosen, call) in calls {
        if let Ok(outcome) = call.await {
            findings.push(answered(&told, is_chosen, outcome));
        }
    }
    findings
}

/// A turn fails without the chosen model; without another one it only has less to fall back to.
fn state(is_chosen: bool) -> State {
    if is_chosen { State::Failed } else { State::Warning }
}

fn answered(told: &str, is_chosen: bool, outcome: Result<Duration, TurnError>) -> Finding {
    match outcome {
        Ok(took) => Finding::ok(NAME, format!("{told} answers ({} ms)", took.as_millis())),
        Err(error) => Finding {
            hint: error.hint,
            ..Finding::new(
                NAME,
                state(is_chosen),
                format!("{told} does not answer: {}", error.message),
            )
        },
    }
}

fn unresolved(place: &str, is_chosen: bool, error: &EngineError) -> Finding {
    if is_chosen {
        let hint = "for instance: talaria config set OPENAI_API_KEY sk-…  and  talaria model gpt-5.1";
        return Finding::failed(NAME, error.to_string()).hint(hint);
    }
    Finding::warning(NAME, format!("{place}: {error}"))
}
