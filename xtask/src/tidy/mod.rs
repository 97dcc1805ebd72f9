//! The house rules that no compiler checks. A new rule is a file here and a line in [`CHECKS`].

mod comments;
mod functions;
mod invariants;
mod layers;
mod papers;
mod places;
mod purity;
mod registered;
mod sizes;
mod wording;

use crate::{docs, tree::Tree};
use anyhow::{Result, bail};
use std::{io::Write, path::Path};

/// What a check found: what must change, and what a reader may want to know.
#[derive(Default)]
pub(crate) struct Findings {
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Findings {
    pub(crate) fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

type Check = fn(&Tree, &mut Findings);

const CHECKS: &[(&str, Check)] = &[
    ("layers", layers::check),
    ("purity", purity::check),
    ("sizes", sizes::check),
    ("functions", functions::check),
    ("registered", registered::check),
    ("documents", docs::check),
    ("invariants", invariants::check),
    ("wording", wording::check),
    ("comments", comments::check),
    ("places", places::check),
    ("papers", papers::check),
];

/// Runs every check; the last line tells how it ended.
pub(crate) fn run(root: &Path, fix: bool) -> Result<()> {
    if fix {
        purity::write(&Tree::read(root)?)?;
        docs::write(root)?;
    }
    let tree = Tree::read(root)?;
    let mut out = std::io::stdout().lock();
    let mut count = 0;
    for (name, check) in CHECKS {
        let mut findings = Findings::default();
        check(&tree, &mut findings);
        for note in &findings.notes {
            writeln!(out, "{name}: {note}")?;
        }
        for problem in &findings.problems {
            writeln!(out, "{name}: PROBLEM: {problem}")?;
        }
        count += findings.problems.len();
    }
    if count > 0 {
        bail!("tidy found {count} problems");
    }
    writeln!(
        out,
        "tidy: {} checks on {} files, no problem",
        CHECKS.len(),
        tree.files.len()
    )?;
    Ok(())
}
