//! `completion`: what a shell needs to complete commands and flags.

use clap::{ArgMatches, Args};
use clap_complete::Shell;

use super::Row;
use crate::args;
use crate::exit::{DONE, Outcome};
use crate::output;

pub(super) const ROW: Row = Row {
    name: "completion",
    about: "Print a completion script for a shell",
    define: Completion::augment_args,
    run: |_, _, matches| run(matches),
};

#[derive(Args, Debug)]
struct Completion {
    /// The shell.
    shell: Shell,
}

fn run(matches: &ArgMatches) -> Outcome {
    let asked: Completion = args::read(matches)?;
    let mut script = Vec::new();
    let mut grammar = args::grammar();
    grammar.build();
    clap_complete::generate(asked.shell, &mut grammar, "talaria", &mut script);
    output::write(&String::from_utf8_lossy(&script));
    Ok(DONE)
}
