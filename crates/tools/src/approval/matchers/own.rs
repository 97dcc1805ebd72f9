//! What would change this program itself: its settings, its sessions, its files.

use super::super::own::is_git_internal;
use super::super::readers::only_reads;
use super::super::shell::{Call, Scene, Word};
use super::super::targets::written;
use super::code::runs_code;
use super::services::OURSELVES;

/// Subcommands that change nothing, with the verbs of them that do not; without verbs all of it is free.
const READING: &[(&str, &[&str])] = &[
    (
        "sessions",
        &[
            "", "list", "show", "export", "stats", "search", "lineage", "context",
        ],
    ),
    ("config", &["", "show", "get", "path", "check"]),
    ("memory", &["", "list", "show", "pending", "history"]),
    ("skills", &["", "list", "show", "audit", "diff"]),
    ("models", &["", "show"]),
    ("model", &[""]),
    ("auth", &["", "list", "status"]),
    ("db", &["check"]),
    ("gateway", &[]),
    ("update", &[]),
    ("search", &[]),
    ("recall", &[]),
    ("tools", &[]),
    ("insights", &[]),
    ("doctor", &[]),
    ("demo", &[]),
    ("mock-llm", &[]),
    ("completion", &[]),
    ("man", &[]),
];

/// Options that take the next word.
const VALUED: &[&str] = &[
    "--home",
    "-z",
    "--oneshot",
    "-q",
    "--query",
    "-r",
    "--resume",
    "-m",
    "--model",
    "--provider",
    "--base-url",
    "-t",
    "--toolsets",
    "-s",
    "--skills",
    "--image",
    "--max-turns",
    "--max-cost",
    "--debug-http",
    "--cwd",
    "--source",
];

/// Variables that decide where this program's settings lie and whether it asks.
pub(in super::super) const OWN_VARIABLES: &[&str] = &[
    "TALARIA_HOME",
    "HERMES_HOME",
    "HERMES_YOLO_MODE",
    "TALARIA_YOLO_MODE",
];

pub(in super::super) fn own_settings(call: &Call, scene: &Scene) -> bool {
    if call.program == "export" {
        return call.texts().any(|text| {
            let name = text.split_once('=').map_or("", |(name, _)| name);
            OWN_VARIABLES.contains(&name)
        });
    }
    let ours = call.is(OURSELVES) || scene.own.program.as_deref() == Some(call.program.as_str());
    ours && changes(call)
}

/// Whether `call` of this program changes something, or runs without asking or with other settings.
fn changes(call: &Call) -> bool {
    let words: Vec<String> = call.texts().collect();
    let last = words.last().map(String::as_str).unwrap_or_default();
    if matches!(last, "--help" | "-h") && !words.iter().any(|word| word == "set") {
        return false;
    }
    let mut operands = Vec::new();
    let mut elsewhere = false;
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        elsewhere |= word.starts_with("--home");
        // An abbreviation or a value that is not known could be it.
        if word.starts_with("--y") || word.starts_with('$') {
            return true;
        }
        if VALUED.contains(&word.as_str()) {
            rest.next();
        } else if !word.starts_with('-') {
            operands.push(word.as_str());
        }
    }
    let turn = operands.first().is_none_or(|name| *name == "chat");
    if turn {
        return elsewhere;
    }
    let verb = operands.get(1).copied().unwrap_or_default();
    !READING
        .iter()
        .any(|(name, verbs)| *name == operands[0] && (verbs.is_empty() || verbs.contains(&verb)))
}

pub(in super::super) fn own_files(call: &Call, scene: &Scene) -> bool {
    let named = |word: &Word| scene.own.named(call, word);
    if written(call).iter().any(|word| named(word).is_some()) {
        return true;
    }
    let ours = call.is(OURSELVES) || scene.own.program.as_deref() == Some(call.program.as_str());
    if ours || call.program == "export" || only_reads(call) {
        return false;
    }
    let moves = call.is(&[
        "rm", "mv", "rmdir", "chmod", "chown", "chgrp", "shred", "find", "unlink", "mount",
    ]);
    if moves
        && call
            .operands()
            .iter()
            .any(|word| scene.own.is_below(call, &call.path(word)))
    {
        return true;
    }
    // A script of a skill is there to be run.
    let script = runs_code(call)
        .then(|| call.operands().first().copied())
        .flatten()
        .filter(|word| named(word).is_some_and(|inner| inner.starts_with("skills/")));
    let names = call
        .args()
        .iter()
        .any(|word| named(word).is_some() && Some(word) != script);
    let unseen = || {
        let listed = call
            .wrappers
            .iter()
            .any(|wrapper| matches!(wrapper.as_str(), "xargs" | "parallel"));
        scene.mentions_own && (listed || call.args().iter().any(|word| !word.is_known()))
    };
    names || unseen()
}

pub(in super::super) fn git_internals(call: &Call, _: &Scene) -> bool {
    let internal =
        |word: &Word| is_git_internal(&call.path(word)) || word.text().split(['=', ':']).any(is_git_internal);
    let reads = call.program == "git" || only_reads(call);
    written(call).iter().any(internal) || !reads && call.args().iter().any(internal)
}
