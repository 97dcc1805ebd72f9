//! One question and one answer, beside `curl` sending the same body to the same server.

use super::{Report, Stage, measure, stage};
use anyhow::{Context, Result};
use std::{fs, process::Command};

/// Bytes of the first request, tools included.
const FIRST_REQUEST: f64 = 16.0;

pub(super) fn run(stage: &Stage, report: &mut Report) -> Result<()> {
    let scenario = stage::hello();
    let home = stage.home("one-shot", "http://127.0.0.1:9/v1")?;
    let question = ["-z", "hi there"];
    let sent = stage.recorded(&home, &scenario, &question)?;
    let body = sent.first().context("nothing was sent")?.raw.to_vec();
    let model = stage.serve("hello", &scenario)?;
    home.point_at(&model.base_url)?;
    let file = home.work.join("body.json");
    fs::write(&file, &body)?;
    let mut curl = Command::new("curl");
    curl.args([
        "-s",
        "-o",
        "/dev/null",
        "-H",
        "content-type: application/json",
        "--data-binary",
    ])
    .arg(format!("@{}", file.display()))
    .arg(format!("{}/chat/completions", model.base_url));
    let (ours, floor) = measure::pair(stage.rounds, &stage.command(&home, &question), &curl)?;
    report.ratio("-z \"hi there\"", ours.wall, ("curl", floor.wall), 2.5)?;
    report.limit("peak memory", ours.memory, "MiB", 22.0)?;
    report.limit("first request", body.len() as f64 / 1e3, "kB", FIRST_REQUEST)
}
