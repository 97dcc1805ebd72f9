//! Files stay small enough to be read in one go.

use super::Findings;
use crate::tree::Tree;

const WISHED: usize = 500;
const MOST: usize = 800;

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let mut long = Vec::new();
    for file in tree.product() {
        let lines = file.code().count();
        if lines > MOST {
            findings.problem(format!(
                "{} has {lines} lines without its tests; at most {MOST}",
                file.path
            ));
        } else if lines > WISHED {
            long.push(format!("{} ({lines})", file.path));
        }
    }
    if !long.is_empty() {
        findings.note(format!("over {WISHED} lines: {}", long.join(", ")));
    }
}
