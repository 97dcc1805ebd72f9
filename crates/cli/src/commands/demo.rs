//! `demo`: the main job on the embedded demo model.

use clap::Args;

use super::Row;
use crate::exit::{Failure, Outcome};

pub(super) const ROW: Row = Row {
    name: "demo",
    about: "See it work, without a key or a network",
    define: Demo::augment_args,
    run: |_, _, _| run(),
};

#[derive(Args, Debug)]
struct Demo {}

fn run() -> Outcome {
    Err(Failure::failed("not here yet"))
}
