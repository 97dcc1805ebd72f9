//! Time and memory of one process, by a helper process that is as small as can be.
//!
//! The system reports the peak memory of finished children as one maximum, and a child begins as a copy
//! of its parent; so each measured process gets a parent of its own that has done nothing else:
//! this binary, started as `xtask measure PROGRAM …`.

use anyhow::{Context, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::{Value, json};
use std::{
    io::Write,
    process::{Command, Stdio},
    time::Instant,
};

/// What one run of a process took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processor, children included.
    pub(crate) cpu: f64,
    /// Peak resident memory in MiB.
    pub(crate) memory: f64,
}

/// The helper's own command: runs what it is told and prints what that took.
pub(crate) fn helper(arguments: &[String]) -> Result<()> {
    let (program, rest) = arguments.split_first().context("measure needs a program")?;
    let mut command = Command::new(program);
    command
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let wall = start.elapsed().as_secs_f64();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let told = json!({
        "code": status.code(),
        "wall": wall,
        "cpu": seconds(usage.user_time()) + seconds(usage.system_time()),
        "memory": usage.max_rss() as f64 / 1024.0,
    });
    writeln!(std::io::stdout(), "{told}")?;
    Ok(())
}

/// Runs a command under the helper, with the command's environment and folder.
pub(crate) fn once(command: &Command) -> Result<Sample> {
    let mut helper = Command::new(std::env::current_exe()?);
    helper
        .arg("measure")
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        helper.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => helper.env(name, value),
            None => helper.env_remove(name),
        };
    }
    let output = helper.stderr(Stdio::inherit()).output()?;
    let told: Value = serde_json::from_slice(&output.stdout).context("the measuring helper said nothing")?;
    if told["code"] != 0 {
        bail!(
            "{} ended with code {}",
            command.get_program().display(),
            told["code"]
        );
    }
    let number = |name: &str| told[name].as_f64().unwrap_or(f64::NAN);
    Ok(Sample {
        wall: number("wall"),
        cpu: number("cpu"),
        memory: number("memory"),
    })
}

/// Runs two commands in turns, so that a machine that drifts drifts for both; their medians.
pub(crate) fn pair(rounds: usize, one: &Command, other: &Command) -> Result<(Sample, Sample)> {
    let mut samples = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        samples.0.push(once(one)?);
        samples.1.push(once(other)?);
    }
    Ok((middle(&samples.0), middle(&samples.1)))
}

/// The median of each figure.
pub(crate) fn middle(samples: &[Sample]) -> Sample {
    Sample {
        wall: median(samples.iter().map(|sample| sample.wall)),
        cpu: median(samples.iter().map(|sample| sample.cpu)),
        memory: median(samples.iter().map(|sample| sample.memory)),
    }
}

/// The median.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
