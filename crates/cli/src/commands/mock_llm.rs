//! `mock-llm`: the scripted model server.

use std::path::PathBuf;

use clap::Args;

use super::Row;
use crate::exit::{Failure, Outcome};

pub(super) const ROW: Row = Row {
    name: "mock-llm",
    about: "Serve a scripted model on loopback, for tests and demonstrations",
    define: MockLlm::augment_args,
    run: |_, _, _| run(),
};

#[derive(Args, Debug)]
struct MockLlm {
    /// What the model answers, as JSON.
    #[arg(long, value_name = "FILE")]
    scenario: PathBuf,

    /// The port; 0 takes a free one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
}

fn run() -> Outcome {
    Err(Failure::failed("not here yet"))
}
