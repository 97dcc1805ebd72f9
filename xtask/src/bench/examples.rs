//! Measurements that the crates bring themselves, as examples: built for release and run, their lines
//! passed on. They compare themselves to their own floors in the same process.

use super::{Report, Stage};
use anyhow::{Context, Result, ensure};
use std::process::{Command, Stdio};

pub(super) fn store(stage: &Stage, report: &mut Report) -> Result<()> {
    let folder = stage.folder("store")?;
    let folder = folder
        .to_str()
        .context("the temporary folder has a name that is no text")?;
    example(stage, report, ("talaria-store", "store_bench"), &[folder])
}

pub(super) fn sessions(stage: &Stage, report: &mut Report) -> Result<()> {
    example(stage, report, ("talaria-runtime", "sessions_bench"), &[])
}

pub(super) fn compress(stage: &Stage, report: &mut Report) -> Result<()> {
    example(stage, report, ("talaria-context", "compress_bench"), &[])
}

pub(super) fn decode(stage: &Stage, report: &mut Report) -> Result<()> {
    example(stage, report, ("talaria-providers", "decode_bench"), &[])
}

pub(super) fn redact(stage: &Stage, report: &mut Report) -> Result<()> {
    example(stage, report, ("talaria-redact", "redact_bench"), &[])
}

pub(super) fn skills(stage: &Stage, report: &mut Report) -> Result<()> {
    example(stage, report, ("talaria-skills", "skills_bench"), &[])
}

pub(super) fn memory(stage: &Stage, report: &mut Report) -> Result<()> {
    example(stage, report, ("talaria-runtime", "memory_bench"), &[])
}

fn example(
    stage: &Stage,
    report: &mut Report,
    (package, name): (&str, &str),
    arguments: &[&str],
) -> Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args([
            "run",
            "--release",
            "--quiet",
            "-p",
            package,
            "--example",
            name,
            "--",
        ])
        .args(arguments)
        .current_dir(&stage.root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot build the example {name}"))?;
    ensure!(
        output.status.success(),
        "the example {name} ended with {}",
        output.status
    );
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        report.line(&format!("  {line}"))?;
    }
    Ok(())
}
