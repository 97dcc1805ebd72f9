//! Tables with one file a row: each file of such a folder stands in its table, exactly once.
//!
//! A row that is written and never registered compiles, warns of nothing when it is public, and does
//! nothing.

use super::Findings;
use crate::tree::Tree;

/// Folders whose files are rows of the table in their `mod.rs` (or the file beside the folder).
const TABLES: &[&str] = &[
    "crates/recovery/src/chain",
    "crates/recovery/src/empty",
    "crates/tools/src/builtin",
    "crates/runtime/src/commands",
    "crates/cli/src/commands",
    "crates/testkit/src/demo/steps",
];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for folder in TABLES {
        let own = format!("{folder}/mod.rs");
        let beside = format!("{folder}.rs");
        let Some(table) = tree.text(&own).or_else(|| tree.text(&beside)) else {
            continue;
        };
        let rows = rows(tree, folder);
        for row in &rows {
            let declared = table.lines().filter(|line| declares(line, row)).count();
            let used = table
                .lines()
                .any(|line| !declares(line, row) && mentions(line, row));
            if declared != 1 || !used {
                findings.problem(format!(
                    "{folder}/{row} is declared {declared} times in its table, used: {used}"
                ));
            }
        }
        if !rows.is_empty() {
            findings.note(format!("{} rows in {folder}", rows.len()));
        }
    }
}

/// The modules directly below a folder, without `mod` and what only tests use.
fn rows<'a>(tree: &'a Tree, folder: &str) -> Vec<&'a str> {
    let mut rows: Vec<&str> = tree
        .rust()
        .filter_map(|file| file.path.strip_prefix(folder)?.strip_prefix('/'))
        .filter_map(|rest| rest.split(['/', '.']).next())
        .filter(|name| !matches!(*name, "mod" | "tests" | "testing"))
        .collect();
    rows.dedup();
    rows
}

fn declares(line: &str, row: &str) -> bool {
    let line = line
        .trim()
        .trim_start_matches("pub(crate) ")
        .trim_start_matches("pub(super) ")
        .trim_start_matches("pub ");
    line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) == Some(row)
}

/// Whether the line names something of the module.
fn mentions(line: &str, row: &str) -> bool {
    let mut from = 0;
    while let Some(found) = line[from..].find(row) {
        let at = from + found;
        let glued = line[..at].ends_with(|char: char| char.is_alphanumeric() || char == '_');
        if !glued && line[at + row.len()..].starts_with("::") {
            return true;
        }
        from = at + row.len();
    }
    false
}
