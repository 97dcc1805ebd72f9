//! Programs that run code which nobody has read.

use std::sync::OnceLock;

use regex::Regex;

use super::super::shell::{Call, SHELLS, Scene, is_c_flag};

const FETCHERS: &[&str] = &["curl", "wget", "fetch", "aria2c", "http", "https", "xh"];
const DATABASES: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "sqlcmd",
    "duckdb",
    "clickhouse-client",
    "cockroach",
    "pgcli",
    "mycli",
    "usql",
    "bq",
];

/// The interpreter a name stands for, versions left out: `python3.12` is `python`.
fn interpreter(name: &str) -> Option<&'static str> {
    const KNOWN: &[&str] = &[
        "python",
        "pypy",
        "perl",
        "ruby",
        "node",
        "nodejs",
        "deno",
        "bun",
        "php",
        "lua",
        "osascript",
        "rscript",
        "tclsh",
    ];
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    KNOWN.iter().find(|known| **known == bare).copied()
}

pub(in super::super) fn runs_code(call: &Call) -> bool {
    call.is(SHELLS) || interpreter(&call.program).is_some()
}

pub(in super::super) fn run_made_executable(call: &Call, scene: &Scene) -> bool {
    let Some(program) = call.words.first() else {
        return false;
    };
    let runs = program.text().contains('/').then(|| call.path(program));
    let by_shell = call
        .is(SHELLS)
        .then(|| call.operands().first().map(|file| call.path(file)))
        .flatten();
    runs.or(by_shell)
        .is_some_and(|file| scene.made_executable.contains(&file))
}

pub(in super::super) fn script_flag(call: &Call, _: &Scene) -> bool {
    let flags: &[char] = match interpreter(&call.program) {
        Some("python" | "pypy") => &['c'],
        Some("perl") => &['e', 'E'],
        Some("ruby" | "lua" | "osascript" | "rscript") => &['e'],
        Some("node" | "nodejs" | "bun") => &['e', 'p'],
        Some("php") => &['r'],
        Some("deno") => return call.operands().first().is_some_and(|word| word.text() == "eval"),
        _ => return false,
    };
    // Behind the script's name they are the script's own options.
    let mut value_follows = false;
    call.texts()
        .take_while(|text| {
            let is_value = std::mem::replace(
                &mut value_follows,
                matches!(
                    text.as_str(),
                    "-I" | "-W" | "-X" | "-r" | "--require" | "--import" | "-d"
                ),
            );
            is_value || text.starts_with('-') && text != "-" && text != "-m"
        })
        .any(|text| {
            matches!(text.as_str(), "--eval" | "--print") || !text.starts_with("--") && text.contains(flags)
        })
}

/// Whether it takes its code from its input.
fn reads_code(call: &Call) -> bool {
    let operands = call.operands();
    let none = operands.first().is_none_or(|word| word.text() == "-");
    if call.is(SHELLS) {
        return (none || call.has_option('s', "")) && !call.texts().any(|text| is_c_flag(&text));
    }
    let asks = call
        .texts()
        .any(|text| matches!(text.as_str(), "--version" | "-V" | "-v" | "--help" | "-h"));
    interpreter(&call.program).is_some() && none && !asks
}

pub(in super::super) fn piped_script(call: &Call, _: &Scene) -> bool {
    // What a shell is told in the command itself is read; an interpreter's language is not.
    let known = call.is(SHELLS) && call.input.is_some();
    reads_code(call) && !known && (!call.upstream.is_empty() || !call.reads.is_empty())
}

pub(in super::super) fn run_written(call: &Call, scene: &Scene) -> bool {
    let by_path = call.words.first().filter(|program| program.text().contains('/'));
    let script = (runs_code(call) || call.is(&["source", "."]))
        .then(|| call.operands().first().copied())
        .flatten();
    let fed = runs_code(call).then(|| call.reads.first()).flatten();
    [by_path, script, fed]
        .into_iter()
        .flatten()
        .any(|file| scene.written.contains(&call.path(file)))
}

pub(in super::super) fn sourced_output(call: &Call, _: &Scene) -> bool {
    let takes = call.is(&["source", "."]) || call.is(SHELLS);
    let first = call.operands().first().copied();
    let streams = |word: &super::super::shell::Word| word.programs().next().is_some();
    takes && (first.is_some_and(streams) || call.reads.iter().any(streams))
}

pub(in super::super) fn script_heredoc(call: &Call, _: &Scene) -> bool {
    call.heredoc && interpreter(&call.program).is_some()
}

pub(in super::super) fn hidden_script(call: &Call, _: &Scene) -> bool {
    if call.program == "eval" {
        return !call.args().is_empty() && call.args().iter().any(|word| !word.is_known());
    }
    if !call.is(SHELLS) {
        return false;
    }
    let at = call.args().iter().position(|word| is_c_flag(&word.text()));
    at.is_some_and(|at| call.args()[at + 1..].iter().any(|word| !word.is_known()))
}

pub(in super::super) fn remote_script(call: &Call, _: &Scene) -> bool {
    let fetched = call.upstream.iter().any(|name| FETCHERS.contains(&name.as_str()));
    runs_code(call) && fetched
}

pub(in super::super) fn remote_substitution(call: &Call, _: &Scene) -> bool {
    let fetches = call
        .args()
        .iter()
        .any(|word| word.programs().any(|name| FETCHERS.contains(&name)));
    fetches && (runs_code(call) || call.is(&["source", ".", "eval"])) || names_fetched(call)
}

/// Whether the program itself is what a fetcher prints.
fn names_fetched(call: &Call) -> bool {
    call.words
        .first()
        .is_some_and(|word| word.programs().any(|name| FETCHERS.contains(&name)))
}

pub(in super::super) fn decoded_script(call: &Call, _: &Scene) -> bool {
    let decodes = |name: &str| {
        matches!(
            name,
            "base64" | "base32" | "xxd" | "openssl" | "tr" | "rev" | "gunzip" | "zcat" | "gzip"
        )
    };
    let piped = call.upstream.iter().any(|name| decodes(name));
    let filled_in = call.words.iter().any(|word| word.programs().any(decodes));
    let evaluates = call.is(&["eval", "source", "."]) || call.is(SHELLS);
    runs_code(call) && piped || evaluates && filled_in
}

pub(in super::super) fn windows(call: &Call, _: &Scene) -> bool {
    let words: Vec<String> = call.texts().map(|text| text.to_lowercase()).collect();
    let any = |test: fn(&str) -> bool| words.iter().any(|word| test(word));
    match call.program.as_str() {
        "powershell" | "powershell.exe" | "pwsh" => {
            any(|word| word.len() >= 3 && "-encodedcommand".starts_with(word))
                || any(|word| word.contains("remove-item"))
        }
        "del" | "erase" | "rd" | "rmdir" => any(|word| word == "/s"),
        "cmd" | "cmd.exe" => {
            any(|word| word == "/s") && any(|word| matches!(word, "del" | "rd" | "rmdir" | "erase"))
        }
        "remove-item" => any(|word| word.starts_with("-rec")),
        "format" | "format.com" => any(|word| word.len() == 2 && word.ends_with(':')),
        _ => false,
    }
}

/// Everything a database client is told in the command.
fn sql(call: &Call) -> Option<String> {
    let through = call.texts().any(|text| DATABASES.contains(&text.as_str()))
        && call.is(&["docker", "podman", "kubectl"]);
    if !call.is(DATABASES) && !through {
        return None;
    }
    let words: Vec<String> = call
        .texts()
        .chain(call.input.as_deref().map(str::to_owned))
        .collect();
    Some(words.join("\n"))
}

fn matches(call: &Call, pattern: &'static OnceLock<Option<Regex>>, source: &str) -> bool {
    let Some(text) = sql(call) else { return false };
    let regex = pattern.get_or_init(|| Regex::new(source).ok());
    regex.as_ref().is_some_and(|regex| regex.is_match(&text))
}

pub(in super::super) fn sql_drop(call: &Call, _: &Scene) -> bool {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    matches(call, &PATTERN, r"(?i)\bdrop\s+(table|database|schema)\b")
}

pub(in super::super) fn sql_delete(call: &Call, _: &Scene) -> bool {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    matches(call, &PATTERN, r#"(?i)\bdelete\s+from\s+[\w."`\[\]]+\s*(;|$)"#)
}

pub(in super::super) fn sql_truncate(call: &Call, _: &Scene) -> bool {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    matches(call, &PATTERN, r#"(?i)(^|;|\n)\s*truncate\s+(table\s+)?[\w."`]"#)
}
