//! What `git` cannot take back.

use super::super::shell::{Call, Scene};
use super::variables::is_harmless;

/// The subcommand of a `git` and the words after it.
pub(in super::super) fn subcommand(call: &Call) -> Option<(String, Vec<String>)> {
    if call.program != "git" {
        return None;
    }
    let mut words = call.texts();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" | "--config-env" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            _ => return Some((word, words.collect())),
        }
    }
    None
}

fn has(call: &Call, name: &str, test: impl Fn(&str) -> bool) -> bool {
    subcommand(call).is_some_and(|(found, words)| found == name && words.iter().any(|word| test(word)))
}

/// A short option, alone or in a bundle.
fn short(word: &str, letter: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
}

pub(in super::super) fn reset_hard(call: &Call, _: &Scene) -> bool {
    has(call, "reset", |word| word == "--hard")
}

pub(in super::super) fn force_push(call: &Call, _: &Scene) -> bool {
    // A refspec with a plus forces that one ref.
    has(call, "push", |word| {
        word.starts_with("--force")
            || word == "--mirror"
            || short(word, 'f')
            || word.starts_with('+') && word.len() > 1
    })
}

pub(in super::super) fn clean(call: &Call, _: &Scene) -> bool {
    let dry = has(call, "clean", |word| word == "--dry-run" || short(word, 'n'));
    !dry && has(call, "clean", |word| word == "--force" || short(word, 'f'))
}

pub(in super::super) fn branch_delete(call: &Call, _: &Scene) -> bool {
    let deletes = has(call, "branch", |word| word == "--delete" || short(word, 'd'));
    let forces = has(call, "branch", |word| word == "--force" || short(word, 'f'));
    has(call, "branch", |word| short(word, 'D')) || deletes && forces
}

/// What a path means that stands for everything.
fn is_everything(word: &str) -> bool {
    matches!(word, "." | "./" | ":/" | "*" | "-f" | "--force" | ":")
}

pub(in super::super) fn discard(call: &Call, _: &Scene) -> bool {
    let Some((name, words)) = subcommand(call) else {
        return false;
    };
    let any = |test: &dyn Fn(&str) -> bool| words.iter().any(|word| test(word));
    let first = words
        .iter()
        .find(|word| !word.starts_with('-'))
        .map(String::as_str);
    match name.as_str() {
        "checkout" => any(&is_everything) || any(&|word| short(word, 'f')),
        "restore" => {
            let index_only = any(&|word| matches!(word, "--staged" | "-S"))
                && !any(&|word| matches!(word, "--worktree" | "-W"));
            any(&is_everything) && !index_only
        }
        "switch" => any(&|word| matches!(word, "-f" | "--force" | "--discard-changes")),
        "stash" => matches!(first, Some("drop" | "clear")),
        "reflog" => matches!(first, Some("expire" | "delete")),
        "worktree" => matches!(first, Some("remove")) && any(&|word| matches!(word, "-f" | "--force")),
        _ => false,
    }
}

/// Keys whose values `git` runs; a `*` stands for any text.
const RUN_KEYS: &[&str] = &[
    "alias.*",
    "core.fsmonitor",
    "core.editor",
    "core.pager",
    "core.sshcommand",
    "core.hookspath",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "core.attributesfile",
    "sequence.editor",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "merge.*.driver",
    "filter.*.clean",
    "filter.*.smudge",
    "filter.*.process",
    "credential.helper",
    "credential.*.helper",
    "gpg.program",
    "gpg.*.program",
    "protocol.*allow",
    "pager.*",
    "uploadpack.packobjectshook",
    "remote.*.uploadpack",
    "remote.*.receivepack",
    "remote.*.vcs",
    "browser.*.cmd",
    "difftool.*.cmd",
    "mergetool.*.cmd",
    "include.path",
    "includeif.*",
    "init.templatedir",
    "trailer.*.command",
    "trailer.*.cmd",
    "man.*.cmd",
    "submodule.*.update",
    "interactive.difffilter",
    "clean.requireforce",
];

fn runs_value(key: &str, value: &str) -> bool {
    let key = key.to_lowercase();
    let runs = RUN_KEYS
        .iter()
        .any(|pattern| super::super::deny::matches(pattern, &key));
    let harmless = is_harmless(value) && key != "clean.requireforce"
        || matches!(value, "store" | "cache" | "osxkeychain");
    runs && !harmless
}

/// Whether a setting or an option makes `git` run something.
pub(in super::super) fn runs(call: &Call, _: &Scene) -> bool {
    if call.program != "git" {
        return false;
    }
    let texts: Vec<String> = call.texts().collect();
    let set_here = texts.windows(2).any(|pair| {
        let (key, value) = pair[1].split_once('=').unwrap_or((&pair[1], ""));
        match pair[0].as_str() {
            "-c" | "--config" => runs_value(key, value),
            "--config-env" => runs_value(key, "$"),
            _ => false,
        }
    });
    let attached = texts.iter().any(|text| {
        text.starts_with("--exec-path=")
            || text.starts_with("--upload-pack")
            || text.starts_with("--receive-pack")
            || text.starts_with("ext::")
            || text.starts_with("--config-env=")
            || text.starts_with("--template=")
            || text
                .strip_prefix("--config=")
                .and_then(|pair| pair.split_once('='))
                .is_some_and(|(key, value)| runs_value(key, value))
    });
    set_here || attached || subcommand(call).is_some_and(|(name, words)| subcommand_runs(&name, &words))
}

fn subcommand_runs(name: &str, words: &[String]) -> bool {
    match name {
        "config" => {
            let operands: Vec<&String> = words
                .iter()
                .filter(|word| !word.starts_with('-') && *word != "set" && *word != "get")
                .collect();
            // The name of another command is an everyday alias.
            let alias = operands
                .first()
                .is_some_and(|key| key.to_lowercase().starts_with("alias."));
            match operands.as_slice() {
                [_, value, ..] if alias => value.starts_with('!'),
                [key, value, ..] => runs_value(key, value),
                _ => words.iter().any(|word| matches!(word.as_str(), "-e" | "--edit")),
            }
        }
        "filter-branch" => true,
        "grep" => words
            .iter()
            .any(|word| word.starts_with("-O") || word.starts_with("--open-files")),
        "difftool" => words
            .iter()
            .any(|word| word == "-x" || word.starts_with("--extcmd")),
        _ => false,
    }
}
