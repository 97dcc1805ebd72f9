//! What the disk shows of a command: scripts that the session wrote before and runs now, and links.
//!
//! Judging a command is pure; this looks at the files it names. Only scripts of the session's own making are
//! read: those of the project are the person's, as the programs of the machine are.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use regex::Regex;

use super::matchers::code::runs_code;
use super::path::{protected_write_for, real_path};
use super::shell::{Call, SHELLS, Scene, Word, is_c_flag};
use super::targets::written;
use super::{Danger, Surroundings, Verdict, judge, normalize};

/// Scripts that run scripts are read so deep.
const DEEPEST: usize = 3;
/// A longer script is not read.
const LONGEST: u64 = 128_000;
/// So many texts of a script in another language are looked at.
const MOST_TEXTS: usize = 400;

const LONG_SCRIPT: Danger = Danger {
    key: "unreadable",
    reason: "it runs a script of this session that is too long to be read",
    may_keep: false,
};
const LINK_TO_PROTECTED: Danger = Danger {
    key: "credential_write",
    reason: "it writes through a link to a protected file",
    may_keep: false,
};
const LINK_OUTSIDE: Danger = Danger {
    key: "delete_outside",
    reason: "it deletes through a link to another folder",
    may_keep: false,
};

/// Where and for whom a command is looked at.
pub(super) struct Disk<'a> {
    pub(super) around: Surroundings<'a>,
    /// Files that this session has written.
    pub(super) made: &'a HashSet<PathBuf>,
}

impl Disk<'_> {
    /// What `command` turns out to be once its files are looked at.
    pub(super) fn look(&self, command: &str) -> Verdict {
        self.look_within(command, 0)
    }

    /// The files that `command` writes.
    pub(super) fn writes(&self, command: &str) -> Vec<PathBuf> {
        let scene = self.scene(command);
        let words = |call: &Call| {
            written(call)
                .iter()
                .filter_map(|word| self.file(call, word))
                .collect::<Vec<_>>()
        };
        scene.calls.iter().flat_map(words).collect()
    }

    fn scene(&self, command: &str) -> Scene {
        Scene::read(
            &normalize::normalize(command),
            self.around.folder,
            self.around.home,
        )
    }

    fn look_within(&self, command: &str, depth: usize) -> Verdict {
        let mut verdict = Verdict::Allow;
        for call in self.scene(command).calls.iter().filter(|call| !call.is_remote()) {
            verdict = verdict.and(self.links(call));
            for word in scripts(call) {
                if let Some(file) = self.file(call, word).filter(|file| self.is_made(file)) {
                    verdict = verdict.and(self.script(call, &file, depth));
                }
            }
        }
        verdict
    }

    /// What a script of the session would do.
    fn script(&self, call: &Call, file: &Path, depth: usize) -> Verdict {
        let length = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
        if length > LONGEST {
            return Verdict::Ask(vec![LONG_SCRIPT]);
        }
        let Ok(bytes) = std::fs::read(file) else {
            return Verdict::Allow;
        };
        let text = String::from_utf8_lossy(&bytes);
        if is_of_shell(call, file, &text) {
            let verdict = judge(&text, self.around);
            return if depth < DEEPEST {
                verdict.and(self.look_within(&text, depth + 1))
            } else {
                verdict
            };
        }
        let mut verdict = Verdict::Allow;
        for text in texts(&text) {
            verdict = verdict.and(judge(&text, self.around).readable());
        }
        verdict
    }

    /// What links make of the files that a call writes or deletes.
    fn links(&self, call: &Call) -> Verdict {
        let mut dangers = Vec::new();
        let home = self.around.own_home.map_or_else(PathBuf::new, PathBuf::from);
        let user = self.around.home.map(Path::new);
        for file in written(call).iter().filter_map(|word| self.file(call, word)) {
            let is_link = real_path(&file) != file;
            if is_link && protected_write_for(&file, &home, user).is_some() {
                dangers.push(LINK_TO_PROTECTED);
            }
        }
        if call.is(&["rm", "unlink", "shred", "truncate", "rmdir"]) {
            let leaves = |word: &&Word| self.file(call, word).is_some_and(|file| self.leaves(&file));
            if call.operands().iter().any(leaves) {
                dangers.push(LINK_OUTSIDE);
            }
        }
        if dangers.is_empty() {
            Verdict::Allow
        } else {
            Verdict::Ask(dangers)
        }
    }

    /// Whether `file` stands in the folder of the command and its own folder, links followed, does not.
    fn leaves(&self, file: &Path) -> bool {
        let (Some(folder), Some(parent)) = (self.around.folder.map(Path::new), file.parent()) else {
            return false;
        };
        let real = real_path(folder);
        file.starts_with(folder) && !real_path(parent).starts_with(real)
    }

    fn is_made(&self, file: &Path) -> bool {
        self.made.contains(file) || self.made.contains(&real_path(file))
    }

    /// The file that a word names, as far as that is known.
    fn file(&self, call: &Call, word: &Word) -> Option<PathBuf> {
        let path = call.path(word);
        if !word.is_known() || path.contains(['*', '$', '`']) {
            return None;
        }
        match (path.strip_prefix('~'), self.around.home) {
            (Some(rest), Some(home)) => Some(PathBuf::from(format!("{home}{rest}"))),
            (Some(_), None) => None,
            (None, _) => path.starts_with('/').then(|| PathBuf::from(path)),
        }
    }
}

/// The files that a call runs as scripts.
fn scripts(call: &Call) -> Vec<&Word> {
    let by_path = call.words.first().filter(|word| word.text().contains('/'));
    let reads = runs_code(call) || call.is(&[".", "source"]);
    let inline = call
        .texts()
        .any(|text| is_c_flag(&text) || text == "-m" || text == "-e");
    let first = call.operands().into_iter().next().filter(|_| reads && !inline);
    by_path.into_iter().chain(first).collect()
}

fn is_of_shell(call: &Call, file: &Path, text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    if let Some(program) = first.strip_prefix("#!") {
        return SHELLS
            .iter()
            .any(|shell| program.split(['/', ' ']).any(|part| part == *shell));
    }
    let by_name = file.extension().is_some_and(|end| end == "sh" || end == "bash");
    // Without a first line that says otherwise the system hands it to a shell.
    by_name || !runs_code(call) || call.is(SHELLS)
}

/// The texts of a script in another language, and lists of texts as the commands they may be.
fn texts(script: &str) -> Vec<String> {
    static TEXT: OnceLock<Option<Regex>> = OnceLock::new();
    static LIST: OnceLock<Option<Regex>> = OnceLock::new();
    let text =
        TEXT.get_or_init(|| Regex::new(r#""([^"\n]{3,2000})"|'([^'\n]{3,2000})'|`([^`]{3,2000})`"#).ok());
    let list = LIST.get_or_init(|| Regex::new(r#"\[\s*(["'][^\[\]]{1,2000}["'])\s*,?\s*\]"#).ok());
    let mut found = Vec::new();
    for captures in text.iter().flat_map(|text| text.captures_iter(script)) {
        found.extend(
            captures
                .iter()
                .skip(1)
                .flatten()
                .map(|part| part.as_str().to_owned()),
        );
    }
    for captures in list.iter().flat_map(|list| list.captures_iter(script)) {
        let words = captures[1]
            .split(',')
            .map(|word| word.trim().trim_matches(['"', '\'']));
        found.push(words.collect::<Vec<_>>().join(" "));
    }
    if script.contains("rmtree") {
        found.push("rm -r folder".to_owned());
    }
    found.truncate(MOST_TEXTS);
    found
}

impl Verdict {
    /// Both, the worse one first.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Block(reason), _) | (_, Self::Block(reason)) => Self::Block(reason),
            (Self::Allow, other) => other,
            (found, Self::Allow) => found,
            (Self::Ask(mut dangers), Self::Ask(more)) => {
                for danger in more {
                    if !dangers.contains(&danger) {
                        dangers.push(danger);
                    }
                }
                Self::Ask(dangers)
            }
        }
    }

    /// The same for a text that may be no command at all: that it cannot be read says nothing, and no text of
    /// a program blocks it.
    fn readable(self) -> Self {
        match self {
            Self::Ask(dangers) => {
                let dangers: Vec<Danger> = dangers.into_iter().filter(|danger| danger.may_keep).collect();
                if dangers.is_empty() {
                    Self::Allow
                } else {
                    Self::Ask(dangers)
                }
            }
            Self::Block(reason) => Self::Ask(vec![Danger {
                key: "unreadable",
                reason,
                may_keep: false,
            }]),
            Self::Allow => Self::Allow,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Bench {
        _folder: tempfile::TempDir,
        cwd: PathBuf,
        made: HashSet<PathBuf>,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let cwd = std::fs::canonicalize(folder.path()).unwrap().join("work");
            std::fs::create_dir(&cwd).unwrap();
            Self {
                _folder: folder,
                cwd,
                made: HashSet::new(),
            }
        }

        fn write(&mut self, name: &str, text: &str) {
            let path = self.cwd.join(name);
            std::fs::write(&path, text).unwrap();
            self.made.insert(path);
        }

        fn asks(&self, command: &str) -> bool {
            let folder = self.cwd.to_string_lossy();
            let around = Surroundings {
                folder: Some(&folder),
                home: Some("/home/somebody"),
                ..Surroundings::default()
            };
            let disk = Disk {
                around,
                made: &self.made,
            };
            disk.look(command) != Verdict::Allow
        }
    }

    #[test]
    fn a_script_that_was_written_before_is_read_when_it_runs() {
        let mut bench = Bench::new();
        bench.write("clean.sh", "cd /tmp\nrm -rf ~/project\n");
        bench.write("outer.sh", "#!/bin/sh\n. ./clean.sh\n");
        bench.write("build.sh", "cargo build\n");
        bench.write(
            "clean.py",
            "import subprocess\nsubprocess.run(['rm', '-rf', '/srv/data'])\n",
        );
        bench.write("tree.py", "import shutil\nshutil.rmtree('x')\n");
        bench.write("sum.py", "print('the sum', 1 + 1)\n");
        for command in [
            "sh clean.sh",
            "bash ./clean.sh",
            "./clean.sh",
            "source clean.sh",
            "sh outer.sh",
            "python3 clean.py",
            "python3 tree.py",
        ] {
            assert!(bench.asks(command), "{command}");
        }
        for command in ["sh build.sh", "cat clean.sh", "python3 sum.py", "echo clean.sh"] {
            assert!(!bench.asks(command), "{command}");
        }
    }

    #[test]
    fn a_script_of_the_project_is_the_persons_own() {
        let mut bench = Bench::new();
        bench.write("clean.sh", "rm -rf build\n");
        bench.made.clear();
        assert!(!bench.asks("sh clean.sh"));
    }

    #[test]
    fn a_link_that_was_made_before_is_no_way_around() {
        let bench = Bench::new();
        let outside = bench.cwd.parent().unwrap().join("other");
        std::fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, bench.cwd.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc", bench.cwd.join("settings")).unwrap();
        assert!(bench.asks("rm link/notes.txt"));
        assert!(bench.asks("echo x > settings/hosts"));
        assert!(!bench.asks("rm link"), "the link itself stands here");
        assert!(!bench.asks("rm notes.txt") && !bench.asks("echo x > notes.txt"));
    }
}
