//! Small rules of the text of Rust files: modules say why they exist, exceptions say why they are
//! made, tests always run.

use super::Findings;
use crate::tree::{Source, Tree};

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for file in tree.rust() {
        if !file.is_test() && !file.text.trim_start().starts_with("//!") {
            findings.problem(format!("{}: the module does not say why it exists", file.path));
        }
        for (index, line) in file.text.lines().enumerate() {
            if let Some(problem) = refuse(file, line.trim()) {
                findings.problem(format!("{}:{}: {problem}", file.path, index + 1));
            }
        }
    }
}

fn refuse(file: &Source, line: &str) -> Option<&'static str> {
    // The words are put together here so that this file does not break its own rules.
    let ignored = concat!("#[", "ignore");
    if line.starts_with(ignored) {
        return Some("a test that is not run");
    }
    let allowed = ["#[allow(", "#![allow("]
        .iter()
        .any(|start| line.starts_with(start));
    if allowed && line.ends_with(']') && !line.contains("reason") && !file.path.starts_with("xtask/src/tidy/")
    {
        return Some("a lint is switched off without a reason");
    }
    let unfinished = [concat!("todo", "!("), concat!("unimplemented", "!(")];
    if !file.is_test() && unfinished.iter().any(|mark| line.contains(mark)) {
        return Some("something is not finished");
    }
    None
}
