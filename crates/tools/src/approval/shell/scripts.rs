//! What a program runs by its words, and what it prints of them.

use std::sync::Arc;

use super::Call;
use super::quoting::unescape_ansi;
use super::walk::SHELLS;
use super::word::Word;

/// What a call prints, when it only repeats its words or its input.
pub(super) fn literal_output(call: &Call) -> Option<Arc<str>> {
    match call.program.as_str() {
        "echo" | "printf" if call.args().iter().all(Word::is_known) => {
            let words: Vec<String> = call
                .texts()
                .skip_while(|text| matches!(text.as_str(), "-n" | "-e" | "-ne" | "-en" | "--"))
                .collect();
            // A format that fills in nothing but its arguments comes to them.
            let words = match words.first() {
                Some(format)
                    if call.program == "printf"
                        && words.len() > 1
                        && format.trim_end_matches("\\n") == "%s" =>
                {
                    &words[1..]
                }
                _ => &words[..],
            };
            Some(unescape_ansi(&words.join(" ")).into())
        }
        "cat" | "tee" if call.operands().is_empty() || call.program == "tee" => call.input.clone(),
        _ => None,
    }
}

/// The program whose place is looked up.
pub(super) fn looked_up(call: &Call) -> Option<Arc<str>> {
    let operands = call.operands();
    let one = operands.first().filter(|_| operands.len() == 1)?;
    let asks = call.is(&["which", "type"]) || call.is(&["command"]) && call.has_option('v', "");
    (asks && one.is_known()).then(|| one.text().into())
}

/// The script that a call hands to a shell.
pub(super) fn script_argument(call: &Call) -> Option<String> {
    let texts: Vec<String> = call.texts().collect();
    let joined = |from: usize| {
        texts
            .get(from..)
            .filter(|words| !words.is_empty())
            .map(|words| words.join(" "))
    };
    match call.program.as_str() {
        name if SHELLS.contains(&name) => {
            let at = texts.iter().position(|text| is_c_flag(text))?;
            // Options may stand between the flag and its script.
            texts[at + 1..]
                .iter()
                .find(|text| !text.starts_with(['-', '+']))
                .cloned()
        }
        "su" | "runuser" | "script" | "flock" | "sg" | "expect" | "capsh" => texts
            .iter()
            .enumerate()
            .find_map(|(at, text)| match text.strip_prefix("--command=") {
                Some(script) => Some(script.to_owned()),
                None => (is_c_flag(text) || text == "--command")
                    .then(|| texts.get(at + 1).cloned())
                    .flatten(),
            }),
        "git" => git_script(&texts),
        "tmux" | "screen" => {
            let scripts: Vec<String> = texts.iter().filter(|text| text.contains(' ')).cloned().collect();
            (!scripts.is_empty()).then(|| scripts.join("\n"))
        }
        "eval" => joined(0),
        "trap" => texts.iter().find(|text| !text.starts_with('-')).cloned(),
        "watch" => {
            let at = texts
                .iter()
                .position(|text| !text.starts_with('-') && text.parse::<f64>().is_err())?;
            joined(at)
        }
        "env" => split_string(&texts),
        "ssh" => {
            let operands = call.operands();
            let words: Vec<String> = operands.iter().skip(1).map(|word| word.text()).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        _ => None,
    }
}

/// What `git` runs for each submodule, each step of a search or each commit.
fn git_script(texts: &[String]) -> Option<String> {
    let follows = |first: &str, second: &str| {
        let at = texts
            .windows(2)
            .position(|pair| pair[0] == first && pair[1] == second)?;
        let words: Vec<&str> = texts[at + 2..]
            .iter()
            .map(String::as_str)
            .skip_while(|text| text.starts_with('-'))
            .collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let steps = || {
        texts.iter().position(|text| text == "rebase")?;
        texts
            .iter()
            .enumerate()
            .find_map(|(at, text)| match text.strip_prefix("--exec=") {
                Some(script) => Some(script.to_owned()),
                None => matches!(text.as_str(), "-x" | "--exec")
                    .then(|| texts.get(at + 1).cloned())
                    .flatten(),
            })
    };
    follows("submodule", "foreach")
        .or_else(|| follows("bisect", "run"))
        .or_else(steps)
}

/// The text of `env -S`, attached or not, and the words after it.
fn split_string(texts: &[String]) -> Option<String> {
    let at = texts
        .iter()
        .position(|text| text.starts_with("--split-string") || text.starts_with('-') && text.contains('S'))?;
    let attached = match texts[at].strip_prefix("--split-string") {
        Some(rest) => rest.trim_start_matches('='),
        None => texts[at].split_once('S').map_or("", |(_, rest)| rest),
    };
    Some(format!("{attached} {}", texts[at + 1..].join(" ")))
}

/// `-c`, also in a bundle such as `-lc`.
pub(crate) fn is_c_flag(text: &str) -> bool {
    let letters = text.strip_prefix('-').unwrap_or_default();
    letters.contains('c') && letters.chars().all(|c| c.is_ascii_alphabetic())
}

/// The commands of `find -exec` and its like.
pub(super) fn find_commands(call: &Call) -> Vec<Vec<Word>> {
    const STARTS: &[&str] = &[
        "-exec",
        "-execdir",
        "-ok",
        "-okdir",
        "-x",
        "-X",
        "--exec",
        "--exec-batch",
    ];
    let mut found = Vec::new();
    let mut words = call.args().iter();
    while let Some(word) = words.next() {
        if STARTS.contains(&word.text().as_str()) {
            found.push(
                words
                    .by_ref()
                    .take_while(|word| !matches!(word.text().as_str(), ";" | "+"))
                    .cloned()
                    .collect(),
            );
        }
    }
    found
}
