//! Measures the program against the floors of the machine it runs on, side by side in one run.
//!
//! Absolute figures drift with the machine; what is compared are ratios: to starting `true`, to `curl`
//! sending the same body, to the same bodies on one connection, to raw SQLite. A new measurement is a
//! file here and a line in [`BENCHES`]. Nothing here fails for being slow: figures are read, not asserted.

mod corpus;
mod deltas;
mod examples;
mod fresh;
mod hooks;
mod measure;
mod one_shot;
mod reads;
mod review;
mod stage;
mod start;

pub(crate) use measure::helper;

use anyhow::{Context, Result, bail};
use stage::Stage;
use std::{io::Write, path::Path};

/// What is measured, by the name that selects it.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(&Stage, &mut Report) -> Result<()>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "start",
        about: "starting and saying the version",
        run: start::run,
    },
    Bench {
        name: "fresh",
        about: "the first turn in a fresh home",
        run: fresh::run,
    },
    Bench {
        name: "one-shot",
        about: "one question, one answer, in a used home",
        run: one_shot::run,
    },
    Bench {
        name: "reads",
        about: "a turn that reads 50 files of 2 KiB, one a call",
        run: reads::run,
    },
    Bench {
        name: "deltas",
        about: "a piece of an answer from the socket to the face",
        run: deltas::run,
    },
    Bench {
        name: "hooks",
        about: "what a hook costs a tool call",
        run: hooks::run,
    },
    Bench {
        name: "review",
        about: "a turn whose review is due",
        run: review::run,
    },
    Bench {
        name: "store",
        about: "appending, loading and searching messages",
        run: examples::store,
    },
    Bench {
        name: "sessions",
        about: "five hundred sessions open in one process",
        run: examples::sessions,
    },
    Bench {
        name: "compress",
        about: "compressing 2,000 messages, the model aside",
        run: examples::compress,
    },
    Bench {
        name: "decode",
        about: "decoding event streams",
        run: examples::decode,
    },
    Bench {
        name: "redact",
        about: "masking secrets",
        run: examples::redact,
    },
    Bench {
        name: "skills",
        about: "the index of 10,000 skills: cold ≤ 300 ms, warm ≤ 10 ms",
        run: examples::skills,
    },
    Bench {
        name: "memory-sync",
        about: "from a turn's end to the next prompt, with a memory provider that hangs and without any",
        run: examples::memory,
    },
];

/// Runs the benchmarks named on the command line, or all.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let mut program = root.join("target/release/talaria");
    if let Ok(target) = std::env::var("CARGO_TARGET_DIR") {
        program = Path::new(&target).join("release/talaria");
    }
    let mut rounds = 15;
    let mut wanted = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bin" => program = arguments.next().context("--bin needs a file")?.into(),
            "--quick" => rounds = 5,
            name if BENCHES.iter().any(|bench| bench.name == name) => wanted.push(name.to_owned()),
            other => {
                let names: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
                bail!("there is no benchmark {other}; there are {}", names.join(", "));
            }
        }
    }
    if !program.exists() {
        bail!(
            "{} does not exist; build it with `cargo build --release`, or name one with --bin",
            program.display()
        );
    }
    let stage = Stage::set(root, &program.canonicalize()?, rounds)?;
    let mut report = Report {
        out: std::io::stdout(),
    };
    for bench in BENCHES
        .iter()
        .filter(|bench| wanted.is_empty() || wanted.iter().any(|name| name == bench.name))
    {
        report.line(&format!("\n{}: {}", bench.name, bench.about))?;
        if let Err(error) = (bench.run)(&stage, &mut report) {
            report.line(&format!("  could not be measured: {error:#}"))?;
        }
    }
    Ok(())
}

/// Where figures go.
pub(crate) struct Report {
    out: std::io::Stdout,
}

impl Report {
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        let mut out = self.out.lock();
        writeln!(out, "{text}")?;
        out.flush()?;
        Ok(())
    }

    /// One figure beside its floor and the goal for their ratio.
    pub(crate) fn ratio(&mut self, what: &str, ours: f64, floor: (&str, f64), goal: f64) -> Result<()> {
        let (name, floor) = floor;
        let ratio = ours / floor;
        let verdict = if ratio <= goal { "within" } else { "over" };
        self.line(&format!(
            "  {what:<34} {:>10} | {name} {:>10} | {ratio:6.2} x, {verdict} {goal}",
            milliseconds(ours),
            milliseconds(floor)
        ))
    }

    /// One figure beside its limit.
    pub(crate) fn limit(&mut self, what: &str, ours: f64, unit: &str, most: f64) -> Result<()> {
        let verdict = if ours <= most { "within" } else { "over" };
        self.line(&format!(
            "  {what:<34} {ours:>7.1} {unit:<2} | {verdict} {most} {unit}"
        ))
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}
