//! Programs of everyday work that run commands which stand in their arguments.

use std::sync::OnceLock;

use regex::Regex;

use super::super::shell::{Call, Scene};
use super::sed;

/// Programs that fill in what others print, and programs that only run others.
const FEEDERS: &[&str] = &["xargs", "parallel", "find", "fd", "gfind"];
const RUNNERS: &[&str] = &[
    "bash", "sh", "zsh", "ksh", "dash", "ash", "fish", "env", "sudo", "nohup", "command", "exec", "timeout",
    "busybox", "nice", "time", "setsid", "eval", "source", ".",
];
/// Compressors that `tar -I` may run.
const COMPRESSORS: &[&str] = &[
    "gzip", "pigz", "bzip2", "pbzip2", "xz", "zstd", "pzstd", "lz4", "lzip", "lzma", "brotli",
];

/// Whether `call` of a program with such a way out takes it.
pub(in super::super) fn program_escape(call: &Call, _: &Scene) -> bool {
    let has = |names: &[&str]| call.texts().any(|text| names.contains(&text.as_str()));
    let begins = |names: &[&str]| {
        call.texts()
            .any(|text| names.iter().any(|name| text.starts_with(name)))
    };
    match call.program.as_str() {
        // A program that stands in a file is not read.
        "awk" | "gawk" | "mawk" | "nawk" => {
            awk_runs(call) || begins(&["-f", "--file", "-E", "--exec", "-i", "--include"])
        }
        "sed" | "gsed" => {
            sed_scripts(call).any(|script| sed::read(&script).runs)
                || begins(&["-f", "--file"])
                || has(&["-nf", "-Ef", "-rf", "-nEf", "-nrf"])
        }
        "tar" | "gtar" | "bsdtar" => {
            begins(&[
                "--checkpoint-action",
                "--to-command",
                "--rsh-command",
                "--info-script",
                "--new-volume-script",
                "-F",
            ]) || call.has_option('P', "absolute-names") && call.has_option('x', "extract")
                || value(call, 'I', "--use-compress-program").is_some_and(|program| !is_compressor(&program))
        }
        "vim" | "vi" | "nvim" | "view" | "vimdiff" | "gvim" => {
            begins(&["-c", "--cmd", "-S", "-es", "+!", "+:!"])
        }
        "ex" => true,
        "emacs" | "emacsclient" => begins(&[
            "--eval",
            "-eval",
            "--batch",
            "-batch",
            "-e",
            "-f",
            "--funcall",
            "-l",
        ]),
        "ed" => match call.input.as_deref() {
            Some(input) => input.lines().any(|line| line.contains('!')),
            None => !call.upstream.is_empty() || !call.reads.is_empty(),
        },
        "gdb" | "lldb" => begins(&[
            "-ex",
            "-iex",
            "--ex",
            "--eval",
            "-eval",
            "-x",
            "--command",
            "-o",
            "-O",
            "-s",
        ]),
        "zip" => begins(&["-TT", "--unzip-command"]),
        "make" | "gmake" => begins(&["--eval", "SHELL="]) || reads_stream(call),
        "ssh" | "scp" | "sftp" => {
            let commands = ["proxycommand", "localcommand", "knownhostscommand"];
            call.texts().map(|text| text.to_lowercase()).any(|text| {
                commands
                    .iter()
                    .any(|name| text.contains(&format!("{name}=")) || text.starts_with(&format!("{name} ")))
            }) || begins(&["-F"])
                || call.program != "ssh" && has(&["-S"])
        }
        "rsync" => {
            let shell = value(call, 'e', "--rsh");
            begins(&["--rsync-path"]) || shell.is_some_and(|shell| !is_plain_ssh(&shell))
        }
        "rg" => begins(&["--pre"]),
        "tcpdump" => has(&["-z"]),
        "sqlite3" => sql_texts(call).any(|text| {
            let line = text.trim_start().to_lowercase();
            [".shell", ".system", ".sh ", ".load"]
                .iter()
                .any(|name| line.starts_with(name))
        }),
        _ => false,
    }
}

/// A shell, or a program that only runs others, that is handed what another program found.
pub(in super::super) fn fed_runner(call: &Call, _: &Scene) -> bool {
    call.is(RUNNERS)
        && call
            .wrappers
            .iter()
            .any(|wrapper| FEEDERS.contains(&wrapper.as_str()))
}

/// A socket that the shell itself opens.
pub(in super::super) fn shell_socket(call: &Call, _: &Scene) -> bool {
    let names = |text: &str| text.contains("/dev/tcp/") || text.contains("/dev/udp/");
    let words = call.writes.iter().chain(&call.reads);
    words
        .map(super::super::shell::Word::text)
        .any(|text| names(&text))
}

/// Whether an `awk` or a `sed` runs or writes something.
pub(in super::super) fn runs_or_writes(call: &Call) -> bool {
    if call.is(&["sed", "gsed"]) {
        return sed_scripts(call).any(|script| sed::read(&script) != sed::Script::default());
    }
    awk_runs(call) || !awk_files(call).is_empty()
}

/// The files that the scripts of a `sed` write.
pub(in super::super) fn sed_files(call: &Call) -> Vec<String> {
    sed_scripts(call)
        .flat_map(|script| sed::read(&script).writes)
        .collect()
}

/// The files that an `awk` prints to.
pub(in super::super) fn awk_files(call: &Call) -> Vec<String> {
    static FILES: OnceLock<Option<Regex>> = OnceLock::new();
    let files = FILES.get_or_init(|| Regex::new(r#"print[^\n;}]*>\s*"([^"]+)""#).ok());
    let Some(files) = files else { return Vec::new() };
    call.texts()
        .flat_map(|text| {
            files
                .captures_iter(&text)
                .map(|found| found[1].to_owned())
                .collect::<Vec<_>>()
        })
        .collect()
}

fn awk_runs(call: &Call) -> bool {
    static RUNS: OnceLock<Option<Regex>> = OnceLock::new();
    static STRINGS: OnceLock<Option<Regex>> = OnceLock::new();
    let runs = RUNS.get_or_init(|| {
        Regex::new(r"\bsystem\s*\(|\|&|\|\s*getline|\bprintf?\b[^\n;}]*[^|]\|([^|]|$)|@load|\bxsystem\b").ok()
    });
    let strings = STRINGS.get_or_init(|| Regex::new(r#""(\\.|[^"\\])*""#).ok());
    let (Some(runs), Some(strings)) = (runs, strings) else {
        return true;
    };
    call.texts()
        .filter(|text| !text.starts_with("-F"))
        .any(|text| runs.is_match(&strings.replace_all(&text, "\"\"")))
}

/// The scripts of a `sed`: what `-e` names, else the first operand.
fn sed_scripts(call: &Call) -> impl Iterator<Item = String> {
    let texts: Vec<String> = call.texts().collect();
    let mut found: Vec<String> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        if let Some(script) = text.strip_prefix("--expression=") {
            found.push(script.to_owned());
        } else if text == "--expression"
            || text.starts_with('-') && !text.starts_with("--") && text.ends_with('e')
        {
            found.extend(texts.get(at + 1).cloned());
        } else if let Some(script) = text.strip_prefix("-e") {
            found.push(script.to_owned());
        }
    }
    if found.is_empty() && !call.has_option('f', "file") {
        found.extend(call.operands().first().map(|word| word.text()));
    }
    found.into_iter()
}

/// The value of the option `letter`, at the end of a bundle or attached, or of `long`.
fn value(call: &Call, letter: char, long: &str) -> Option<String> {
    let texts: Vec<String> = call.texts().collect();
    texts.iter().enumerate().find_map(|(at, text)| {
        if let Some(rest) = text.strip_prefix(long) {
            return rest
                .strip_prefix('=')
                .map(str::to_owned)
                .or_else(|| texts.get(at + 1).cloned());
        }
        let bundle = text.strip_prefix('-').filter(|bundle| !bundle.starts_with('-'))?;
        let (_, rest) = bundle.split_once(letter)?;
        if rest.is_empty() {
            texts.get(at + 1).cloned()
        } else {
            Some(rest.to_owned())
        }
    })
}

fn is_compressor(command: &str) -> bool {
    let first = command.split_whitespace().next().unwrap_or_default();
    COMPRESSORS.contains(&first)
}

fn is_plain_ssh(command: &str) -> bool {
    let lower = command.to_lowercase();
    lower.split_whitespace().next() == Some("ssh")
        && !lower.contains("command")
        && !lower.contains(['$', '`', ';'])
}

/// Whether a `make` reads its rules from a stream.
fn reads_stream(call: &Call) -> bool {
    let file = value(call, 'f', "--file").or_else(|| value(call, 'f', "--makefile"));
    file.is_some_and(|file| file == "-" || file.starts_with("/dev/") || file.contains('$'))
}

fn sql_texts(call: &Call) -> impl Iterator<Item = String> {
    let input = call.input.as_deref().unwrap_or_default();
    let lines: Vec<String> = input.lines().map(str::to_owned).collect();
    call.texts().collect::<Vec<_>>().into_iter().chain(lines)
}
