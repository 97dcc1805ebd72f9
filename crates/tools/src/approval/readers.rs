//! Programs that only read what they are given.

use super::matchers::escapes;
use super::shell::Call;

/// They write nothing but their output, whatever their options.
const PLAIN: &[&str] = &[
    "",
    "[",
    "[[",
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "bat",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "ag",
    "ls",
    "ll",
    "dir",
    "stat",
    "file",
    "wc",
    "du",
    "df",
    "diff",
    "cmp",
    "comm",
    "test",
    "md5sum",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "b2sum",
    "cksum",
    "jq",
    "echo",
    "printf",
    "cut",
    "tr",
    "nl",
    "tac",
    "rev",
    "od",
    "hexdump",
    "strings",
    "readlink",
    "realpath",
    "basename",
    "dirname",
    "cd",
    "pushd",
    "popd",
    "pwd",
    "true",
    "false",
    ":",
    "which",
    "type",
    "command",
    "column",
    "zcat",
];

/// Whether `call` changes no file; redirections are not looked at.
pub(super) fn only_reads(call: &Call) -> bool {
    if call.is(PLAIN) {
        return true;
    }
    let has = |names: &[&str]| call.texts().any(|text| names.contains(&text.as_str()));
    let begins = |names: &[&str]| {
        call.texts()
            .any(|text| names.iter().any(|name| text.starts_with(name)))
    };
    match call.program.as_str() {
        "rg" => !begins(&["--pre"]),
        "tree" => !has(&["-o"]),
        "sort" => !begins(&["-o", "--o", "--compress"]),
        "uniq" | "xxd" => call.operands().len() < 2 && !has(&["-r"]),
        "find" | "gfind" => !begins(&["-delete", "-exec", "-ok", "-fprint", "-fls"]),
        "sqlite3" => {
            has(&["-readonly", "--readonly"]) && !call.texts().any(|text| text.trim_start().starts_with('.'))
        }
        "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk" => {
            !super::targets::edits_in_place(call) && !escapes::runs_or_writes(call)
        }
        "git" => super::matchers::git::subcommand(call).is_some_and(|(name, words)| {
            matches!(
                name.as_str(),
                "status" | "log" | "diff" | "show" | "ls-files" | "blame" | "rev-parse" | "grep" | "commit"
            ) && !words.iter().any(|word| word.starts_with("--output"))
        }),
        _ => false,
    }
}
