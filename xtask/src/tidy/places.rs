//! Nothing in the repository points at a place outside of it.

use super::Findings;
use crate::tree::Tree;

/// Put together here so that this file passes its own check.
const FOREIGN: &[&str] = &[
    concat!("/work", "/wt"),
    concat!("/work", "/shared"),
    concat!("../sha", "red"),
];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            if FOREIGN.iter().any(|place| line.contains(place)) {
                findings.problem(format!(
                    "{}:{}: a path outside of the repository",
                    file.path,
                    index + 1
                ));
            }
        }
    }
}
