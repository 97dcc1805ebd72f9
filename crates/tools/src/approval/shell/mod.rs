//! Reads a command as the shell would, without running it.
//!
//! A [`Scene`] is every program that a command would run, with its words as
//! far as they are known: quotes and escapes resolved, simple variables filled
//! in, prefixes such as `sudo` taken off, and the scripts that are handed to
//! another shell (`bash -c`, `eval`, a heredoc, a literal piped into `sh`)
//! read in turn. What cannot be known stays visible as unknown.
//!
//! The grammar is tree-sitter's. Where it meets an error the text is also cut
//! at everything that separates commands, so that a mistake in a command can
//! make it look worse than it is, but not better.

mod assign;
mod crude;
mod expand;
mod quoting;
mod scripts;
mod unwrap;
mod walk;
mod word;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) use scripts::is_c_flag;
pub(crate) use unwrap::program_name;
pub(crate) use walk::SHELLS;
pub(crate) use word::Word;

use super::own::Own;
use super::targets::{edits_in_place, written};

/// A longer command is not read.
pub(crate) const LONGEST: usize = 128_000;
/// Scripts within scripts, and statements within statements, are read so deep.
const DEEPEST: usize = 150;
/// Scripts within scripts are read so deep.
const DEEPEST_SCRIPT: usize = 8;
/// A pipeline of more different programs is not read.
const LONGEST_PIPELINE: usize = 256;
/// A longer value of a variable is not filled in.
const LONGEST_VALUE: usize = 4096;
/// Parsing takes no longer; a command of 100 kB takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(2);
/// More programs than this are not looked at one by one.
pub(crate) const MOST_CALLS: usize = 20_000;

/// Everything a command would run.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    /// The programs in the order they stand.
    pub(crate) calls: Vec<Call>,
    /// Functions that call themselves in a pipeline or in the background.
    pub(crate) multiplying: Vec<String>,
    /// Why it could not be read to the end.
    pub(crate) unreadable: Option<&'static str>,
    /// Files that it makes executable.
    pub(crate) made_executable: HashSet<String>,
    /// Files that it writes, edits in place left out.
    pub(crate) written: HashSet<String>,
    /// What is known of this program itself.
    pub(super) own: Own,
    /// Whether a program or a loop names one of its files.
    pub(super) mentions_own: bool,
    /// What loops go through.
    loops: Vec<Word>,
    deadline: Option<Instant>,
}

/// One program with its words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Call {
    /// The program's name without its folder, in lower case; empty for a bare redirection.
    pub(crate) program: String,
    /// The program as it is written, then its arguments.
    pub(crate) words: Vec<Word>,
    /// Files it writes by redirection.
    pub(crate) writes: Vec<Word>,
    /// Files it reads by redirection.
    pub(crate) reads: Vec<Word>,
    /// What it reads, when that is a text of the command itself.
    pub(crate) input: Option<Arc<str>>,
    /// Whether that text stands in a heredoc or a here-string.
    pub(crate) heredoc: bool,
    /// Programs that stand before it in its pipeline.
    pub(crate) upstream: Vec<String>,
    /// Prefixes that were taken off (`sudo`, `xargs`, `bash` for a script of `bash -c`), outermost first.
    pub(crate) wrappers: Vec<String>,
    /// Options of a `sudo` that was taken off.
    pub(crate) sudo_options: Vec<String>,
    /// The folder it runs in, as far as that is known.
    pub(crate) folder: Option<String>,
    /// The user's home.
    pub(crate) home: Option<Arc<str>>,
    /// The function it stands in.
    within: Option<String>,
    /// Whether the shell goes on without waiting for it.
    pub(crate) background: bool,
}

impl Call {
    /// Its arguments.
    pub(crate) fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Its arguments as text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.args().iter().map(Word::text)
    }

    /// Whether the program is one of `names`.
    pub(crate) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.program.as_str())
    }

    /// Whether it has the short option `letter` (in a bundle too) or the long option `long`.
    pub(crate) fn has_option(&self, letter: char, long: &str) -> bool {
        self.options().any(|option| match option.strip_prefix("--") {
            Some(name) => !long.is_empty() && name.split('=').next() == Some(long),
            None => letter != '\0' && option.starts_with('-') && option[1..].contains(letter),
        })
    }

    /// Its arguments that begin with a dash, up to `--`.
    pub(crate) fn options(&self) -> impl Iterator<Item = String> + '_ {
        self.texts()
            .take_while(|text| text != "--")
            .filter(|text| text.starts_with('-') && text.len() > 1)
    }

    /// Its arguments that are not options.
    pub(crate) fn operands(&self) -> Vec<&Word> {
        let mut only_operands = false;
        let mut found = Vec::new();
        for word in self.args() {
            let text = word.text();
            if !only_operands && text == "--" {
                only_operands = true;
            } else if only_operands || !text.starts_with('-') || text == "-" {
                found.push(word);
            }
        }
        found
    }

    /// `word` as a path without `.`, `..` and doubled slashes, seen from where it runs.
    ///
    /// The user's home is `~`; a last part that matches everything is `*`.
    pub(crate) fn path(&self, word: &Word) -> String {
        self.below_home(word.path(self.folder.as_deref()))
    }

    /// The folder it runs in, as [`Call::path`] writes paths.
    pub(crate) fn here(&self) -> Option<String> {
        self.folder.clone().map(|folder| self.below_home(folder))
    }

    pub(super) fn below_home(&self, path: String) -> String {
        let below_home = self.home.as_deref().and_then(|home| path.strip_prefix(home));
        match below_home {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("~{rest}"),
            _ => path,
        }
    }

    /// Whether it runs on another machine.
    pub(crate) fn is_remote(&self) -> bool {
        self.wrappers.iter().any(|wrapper| wrapper == "ssh")
    }
}

impl Scene {
    /// Tells it what is known of this program.
    pub(super) fn know(&mut self, own: Own) {
        let anywhere = Call {
            folder: self.calls.first().and_then(|call| call.folder.clone()),
            home: self.calls.first().and_then(|call| call.home.clone()),
            ..Call::default()
        };
        let in_loops = self.loops.iter().any(|word| own.named(&anywhere, word).is_some());
        let by_call = |call: &Call| call.args().iter().any(|word| own.named(call, word).is_some());
        self.mentions_own = in_loops || self.calls.iter().any(by_call);
        self.own = own;
    }

    /// Reads `command` as it would run in `folder` for a user whose home is `home`.
    pub(crate) fn read(command: &str, folder: Option<&str>, home: Option<&str>) -> Self {
        Self::read_within(command, folder, home, PATIENCE)
    }

    /// As [`Scene::read`], giving up the grammar after `patience`.
    pub(super) fn read_within(
        command: &str,
        folder: Option<&str>,
        home: Option<&str>,
        patience: Duration,
    ) -> Self {
        let mut scene = Self {
            deadline: Some(Instant::now() + patience),
            ..Self::default()
        };
        let place = walk::Place::start(folder, home);
        if command.chars().count() > LONGEST {
            scene.unreadable = Some("the command is longer than 128000 characters");
        } else {
            walk::script(&mut scene, command, &place);
        }
        if scene.unreadable.is_some() {
            // What must never run is looked for all the same.
            walk::crudely(&mut scene, command, &place);
        }
        let made: Vec<String> = scene.calls.iter().flat_map(made_executable).collect();
        scene.made_executable.extend(made);
        let new_files = |call: &Call| -> Vec<String> {
            if edits_in_place(call) && call.writes.is_empty() {
                return Vec::new();
            }
            written(call).iter().map(|word| call.path(word)).collect()
        };
        let files: Vec<String> = scene.calls.iter().flat_map(new_files).collect();
        scene.written.extend(files);
        scene
    }
}

/// The files of a `chmod +x`.
fn made_executable(call: &Call) -> Vec<String> {
    let operands = call.operands();
    let Some((mode, files)) = operands.split_first().filter(|_| call.program == "chmod") else {
        return Vec::new();
    };
    let mode = mode.text();
    let makes = mode.contains('+') && mode.contains('x');
    files
        .iter()
        .filter(|_| makes)
        .map(|file| call.path(file))
        .collect()
}

/// The program whose exit code is that of `command`.
pub(crate) fn last_program(command: &str) -> Option<String> {
    let scene = Scene::read(command, None, None);
    scene
        .calls
        .iter()
        .rev()
        .find(|call| call.wrappers.is_empty())
        .map(|call| call.program.clone())
}

/// Whether `command` leaves a shell, here or elsewhere, that takes commands from its input.
pub(crate) fn takes_commands(command: &str) -> bool {
    let scene = Scene::read(command, None, None);
    scene.calls.iter().any(|call| {
        let interactive = call.operands().is_empty() && !call.texts().any(|text| is_c_flag(&text));
        let remote = call.is(&["ssh", "su", "telnet"]) || call.is(&["docker", "podman", "kubectl"]);
        call.is(SHELLS) && interactive || remote || call.program.is_empty() && call.words.len() == 1
    })
}
