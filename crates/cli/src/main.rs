//! The `talaria` binary: arguments, one-shot mode, interactive session.
//!
//! How the parts meet: [`args`] says what can be typed, [`commands`] is the table
//! of what is done about it, [`face`] shows a session (one turn or many) to a
//! person or a program, [`output`] is the only place that writes to the standard
//! streams and [`exit`] the only one that turns errors into texts and codes.
//! It drives the engine through `Op` and `Event` and decides nothing itself.

mod args;
mod commands;
mod editor;
mod exit;
mod face;
mod output;
mod place;
mod shapes;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    // Before anything is built: scripts ask for the version often, and only for the version.
    if let [_, only] = typed.as_slice()
        && (only == "--version" || only == "-V")
    {
        output::line(concat!("talaria ", env!("CARGO_PKG_VERSION")));
        return ExitCode::SUCCESS;
    }
    // The part of a PDF's reader that may fail (see `talaria_web::pdf`).
    if let [_, only] = typed.as_slice()
        && only == talaria_web::pdf::ARGUMENT
    {
        return match talaria_web::pdf::serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                output::note(&why);
                ExitCode::FAILURE
            }
        };
    }
    keep_to_itself();
    ExitCode::from(commands::run(&typed))
}

/// What this program holds (keys in its environment and memory) is not for the programs it starts: other
/// processes of the same user cannot look into it any more.
fn keep_to_itself() {
    #[cfg(target_os = "linux")]
    {
        // Where that cannot be had the tools still get an environment without keys.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}
