//! `demo`: the main job on the embedded demo model, run by this same program.

use std::path::Path;

use clap::Args;
use talaria_testkit::demo::{self, DemoError};

use super::Row;
use crate::args::Root;
use crate::exit::{DONE, Failure, Outcome};

pub(super) const ROW: Row = Row {
    name: "demo",
    about: "See it work, without a key or a network",
    define: Demo::augment_args,
    run: |_, root, _| run(&root),
};

/// With `--home DIR` what the demo made is kept there.
#[derive(Args, Debug)]
struct Demo {}

fn run(root: &Root) -> Outcome {
    let program = std::env::current_exe()
        .map_err(|error| Failure::failed(format!("this program cannot find itself: {error}")))?;
    let home = root.home.as_deref().map(Path::new);
    demo::run(&program, home, &mut std::io::stdout())
        .map(|()| DONE)
        .map_err(|error| match error {
            DemoError::HomeInUse(_) => Failure::usage(error.to_string()),
            DemoError::Missed { .. } | DemoError::Io(_) => Failure::failed(error.to_string()),
        })
}
