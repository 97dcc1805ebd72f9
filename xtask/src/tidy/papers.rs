//! The papers a reader expects are there, and short enough to be read.

use super::Findings;
use crate::tree::Tree;

/// Papers and how many lines each may have.
const PAPERS: &[(&str, usize)] = &[
    ("README.md", 200),
    ("AGENTS.md", 150),
    ("CHANGELOG.md", 2000),
    ("docs/architecture.md", 600),
    ("LICENSE-MIT", 40),
    ("LICENSE-APACHE", 220),
    ("justfile", 80),
    ("deny.toml", 80),
    (".ci/run", 120),
];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, most) in PAPERS {
        match tree.text(path).map(|text| text.lines().count()) {
            None => findings.problem(format!("{path} is missing")),
            Some(lines) if lines > *most => {
                findings.problem(format!("{path} has {lines} lines; at most {most}"));
            }
            Some(_) => {}
        }
    }
}
