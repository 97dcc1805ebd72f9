//! The commands, one file each; [`COMMANDS`] is the list.

mod auth;
mod chat;
mod completion;
mod compress;
mod config;
mod cron;
mod db;
mod demo;
mod doctor;
mod hooks;
mod insights;
mod man;
mod mcp;
mod memory;
mod mock_llm;
mod model;
mod models;
mod plugins;
mod recall;
mod replay;
mod search;
mod sessions;
mod skills;
mod tools;
mod uncompress;

use std::ffi::OsString;

use clap::{ArgMatches, Command, FromArgMatches};

use crate::args::{self, Root};
use crate::exit::{DONE, FAILED, Failure, Outcome, USAGE};
use crate::output;
use crate::place::Place;

/// One command.
pub(crate) struct Row {
    /// What is typed.
    pub(crate) name: &'static str,
    /// What it does, in one line.
    pub(crate) about: &'static str,
    /// Adds its arguments.
    pub(crate) define: fn(Command) -> Command,
    /// Does it.
    pub(crate) run: fn(&Place, Root, &ArgMatches) -> Outcome,
}

/// Every command, in the order of `--help`.
pub(crate) static COMMANDS: &[Row] = &[
    chat::ROW,
    sessions::ROW,
    search::ROW,
    recall::ROW,
    compress::ROW,
    uncompress::ROW,
    replay::ROW,
    memory::ROW,
    skills::ROW,
    cron::ROW,
    hooks::ROW,
    plugins::ROW,
    mcp::ROW,
    config::ROW,
    model::ROW,
    models::ROW,
    auth::ROW,
    tools::ROW,
    insights::ROW,
    db::ROW,
    doctor::ROW,
    demo::ROW,
    mock_llm::ROW,
    completion::ROW,
    man::ROW,
];

/// Runs what was typed; the exit code.
pub(crate) fn run(typed: &[OsString]) -> u8 {
    let is_turn = is_turn(typed);
    let wants_json = is_turn && typed.iter().any(|word| word == "--json");
    let matches = match args::grammar().try_get_matches_from(untangled(typed)) {
        Ok(matches) => matches,
        Err(error) => return not_understood(&error, wants_json),
    };
    let code = match dispatch(&matches) {
        Ok(code) => code,
        Err(failure) => {
            output::note(&failure.to_string());
            failure.code
        }
    };
    match output::lost() {
        Some(error) if code == DONE => {
            output::note(&format!("error: standard output cannot be written: {error}"));
            FAILED
        }
        _ => code,
    }
}

/// `-c` takes a title, and `talaria -c chat` means the command: a command's name after a bare `-c` is no title.
fn untangled(typed: &[OsString]) -> Vec<OsString> {
    let is_command = |word: &OsString| COMMANDS.iter().any(|row| word == row.name);
    let is_bare = |word: &OsString| word == "-c" || word == "--continue";
    let next = typed.iter().skip(1).map(Some).chain([None]);
    typed
        .iter()
        .zip(next)
        .map(|(word, next)| {
            if is_bare(word) && next.is_some_and(is_command) {
                "--continue=".into()
            } else {
                word.clone()
            }
        })
        .collect()
}

fn dispatch(matches: &ArgMatches) -> Outcome {
    let root = Root::from_arg_matches(matches).map_err(|error| Failure::usage(error.to_string()))?;
    let place = Place::find(root.home.as_deref())?;
    let Some((name, inner)) = matches.subcommand() else {
        return chat::bare(&place, root);
    };
    if name != chat::ROW.name && root.prompt().is_some() {
        return Err(
            Failure::usage(format!("`{name}` takes no prompt")).hint("leave -z or -q out, or the command")
        );
    }
    match COMMANDS.iter().find(|row| row.name == name) {
        Some(row) => (row.run)(&place, root, inner),
        None => Err(Failure::usage(format!("there is no command {name:?}"))),
    }
}

/// Whether a turn is asked for rather than one of the other commands.
fn is_turn(typed: &[OsString]) -> bool {
    let prompts = ["-z", "--oneshot", "-q", "--query", "chat"];
    typed
        .iter()
        .skip(1)
        .any(|word| prompts.iter().any(|known| word == known))
}

/// Help and version go to stdout; everything else is bad usage.
fn not_understood(error: &clap::Error, wants_json: bool) -> u8 {
    let styled = error.render();
    if !error.use_stderr() {
        output::write(&styled.to_string());
        return 0;
    }
    let text = styled.to_string();
    if wants_json {
        let message = text
            .trim_start_matches("error: ")
            .lines()
            .next()
            .unwrap_or_default();
        output::json(&Failure::usage(message).as_result());
    }
    output::notes(&text);
    USAGE
}
