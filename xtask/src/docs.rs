//! Documents made from tables in the code, so that they cannot say anything else than the code does.

use crate::{tidy::Findings, tree::Tree};
use anyhow::Result;
use std::{fmt::Write as _, fs, path::Path};

/// Makes the whole text of a document.
type Maker = fn() -> String;

/// Path and maker of each generated document.
const DOCUMENTS: &[(&str, Maker)] = &[("docs/recovery.md", recovery)];

/// Writes them all.
pub(crate) fn write(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join("docs"))?;
    for (path, make) in DOCUMENTS {
        fs::write(root.join(path), make())?;
    }
    Ok(())
}

/// The check that each one is what its table makes of it.
pub(crate) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, make) in DOCUMENTS {
        if tree.text(path) != Some(make().as_str()) {
            findings.problem(format!(
                "{path} is not in step with the code; run `cargo xtask docs`"
            ));
        }
    }
}

/// A cell of a table: one line, no bar.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

/// A kind by the word that results and events use.
fn name(kind: talaria_recovery::ErrorKind) -> String {
    let value = serde_json::to_value(kind).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn recovery() -> String {
    let mut page = "# What is done after a failure\n\n\
        Made by `cargo xtask docs` from the rows of `crates/recovery`; do not edit.\n\n\
        The rows are asked in this order. The first one that recognises the failure and has not been used up names \
        the cure; the turn machine performs it and counts it.\n\n\
        | row | what it does | at most | kinds it looks at |\n|---|---|---|---|\n"
        .to_owned();
    for row in talaria_recovery::table() {
        let kinds: Vec<String> = row
            .kinds
            .iter()
            .map(|kind| format!("`{}`", name(*kind)))
            .collect();
        let kinds = if kinds.is_empty() {
            "any".to_owned()
        } else {
            kinds.join(", ")
        };
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {kinds} |",
            row.name,
            cell(row.doc),
            cell(&row.limit)
        );
    }
    page.push_str("\n## Messages that are known by their words\n\n");
    page.push_str("`…` stands for anything between. The last column is a real message.\n\n");
    page.push_str("| kind | words | who says so | as it was sent |\n|---|---|---|---|\n");
    for message in talaria_recovery::messages() {
        let kind = name(message.kind);
        let (text, provider, sample) = (cell(message.text), cell(message.provider), cell(message.sample));
        let _ = writeln!(page, "| `{kind}` | {text} | {provider} | {sample} |");
    }
    page
}
