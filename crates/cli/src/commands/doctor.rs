//! `doctor`: what would keep a turn from working, before it does.

mod checks;
mod mcp;
mod models;

use clap::{ArgMatches, Args};
use serde::Serialize;
use serde_json::json;

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Outcome};
use crate::output::{self, Style};
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "doctor",
    about: "Say what would keep a turn from working",
    define: Doctor::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct Doctor {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,

    /// Do not ask the models for a word.
    #[arg(long)]
    offline: bool,
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Works, but something should be looked at.
    Warning,
    /// A turn would fail.
    Failed,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    /// What was looked at.
    name: &'static str,
    state: State,
    /// What was found.
    detail: String,
    /// What to do about it.
    hint: Option<String>,
}

impl Finding {
    fn new(name: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self {
            name,
            state,
            detail: detail.into(),
            hint: None,
        }
    }

    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Ok, detail)
    }

    fn warning(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Warning, detail)
    }

    fn failed(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Failed, detail)
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Every check of this machine, in the order it is told; the models come last.
const CHECKS: &[fn(&Place) -> Vec<Finding>] = &[
    checks::home,
    checks::config,
    checks::secrets,
    checks::database,
    checks::sqlite,
    checks::programs,
    mcp::servers,
    checks::memory,
];

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: Doctor = args::read(matches)?;
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(|check| check(place)).collect();
    findings.extend(models::models(place, !asked.offline));
    let ok = findings.iter().all(|finding| finding.state != State::Failed);
    if asked.json {
        output::json(&json!({
            "ok": ok, "version": env!("CARGO_PKG_VERSION"), "home": place.home.root(), "checks": findings,
        }));
    } else {
        findings.iter().for_each(|finding| tell(finding, place.stdout()));
    }
    Ok(if ok { DONE } else { FAILED })
}

fn tell(finding: &Finding, style: Style) {
    let mark = match finding.state {
        State::Ok => style.good("✓"),
        State::Warning => style.warn("!"),
        State::Failed => style.bad("✗"),
    };
    output::line(&format!("{mark} {:<12} {}", finding.name, finding.detail));
    if let Some(hint) = &finding.hint {
        output::line(&format!("               {hint}"));
    }
}
