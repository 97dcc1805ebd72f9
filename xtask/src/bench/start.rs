//! How long it takes to say the version, beside starting a program that does nothing.

use super::{Report, Stage, measure};
use anyhow::Result;
use std::process::Command;

pub(super) fn run(stage: &Stage, report: &mut Report) -> Result<()> {
    let mut version = Command::new(&stage.program);
    version.arg("--version");
    let (ours, nothing) = measure::pair(stage.rounds * 3, &version, &Command::new("true"))?;
    report.ratio("--version", ours.wall, ("true", nothing.wall), 8.0)?;
    report.limit("peak memory", ours.memory, "MiB", 10.0)?;
    let mut help = Command::new(&stage.program);
    help.arg("--help");
    let (ours, nothing) = measure::pair(stage.rounds, &help, &Command::new("true"))?;
    report.ratio("--help", ours.wall, ("true", nothing.wall), 12.0)
}
