//! `mock-llm`: the scripted model server.

use std::path::PathBuf;

use clap::{ArgMatches, Args};
use talaria_testkit::{Scenario, ScenarioError, ServeOptions, serve};

use super::Row;
use crate::args;
use crate::exit::{DONE, Failure, Outcome};

pub(super) const ROW: Row = Row {
    name: "mock-llm",
    about: "Serve a scripted model on loopback, for tests and demonstrations",
    define: MockLlm::augment_args,
    run: |_, _, matches| run(matches),
};

#[derive(Args, Debug)]
struct MockLlm {
    /// What the model answers, as JSON.
    #[arg(long, value_name = "FILE")]
    scenario: PathBuf,

    /// The port; 0 takes a free one, which the first line on standard output names.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,

    /// Write every request to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
}

fn run(matches: &ArgMatches) -> Outcome {
    let asked: MockLlm = args::read(matches)?;
    let scenario = Scenario::from_file(&asked.scenario).map_err(|error| match error {
        ScenarioError::Read { path, source } => Failure::usage(format!("{path} cannot be read: {source}")),
        ScenarioError::Json(_) | ScenarioError::Pattern(_) => {
            Failure::usage(format!("{}: {error}", asked.scenario.display()))
        }
    })?;
    let options = ServeOptions {
        port: asked.port,
        log: asked.log.as_deref(),
    };
    serve(scenario, &options, std::io::stdout()).map_err(|error| {
        Failure::failed(format!(
            "port {} of loopback cannot be served: {error}",
            asked.port
        ))
    })?;
    Ok(DONE)
}
