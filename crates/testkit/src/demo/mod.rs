//! The main job, shown: a session on a scripted model, driven through the program itself.
//!
//! Each step starts the program the way a person or a script would, over real HTTP on loopback, and
//! then reads what it claims back from the database with SQL of its own. The first claim that does not
//! hold ends the demo. A new step is a file in `steps/` and a line in its table.

mod stage;
mod steps;

use stage::Stage;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Why the demo ended early.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Something that was promised did not happen.
    #[error("this did not happen: {claim}\n{detail}")]
    Missed {
        /// The promise.
        claim: String,
        /// What was seen instead.
        detail: String,
    },
    /// The home that was named holds something already.
    #[error(
        "{} has a configuration that is not the demo's own; name a folder that is new or empty",
        .0.display()
    )]
    HomeInUse(PathBuf),
    /// The machine did not let the demo run.
    #[error("the demo cannot run here: {0}")]
    Io(#[from] io::Error),
}

/// Runs the demo with this program, in this home (kept) or in a temporary one, telling each step on `out`.
pub fn run(program: &Path, home: Option<&Path>, out: &mut dyn Write) -> Result<(), DemoError> {
    let mut stage = Stage::set(program, home, out)?;
    stage.tell(
        "Talaria on a scripted model: no key, no network. Each claim is read back from the database.",
    )?;
    for (number, step) in steps::STEPS.iter().enumerate() {
        stage.tell(&format!("\n{}. {}", number + 1, step.title))?;
        (step.run)(&mut stage)?;
    }
    let findings = stage.server.findings();
    let requests = stage.server.main_requests().len();
    stage.tell("")?;
    stage.claim(
        &format!("all {requests} requests kept the rules every request must keep"),
        findings.is_empty(),
        || findings.join("\n"),
    )?;
    stage.tell(&format!(
        "\nEverything that was promised happened. {}",
        stage.place()
    ))?;
    Ok(())
}
