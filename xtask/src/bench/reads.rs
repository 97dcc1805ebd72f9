//! A turn that reads fifty files, beside its bodies sent again on one connection.

use super::{Report, Stage, corpus, measure, stage};
use anyhow::{Result, ensure};
use std::{collections::HashSet, fs, time::Instant};

const FILES: usize = 50;

pub(super) fn run(stage: &Stage, report: &mut Report) -> Result<()> {
    let home = stage.home("reads", "http://127.0.0.1:9/v1")?;
    fs::create_dir_all(home.work.join("files"))?;
    for file in 0..FILES * 4 {
        fs::write(
            home.work.join(format!("files/f{file:03}.txt")),
            corpus::text(file as u64, 2048),
        )?;
    }
    let question = ["-z", "Read all files.", "--max-turns", "400"];
    let sent = stage.recorded(&home, &stage::reads(FILES), &question)?;
    ensure!(
        sent.len() == FILES + 1,
        "{} requests were sent, {} expected",
        sent.len(),
        FILES + 1
    );
    let connections: HashSet<u64> = sent.iter().map(|request| request.connection).collect();
    let bodies: Vec<Vec<u8>> = sent.iter().map(|request| request.raw.to_vec()).collect();
    let bytes: usize = bodies.iter().map(Vec::len).sum();

    let model = stage.serve("reads", &stage::reads(FILES))?;
    home.point_at(&model.base_url)?;
    let mut ours = Vec::new();
    let mut floor = Vec::new();
    for _ in 0..stage.rounds.min(9) {
        ours.push(measure::once(&stage.command(&home, &question))?);
        let start = Instant::now();
        stage::replay(model.address(), &bodies)?;
        floor.push(start.elapsed().as_secs_f64());
    }
    let sample = measure::middle(&ours);
    report.ratio(
        "50 reads",
        sample.wall,
        ("replay", measure::median(floor.into_iter())),
        4.0,
    )?;
    report.limit("peak memory", sample.memory, "MiB", 30.0)?;
    report.limit("connections", connections.len() as f64, "", 1.0)?;
    report.line(&format!(
        "  bytes sent                         {:>7.0} kB in {} requests",
        bytes as f64 / 1e3,
        sent.len()
    ))?;
    growth(stage, report, &home, &question)
}

/// Processor time a call at two lengths: it must not grow with the length of the turn.
fn growth(stage: &Stage, report: &mut Report, home: &stage::Home, question: &[&str]) -> Result<()> {
    let mut cpu = Vec::new();
    for files in [FILES, FILES * 2, FILES * 4] {
        let model = stage.serve(&format!("reads-{files}"), &stage::reads(files))?;
        home.point_at(&model.base_url)?;
        let samples = (0..stage.rounds.min(5)).map(|_| measure::once(&stage.command(home, question)));
        let samples: Result<Vec<measure::Sample>> = samples.collect();
        cpu.push(measure::middle(&samples?).cpu);
    }
    let early = (cpu[1] - cpu[0]) / FILES as f64;
    let late = (cpu[2] - cpu[1]) / (FILES * 2) as f64;
    report.line(&format!(
        "  processor a call                   {:>7.3} ms from 50 to 100 calls, {:.3} ms from 100 to 200",
        early * 1e3,
        late * 1e3
    ))
}
