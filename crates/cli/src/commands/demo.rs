//! `demo`: the main job on the embedded demo model.

use std::path::PathBuf;

use clap::Args;
use talaria_testkit::demo::{self, DemoError};

use super::Row;
use crate::exit::{DONE, Failure, Outcome};

pub(super) const ROW: Row = Row {
    name: "demo",
    about: "See it work, without a key or a network",
    define: Demo::augment_args,
    run: |_, root, _| run(root.home.map(PathBuf::from)),
};

#[derive(Args, Debug)]
struct Demo {}

/// Runs the steps on this very program; in a temporary home unless one is named.
fn run(home: Option<PathBuf>) -> Outcome {
    let program = std::env::current_exe().map_err(DemoError::Io);
    let shown = program.and_then(|program| demo::run(&program, home.as_deref(), &mut std::io::stdout()));
    match shown {
        Ok(()) => Ok(DONE),
        Err(error @ DemoError::HomeInUse(_)) => Err(Failure::usage(error.to_string())),
        Err(error) => Err(Failure::failed(error.to_string())),
    }
}
