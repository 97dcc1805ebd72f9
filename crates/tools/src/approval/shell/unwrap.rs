//! Takes off what stands before a program without changing what it does.

use super::word::Word;

/// A program that runs the rest of its words.
struct Wrapper {
    names: &'static [&'static str],
    /// Short options that take the next word.
    valued: &'static str,
    /// Long options that take the next word.
    valued_long: &'static [&'static str],
    /// Operands of its own before the program.
    operands: usize,
    /// Options with which it runs nothing.
    queries: &'static [&'static str],
}

const fn wrapper(names: &'static [&'static str], valued: &'static str, operands: usize) -> Wrapper {
    Wrapper {
        names,
        valued,
        valued_long: &[],
        operands,
        queries: &[],
    }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        valued_long: &[
            "--user", "--group", "--host", "--prompt", "--chdir", "--chroot", "--role", "--type",
        ],
        queries: &["-l", "--list", "-k", "-K", "-v", "--validate", "-e", "--edit"],
        ..wrapper(&["sudo"], "ughpCTrtDRU", 0)
    },
    wrapper(&["doas"], "uC", 0),
    wrapper(&["pkexec"], "u", 0),
    Wrapper {
        valued_long: &["--unset", "--chdir"],
        ..wrapper(&["env"], "uC", 0)
    },
    wrapper(
        &[
            "nohup",
            "setsid",
            "builtin",
            "busybox",
            "toybox",
            "unbuffer",
            "caffeinate",
            "eatmydata",
            "fakeroot",
        ],
        "",
        0,
    ),
    Wrapper {
        queries: &["-v", "-V", "-pv", "-vp"],
        ..wrapper(&["command"], "", 0)
    },
    wrapper(&["exec"], "a", 0),
    wrapper(&["time"], "fo", 0),
    Wrapper {
        valued_long: &["--adjustment"],
        ..wrapper(&["nice"], "n", 0)
    },
    Wrapper {
        queries: &["-p", "--pid"],
        ..wrapper(&["ionice"], "cn", 0)
    },
    Wrapper {
        queries: &["-p", "--pid"],
        ..wrapper(&["chrt"], "TPD", 1)
    },
    Wrapper {
        queries: &["-p", "--pid"],
        ..wrapper(&["taskset"], "", 1)
    },
    Wrapper {
        valued_long: &["--output", "--error", "--input"],
        ..wrapper(&["stdbuf"], "oei", 0)
    },
    Wrapper {
        valued_long: &["--signal", "--kill-after"],
        ..wrapper(&["timeout", "gtimeout"], "ks", 1)
    },
    Wrapper {
        valued_long: &[
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--replace",
        ],
        ..wrapper(&["xargs", "parallel"], "aEeIiLlnPsdj", 0)
    },
    wrapper(&["strace", "ltrace"], "eopusaOPI", 0),
    wrapper(&["chroot"], "", 1),
    Wrapper {
        queries: &["-c", "--command"],
        ..wrapper(&["flock"], "wE", 1)
    },
    wrapper(&["unshare"], "SGRw", 0),
    wrapper(&["nsenter"], "tSGW", 0),
    wrapper(&["systemd-run"], "pEuM", 0),
    wrapper(&["setpriv", "prlimit", "numactl", "linux64", "linux32"], "", 0),
    wrapper(&["setarch"], "", 1),
    wrapper(
        &[
            "xvfb-run",
            "proxychains",
            "proxychains4",
            "torsocks",
            "rlwrap",
            "dbus-run-session",
            "firejail",
            "ssh-agent",
        ],
        "",
        0,
    ),
    wrapper(
        &["coproc", "then", "do", "else", "!", "if", "while", "until"],
        "",
        0,
    ),
];

/// What came off.
#[derive(Debug, Default)]
pub(super) struct Unwrapped {
    /// The program and its words.
    pub(super) words: Vec<Word>,
    /// The names that were taken off, outermost first.
    pub(super) wrappers: Vec<String>,
    /// `NAME=value` before a program.
    pub(super) assignments: Vec<Word>,
    /// Options of `sudo`.
    pub(super) sudo_options: Vec<String>,
}

/// Takes every prefix off `words`.
pub(super) fn unwrap(mut words: Vec<Word>) -> Unwrapped {
    let mut out = Unwrapped::default();
    loop {
        while words.first().is_some_and(is_assignment) {
            out.assignments.push(words.remove(0));
        }
        let name = words.first().map(program_name).unwrap_or_default();
        let Some(wrapper) = WRAPPERS
            .iter()
            .find(|wrapper| wrapper.names.contains(&name.as_str()))
        else {
            break;
        };
        let Some(inner) = strip(wrapper, &words, &mut out) else {
            break;
        };
        out.wrappers.push(name);
        words = inner;
    }
    out.words = words;
    out
}

/// The words after `wrapper` and what belongs to it; nothing when it runs nothing.
fn strip(wrapper: &Wrapper, words: &[Word], out: &mut Unwrapped) -> Option<Vec<Word>> {
    let mut rest = &words[1..];
    let mut operands = wrapper.operands;
    loop {
        let text = rest.first()?.text();
        if text == "--" {
            rest = &rest[1..];
        } else if text.starts_with('-') && text.len() > 1 {
            // `env -S` splits a text into words; whoever reads scripts reads that too.
            let splits = wrapper.names == ["env"] && (text.starts_with("--split") || is_split(&text));
            if splits || wrapper.queries.contains(&text.as_str()) {
                return None;
            }
            if wrapper.names == ["sudo"] {
                out.sudo_options.push(text.clone());
            }
            rest = rest.get(1 + usize::from(takes_next(wrapper, &text))..)?;
            continue;
        } else if is_assignment(&rest[0]) {
            out.assignments.push(rest[0].clone());
            rest = &rest[1..];
            continue;
        }
        // `--` or an operand: options are over, but the wrapper's own operands may follow.
        if operands == 0 {
            return Some(rest.to_vec()).filter(|rest| !rest.is_empty());
        }
        operands -= 1;
        rest = rest.get(1..)?;
    }
}

fn is_split(option: &str) -> bool {
    !option.starts_with("--") && option.contains('S')
}

fn takes_next(wrapper: &Wrapper, option: &str) -> bool {
    if option.starts_with("--") {
        return wrapper.valued_long.contains(&option);
    }
    // Of a bundle only the last letter can take the next word; a letter before it took the rest.
    let mut letters = option[1..].chars();
    letters.find(|letter| wrapper.valued.contains(*letter)).is_some() && letters.next().is_none()
}

/// `NAME=value`.
pub(super) fn is_assignment(word: &Word) -> bool {
    let text = word.text();
    let Some((name, _)) = text.split_once('=') else {
        return false;
    };
    let name = name.trim_end_matches('+');
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The name of the program a word calls.
pub(crate) fn program_name(word: &Word) -> String {
    let text = word.known_text();
    let name = text.rsplit('/').next().unwrap_or_default();
    name.to_lowercase()
}

/// Programs that a pattern in the place of a program's name could stand for.
const WORST: &[&str] = &[
    "rm", "dd", "mkfs", "shred", "shutdown", "reboot", "poweroff", "halt", "wipefs", "kill", "bash", "sh",
    "curl", "wget", "git",
];

/// As [`program_name`]; a pattern is taken for the worst program it fits.
pub(super) fn called_program(word: &Word) -> String {
    let name = program_name(word);
    let fits =
        |worst: &&&str| globset::Glob::new(&name).is_ok_and(|glob| glob.compile_matcher().is_match(worst));
    if word.is_pattern() {
        WORST
            .iter()
            .find(fits)
            .map_or(name.clone(), |worst| (*worst).to_owned())
    } else {
        name
    }
}
