//! Documents made from tables in the code, so that they cannot say anything else than the code does.

mod config;
mod recovery;

use crate::{tidy::Findings, tree::Tree};
use anyhow::Result;
use std::{fs, path::Path};

/// Makes the whole text of a document.
type Maker = fn(&Tree) -> Result<String>;

/// Path and maker of each generated document.
const DOCUMENTS: &[(&str, Maker)] = &[
    ("docs/recovery.md", recovery::page),
    ("docs/config.md", config::page),
];

/// Writes them all.
pub(crate) fn write(root: &Path) -> Result<()> {
    let tree = Tree::read(root)?;
    fs::create_dir_all(root.join("docs"))?;
    for (path, make) in DOCUMENTS {
        fs::write(root.join(path), make(&tree)?)?;
    }
    Ok(())
}

/// The check that each one is what its table makes of it.
pub(crate) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, make) in DOCUMENTS {
        match make(tree) {
            Ok(wanted) if tree.text(path) == Some(wanted.as_str()) => {}
            Ok(_) => findings.problem(format!(
                "{path} is not in step with the code; run `cargo xtask docs`"
            )),
            Err(error) => findings.problem(format!("{path} cannot be made: {error:#}")),
        }
    }
}

/// A cell of a table: one line, no bar.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
