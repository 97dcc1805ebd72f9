//! What the shell remembers from one command to the next.
//!
//! Every command gets a new shell. So that `cd` and `export` last, each shell
//! writes its folder and its exports to a private file when it ends; what
//! differs from the environment it was given is replayed in the next one.
//! Usually nothing differs, and the next command pays nothing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::environment::Variables;

/// Variables that are the shell's own business, or ours, not a command's.
const NOT_KEPT: &[&str] = &[
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "BASHOPTS",
    "SHELLOPTS",
    "TALARIA_SESSION_ID",
    "HERMES_SESSION_ID",
];

/// Exports that commands made, as statements of the shell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exports {
    statements: BTreeMap<String, String>,
}

/// What a shell left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftBehind {
    /// Its last folder.
    pub(crate) cwd: Option<PathBuf>,
    /// Its exports.
    pub(crate) exports: Exports,
}

/// The script that runs `command` after `exports`, and writes what is left behind to `state`, if any.
///
/// The command begins on the first line, so that line numbers in error messages are its own.
pub(crate) fn script(
    command: &str,
    exports: &Exports,
    state: Option<&Path>,
    init_files: &[PathBuf],
) -> String {
    let mut script = String::with_capacity(command.len() + 200);
    for file in init_files {
        let file = quote(&file.to_string_lossy());
        // With its noise away: an init file is not what the model asked for.
        script.push_str(&format!("[ -r {file} ] && . {file} >/dev/null 2>&1 </dev/null; "));
    }
    if !exports.statements.is_empty() {
        let statements: Vec<&str> = exports.statements.values().map(String::as_str).collect();
        script.push_str(&format!("eval {} 2>/dev/null; ", quote(&statements.join("\n"))));
    }
    if let Some(state) = state {
        let state = quote(&state.to_string_lossy());
        let trap = quote(&format!("{{ pwd -P; export -p; }} >{state} 2>/dev/null"));
        script.push_str(&format!("trap {trap} EXIT; "));
    }
    script.push_str(command);
    script
}

/// `text` as one word of the shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Reads what a shell with the variables `given` left in `state`.
pub(crate) fn read(state: &str, given: &Variables, kept_back: impl Fn(&str) -> bool) -> LeftBehind {
    let (cwd, dump) = state.split_once('\n').unwrap_or((state, ""));
    let cwd = cwd.starts_with('/').then(|| PathBuf::from(cwd));
    let mut exports = Exports::default();
    if dump.is_empty() {
        return LeftBehind { cwd, exports };
    }
    let mut seen = Vec::new();
    for statement in statements(dump) {
        let Some((name, value)) = declared(&statement) else {
            continue;
        };
        seen.push(name.to_owned());
        if NOT_KEPT.contains(&name) || kept_back(name) {
            continue;
        }
        let unchanged = value.is_some_and(|value| {
            given
                .get(OsStr::new(name))
                .is_some_and(|given| given.to_str() == Some(value.as_str()))
        });
        if !unchanged {
            exports.statements.insert(name.to_owned(), statement.clone());
        }
    }
    for name in given.keys().filter_map(|name| name.to_str()) {
        let gone = is_identifier(name) && !NOT_KEPT.contains(&name) && !seen.iter().any(|seen| seen == name);
        if gone {
            exports
                .statements
                .insert(name.to_owned(), format!("unset {name}"));
        }
    }
    LeftBehind { cwd, exports }
}

/// Splits a dump of `export -p` into its statements; values may hold line breaks.
fn statements(dump: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open = false;
    for line in dump.lines() {
        if !open && (line.starts_with("declare -") || line.starts_with("export ")) {
            found.push(line.to_owned());
        } else if let Some(last) = found.last_mut() {
            last.push('\n');
            last.push_str(line);
        }
        open = found.last().is_some_and(|last| !is_closed(last));
    }
    found
}

/// Whether every quote of `statement` is closed.
fn is_closed(statement: &str) -> bool {
    let mut quote = None;
    let mut chars = statement.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None | Some('"'), '\\') => {
                chars.next();
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
    }
    quote.is_none()
}

/// The name of a statement and its value; no value when it is written in a way that is not read here.
fn declared(statement: &str) -> Option<(&str, Option<String>)> {
    let rest = match statement.strip_prefix("declare -") {
        Some(rest) => rest.split_once(' ')?.1,
        None => statement.strip_prefix("export ")?,
    };
    let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
    is_identifier(name).then(|| (name, unquoted(value)))
}

fn unquoted(value: &str) -> Option<String> {
    if let Some(inner) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        let mut out = String::with_capacity(inner.len());
        let mut chars = inner.chars();
        while let Some(c) = chars.next() {
            out.push(if c == '\\' { chars.next()? } else { c });
        }
        return Some(out);
    }
    let inner = value.strip_prefix('\'')?.strip_suffix('\'')?;
    (!inner.contains('\'')).then(|| inner.to_owned())
}

fn is_identifier(name: &str) -> bool {
    let first = name
        .chars()
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Variables {
        pairs
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[test]
    fn only_what_differs_from_the_given_environment_is_kept() {
        let dump = "/tmp/x\ndeclare -x A=\"1\"\ndeclare -x B=\"say \\\"hi\\\" \\$x\"\ndeclare -x PWD=\"/tmp/x\"\n\
                    declare -x NEW=\"two\nlines\"\ndeclare -x EMPTY\n";
        let seen = read(
            dump,
            &given(&[("A", "1"), ("B", "say \"hi\" $x"), ("GONE", "x"), ("PWD", "/")]),
            |_| false,
        );
        assert_eq!(seen.cwd, Some("/tmp/x".into()));
        let kept: Vec<&str> = seen.exports.statements.values().map(String::as_str).collect();
        assert_eq!(
            kept,
            ["declare -x EMPTY", "unset GONE", "declare -x NEW=\"two\nlines\""]
        );
    }

    #[test]
    fn the_plain_shell_writes_its_exports_another_way() {
        let seen = read("/\nexport A='1'\nexport B='x y'\n", &given(&[("A", "1")]), |_| {
            false
        });
        assert_eq!(
            seen.exports.statements.into_values().collect::<Vec<_>>(),
            ["export B='x y'"]
        );
    }

    #[test]
    fn a_secret_is_not_replayed() {
        let seen = read("/\ndeclare -x KEY=\"s\"\n", &given(&[]), |name| name == "KEY");
        assert_eq!(seen.exports, Exports::default());
    }

    #[test]
    fn a_state_that_was_never_written_changes_nothing() {
        let seen = read("", &given(&[("A", "1")]), |_| false);
        assert_eq!(
            seen,
            LeftBehind {
                cwd: None,
                exports: Exports::default()
            }
        );
    }

    proptest! {
        #[test]
        fn any_dump_is_read_without_trouble(dump in "\\PC*(\n\\PC*){0,4}") {
            let _ = read(&dump, &given(&[("A", "1")]), |_| false);
        }
    }
}
