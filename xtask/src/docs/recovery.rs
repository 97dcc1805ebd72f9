//! `docs/recovery.md`: what every failure leads to, from the rows of the recovery crate.

use super::cell;
use crate::tree::Tree;
use anyhow::Result;
use std::fmt::Write as _;
use talaria_recovery::ErrorKind;

pub(super) fn page(_tree: &Tree) -> Result<String> {
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
    Ok(page)
}

/// A kind by the word that results and events use.
fn name(kind: ErrorKind) -> String {
    let value = serde_json::to_value(kind).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
