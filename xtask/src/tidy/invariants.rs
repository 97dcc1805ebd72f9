//! Every promise of docs/architecture.md names a test, and the test exists.
//!
//! A table whose heading has a column `test` is read: what stands between backticks in that column is
//! the name of a test function, or the path of a recorded file.

use super::Findings;
use crate::tree::Tree;
use std::collections::HashSet;

const PAPER: &str = "docs/architecture.md";

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let Some(paper) = tree.text(PAPER) else {
        findings.problem(format!("{PAPER} is missing"));
        return;
    };
    let tests = test_names(tree);
    let mut count = 0;
    for (number, row) in rows_with_tests(paper) {
        let named: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            findings.problem(format!("{PAPER}:{number}: the row names no test"));
        }
        for name in named {
            count += 1;
            // Some promises are held by the checks beside this one.
            let exists = if name.starts_with("cargo xtask ") {
                true
            } else if name.contains('/') {
                tree.files.iter().any(|file| file.path == name) || tree.root.join(name).exists()
            } else {
                tests.contains(name.rsplit("::").next().unwrap_or(name))
            };
            if !exists {
                findings.problem(format!("{PAPER}:{number}: there is no test {name}"));
            }
        }
    }
    findings.note(format!(
        "{count} tests named by {PAPER}, {} tests in all",
        tests.len()
    ));
}

/// Names of all functions under a test attribute.
fn test_names(tree: &Tree) -> HashSet<&str> {
    let mut names = HashSet::new();
    for file in tree.rust() {
        let mut marked = false;
        for line in file.text.lines().map(str::trim) {
            let attribute = line.starts_with("#[test]")
                || line.starts_with("#[tokio::test")
                || line.starts_with("#[rstest]");
            marked |= attribute;
            if !marked || line.starts_with('#') || line.starts_with("//") {
                continue;
            }
            if let Some(name) = line
                .split("fn ")
                .nth(1)
                .and_then(|rest| rest.split(['(', '<']).next())
            {
                names.insert(name);
                marked = false;
            }
        }
    }
    names
}

/// Line number and `test` cell of each row of the tables that have one.
fn rows_with_tests(paper: &str) -> Vec<(usize, &str)> {
    let mut column = None;
    let mut rows = Vec::new();
    for (index, line) in paper.lines().enumerate() {
        if !line.starts_with('|') {
            column = None;
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if let Some(at) = cells.iter().position(|cell| matches!(*cell, "test" | "tests")) {
            column = Some(at);
        } else if let Some(at) = column
            && !cells
                .iter()
                .all(|cell| cell.chars().all(|char| matches!(char, '-' | ':')))
        {
            rows.push((index + 1, cells.get(at).copied().unwrap_or_default()));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_with_a_test_column_are_read() {
        let paper =
            "| a | b |\n|---|---|\n| 1 | `x` |\n\n| n | test |\n|---|---|\n| 1 | `one` |\n| 2 | `two` |\n";
        assert_eq!(rows_with_tests(paper), [(7, "`one`"), (8, "`two`")]);
    }
}
