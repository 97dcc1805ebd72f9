//! The pure crates' `clippy.toml`, made from one template.
//!
//! A crate's own file replaces the root's, so each needs the root's settings and the list of what a
//! pure crate may not touch. Written by hand they would drift apart.

use super::Findings;
use crate::tree::Tree;
use anyhow::Result;
use std::fmt::Write as _;

/// The crates of floors 0 and 1.
const PURE: &[&str] = &["types", "redact", "context", "recovery", "turn"];

/// What a pure crate may not call, by reason.
const METHODS: &[(&str, &[&str])] = &[
    (
        "does no I/O",
        &[
            "std::fs::read",
            "std::fs::read_to_string",
            "std::fs::read_dir",
            "std::fs::write",
            "std::fs::create_dir",
            "std::fs::create_dir_all",
            "std::fs::remove_file",
            "std::fs::rename",
            "std::fs::metadata",
            "std::io::stdin",
            "std::io::stdout",
            "std::io::stderr",
        ],
    ),
    (
        "knows no clock",
        &[
            "std::time::Instant::now",
            "std::time::SystemTime::now",
            "std::thread::sleep",
        ],
    ),
    (
        "knows no environment",
        &[
            "std::env::var",
            "std::env::var_os",
            "std::env::vars",
            "std::env::args",
            "std::env::current_dir",
        ],
    ),
    ("has no threads", &["std::thread::spawn"]),
];

const TYPES: &[(&str, &[&str])] = &[
    (
        "does no I/O",
        &[
            "std::fs::File",
            "std::fs::OpenOptions",
            "std::net::TcpStream",
            "std::net::UdpSocket",
        ],
    ),
    ("starts nothing", &["std::process::Command"]),
];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    let wanted = wanted(tree);
    for name in pure_crates(tree) {
        let path = format!("crates/{name}/clippy.toml");
        if tree.text(&path) != Some(wanted.as_str()) {
            findings.problem(format!(
                "{path} is not what the template makes; run `cargo xtask tidy --fix`"
            ));
        }
    }
}

/// Writes the files.
pub(super) fn write(tree: &Tree) -> Result<()> {
    let wanted = wanted(tree);
    for name in pure_crates(tree) {
        std::fs::write(tree.root.join(format!("crates/{name}/clippy.toml")), &wanted)?;
    }
    Ok(())
}

fn pure_crates(tree: &Tree) -> impl Iterator<Item = &str> {
    tree.crates().into_iter().filter(|name| PURE.contains(name))
}

fn wanted(tree: &Tree) -> String {
    let mut text =
        "# Made by `cargo xtask tidy --fix` from the root's settings and xtask/src/tidy/purity.rs.\n"
            .to_owned();
    text.push_str(tree.text("clippy.toml").unwrap_or_default());
    for (key, table) in [("disallowed-methods", METHODS), ("disallowed-types", TYPES)] {
        let _ = writeln!(text, "{key} = [");
        for (reason, paths) in table {
            for path in *paths {
                let _ = writeln!(
                    text,
                    "    {{ path = \"{path}\", reason = \"a pure crate {reason}\" }},"
                );
            }
        }
        text.push_str("]\n");
    }
    text
}
