//! The first turn in a home that holds nothing but its configuration: the database is made.

use super::{Report, Stage, measure, stage};
use anyhow::Result;

pub(super) fn run(stage: &Stage, report: &mut Report) -> Result<()> {
    let model = stage.serve("fresh", &stage::hello())?;
    let mut samples = Vec::new();
    for round in 0..stage.rounds {
        let home = stage.home(&format!("fresh-{round}"), &model.base_url)?;
        samples.push(measure::once(&stage.command(&home, &["-z", "hi there"]))?);
    }
    let sample = measure::middle(&samples);
    report.line(&format!(
        "  first -z \"hi there\"                {:>7.2} ms, {:.1} MiB",
        sample.wall * 1e3,
        sample.memory
    ))
}
