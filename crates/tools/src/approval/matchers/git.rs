//! What `git` cannot take back.

use super::super::shell::{Call, Scene};

/// The subcommand of a `git` and the words after it.
fn subcommand(call: &Call) -> Option<(String, Vec<String>)> {
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
