//! What it costs the person that a turn is to be looked back at: one question whose review is due, beside
//! the same question in a home where nothing is ever reviewed.

use super::{Report, Stage, measure, stage};
use anyhow::Result;
use std::fs;

/// Milliseconds a review may add.
const MOST: f64 = 5.0;

pub(super) fn run(stage: &Stage, report: &mut Report) -> Result<()> {
    let model = stage.serve("hello", &stage::hello())?;
    let plain = stage.home("never-reviewed", &model.base_url)?;
    let due = stage.home("reviewed", &model.base_url)?;
    let file = due.home.join("config.yaml");
    let config = fs::read_to_string(&file)?;
    fs::write(&file, config.replace("nudge_interval: 0", "nudge_interval: 1"))?;
    let question = ["-z", "hi there"];
    let (ours, floor) = measure::pair(
        stage.rounds * 2,
        &stage.command(&due, &question),
        &stage.command(&plain, &question),
    )?;
    report.limit(
        "a review that is due adds",
        (ours.wall - floor.wall) * 1e3,
        "ms",
        MOST,
    )?;
    report.limit("of processor time", (ours.cpu - floor.cpu) * 1e3, "ms", MOST)
}
