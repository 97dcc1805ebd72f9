//! Chores of the repository that need more than a command line: `cargo xtask tidy|docs|bench|eval`.
//!
//! `tidy` holds the house rules that no compiler knows; `docs` writes the documents that are made from
//! tables in the code; `bench` measures the program against the floors of the machine it runs on.

mod bench;
mod docs;
mod eval;
mod tidy;
mod tree;

use anyhow::{Result, bail};
use std::{io::Write, path::PathBuf};

const USAGE: &str = "usage: cargo xtask COMMAND

  tidy [--fix]         check the house rules; --fix writes the generated files
  docs                 write the generated documents
  eval compression …   measure how much of a long session survives its compressions
  bench [--bin FILE] [--quick] [NAME…]
                       measure the program (a release build) against the floors of this machine";

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = if arguments.is_empty() {
        String::new()
    } else {
        arguments.remove(0)
    };
    match command.as_str() {
        "tidy" => tidy::run(&root()?, arguments.iter().any(|argument| argument == "--fix")),
        "docs" => docs::write(&root()?),
        "eval" => eval::run(&arguments),
        "bench" => bench::run(&root()?, &arguments),
        // Started by `bench` for each process it measures.
        "measure" => bench::helper(&arguments),
        "" | "help" | "--help" | "-h" => Ok(writeln!(std::io::stdout(), "{USAGE}")?),
        other => bail!("there is no command {other}\n\n{USAGE}"),
    }
}

/// The repository: the folder above this crate's manifest, or the current one when the binary moved.
fn root() -> Result<PathBuf> {
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let root = if built.join("Cargo.toml").exists() {
        built
    } else {
        std::env::current_dir()?
    };
    Ok(root.canonicalize()?)
}
