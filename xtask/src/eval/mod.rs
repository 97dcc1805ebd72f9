//! How much of a long session survives its compressions: `cargo xtask eval compression`.
//!
//! Seeded sessions (English, Chinese, code) with planted facts run through real compressions, with the
//! real store behind them; the model is a deterministic extractor that sees no list of facts, or with
//! `--provider` a real one. After 1, 3, 10 and 40 compressions every fact said so far is looked for: in
//! what the next request would say, by the ids cited there, and by a search with the words of a question.
//!
//! ```text
//! corpus  ──► session.rs  messages into the store, a call after each answer, a compression when it is due
//!             policy.rs   what a compression is: nothing, a cut, the seed's algorithm, ours, ours without …
//!             writer.rs   who writes summaries
//!         ──► score.rs    facts found, tokens kept
//!         ──► table.rs    the table of docs/compression.md
//! ```

mod corpus;
mod phrases;
mod policy;
mod score;
mod seed;
mod session;
mod table;
mod writer;

use anyhow::{Context, Result, bail};
use corpus::Kind;
use policy::Policy;
use session::{Outcome, Setting};
use std::io::Write;
use writer::Writer;

/// After how many compressions facts are looked for.
const STOPS: [usize; 4] = [1, 3, 10, 40];
/// Seeds of the table in the documents; the tests use others.
const SEEDS: [u64; 2] = [11, 12];

const USAGE: &str = "usage: cargo xtask eval compression [--window N] [--compressions N] [--seed N]
                                    [--provider ID --model M [--base-url URL]]

Runs the release build best: cargo run --release -p xtask -- eval compression";

/// Runs what the arguments ask for.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let asked = Asked::read(arguments)?;
    let mut outcomes = Vec::new();
    for kind in Kind::ALL {
        for seed in &asked.seeds {
            for policy in asked.policies() {
                let setting = Setting {
                    kind,
                    seed: *seed,
                    policy: *policy,
                    window: asked.window,
                };
                let mut writer = asked.writer(*policy)?;
                let of = session::run(&setting, &asked.stops, &mut writer)?;
                for outcome in &of {
                    let line = table::line(outcome);
                    writeln!(std::io::stderr(), "{} {seed}: {line}", kind.name())?;
                }
                outcomes.extend(of);
            }
        }
    }
    print(&outcomes)
}

fn print(outcomes: &[Outcome]) -> Result<()> {
    write!(std::io::stdout(), "{}", table::render(outcomes))?;
    Ok(())
}

/// What the command line says.
struct Asked {
    window: u64,
    stops: Vec<usize>,
    seeds: Vec<u64>,
    model: Option<writer::Named>,
}

impl Asked {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut words = arguments.iter();
        if words.next().map(String::as_str) != Some("compression") {
            bail!("{USAGE}");
        }
        let mut asked = Self {
            window: 128_000,
            stops: STOPS.to_vec(),
            seeds: SEEDS.to_vec(),
            model: None,
        };
        let mut named = writer::Named::default();
        while let Some(word) = words.next() {
            let value = words
                .next()
                .with_context(|| format!("{word} needs a value\n\n{USAGE}"))?;
            match word.as_str() {
                "--window" => asked.window = value.parse().context("--window is a number of tokens")?,
                "--compressions" => {
                    let most: usize = value.parse().context("--compressions is a number")?;
                    asked.stops.retain(|stop| *stop < most);
                    asked.stops.push(most);
                }
                "--seed" => asked.seeds = vec![value.parse().context("--seed is a number")?],
                "--provider" => named.provider = Some(value.clone()),
                "--model" => named.model = Some(value.clone()),
                "--base-url" => named.base_url = Some(value.clone()),
                other => bail!("{other} is not known\n\n{USAGE}"),
            }
        }
        if named.provider.is_some() || named.base_url.is_some() {
            asked.model = Some(named);
        }
        Ok(asked)
    }

    /// A real model is only asked where a summary decides something.
    fn policies(&self) -> &'static [Policy] {
        if self.model.is_some() {
            &[Policy::Seed, Policy::NoAnchors, Policy::Ours]
        } else {
            &Policy::ALL
        }
    }

    fn writer(&self, policy: Policy) -> Result<Writer> {
        match &self.model {
            _ if policy == Policy::BareHeadings => Ok(Writer::BareHeadings),
            Some(named) => Writer::connect(named),
            None => Ok(Writer::Extractor),
        }
    }
}

#[cfg(test)]
mod tests;
