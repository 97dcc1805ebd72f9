//! `man`: the manual page.

use clap::{ArgMatches, Args};

use super::Row;
use crate::args;
use crate::exit::{DONE, Failure, Outcome};
use crate::output;

pub(super) const ROW: Row = Row {
    name: "man",
    about: "Print the manual page (talaria man | man -l -)",
    define: Man::augment_args,
    run: |_, _, matches| run(matches),
};

#[derive(Args, Debug)]
struct Man {
    /// The page of this command instead of that of the whole program.
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

fn run(matches: &ArgMatches) -> Outcome {
    let asked: Man = args::read(matches)?;
    let mut grammar = args::grammar();
    grammar.build();
    let page = match &asked.command {
        None => grammar,
        Some(name) => {
            let found = grammar.find_subcommand(name).cloned();
            found.ok_or_else(|| Failure::usage(format!("there is no command {name:?}")))?
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut text)
        .map_err(|error| Failure::failed(error.to_string()))?;
    output::write(&String::from_utf8_lossy(&text));
    Ok(DONE)
}
