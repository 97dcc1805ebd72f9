//! What hooks cost a turn of twenty tool calls: none, one that no call concerns, one that does nothing on each.

use super::{Report, Stage, corpus, measure, stage};
use anyhow::Result;
use std::fs;

const CALLS: usize = 20;

pub(super) fn run(stage: &Stage, report: &mut Report) -> Result<()> {
    let model_steps = stage::reads(CALLS);
    let mut figures = Vec::new();
    for (name, hooks) in [
        ("none", ""),
        (
            "other",
            "  pre_tool_call:\n  - {command: 'true', matcher: write_file}\n",
        ),
        ("noop", "  pre_tool_call:\n  - {command: 'true'}\n"),
    ] {
        let home = stage.home(&format!("hooks-{name}"), "http://127.0.0.1:9/v1")?;
        fs::create_dir_all(home.work.join("files"))?;
        for file in 0..CALLS {
            fs::write(
                home.work.join(format!("files/f{file:03}.txt")),
                corpus::text(file as u64, 2048),
            )?;
        }
        let model = stage.serve(&format!("hooks-{name}"), &model_steps)?;
        home.point_at(&model.base_url)?;
        let config = home.home.join("config.yaml");
        let text = fs::read_to_string(&config)?;
        if !hooks.is_empty() {
            fs::write(&config, format!("{text}hooks_auto_accept: true\nhooks:\n{hooks}"))?;
        }
        let mut samples = Vec::new();
        for _ in 0..stage.rounds.min(9) {
            samples.push(measure::once(&stage.command(&home, &["-z", "Read all files."]))?);
        }
        figures.push(measure::middle(&samples).wall);
    }
    let a_call = |with: f64| (with - figures[0]) / CALLS as f64 * 1e3;
    report.line(&format!(
        "  {CALLS} reads without hooks              {:>7.1} ms",
        figures[0] * 1e3
    ))?;
    report.line(&format!(
        "  a hook that no call concerns       {:>7.3} ms a call",
        a_call(figures[1])
    ))?;
    report.line(&format!(
        "  a hook that does nothing           {:>7.3} ms a call",
        a_call(figures[2])
    ))
}
