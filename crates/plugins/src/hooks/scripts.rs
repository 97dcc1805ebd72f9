//! The scripts that a hook's command names, as far as its text tells.
//!
//! The text is searched, not run: every folder a `cd` may lead to counts for every word, and a word that may be a
//! script is one. Too many scripts cost a question more; one too few would run unasked.

use std::path::{Component, Path, PathBuf};

use crate::contents::is_system;

/// Folders that are looked into, at most.
const MOST_PLACES: usize = 32;
/// Lines within lines (`sh -c '…'`), at most.
const DEEPEST: usize = 4;
/// Defaults within defaults, at most.
const MOST_DEFAULTS: usize = 8;
/// Variables that stand for the folder a hook belongs to.
const ROOTS: &[&str] = &["CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "PLUGIN_ROOT"];
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "fish", "eval"];

/// A search through one command.
pub(super) struct Search<'a> {
    root: &'a Path,
    user_home: &'a Path,
    /// Where a word may be seen from.
    places: Vec<PathBuf>,
    /// Where the last `cd` led to if all of them are made.
    here: PathBuf,
    depth: usize,
    found: Vec<PathBuf>,
}

impl<'a> Search<'a> {
    /// A search that sees relative paths from `root`.
    pub(super) fn new(root: &'a Path, user_home: &'a Path) -> Self {
        Self {
            root,
            user_home,
            places: vec![root.to_owned()],
            here: root.to_owned(),
            depth: 0,
            found: Vec::new(),
        }
    }

    /// The scripts of a shell's line.
    pub(super) fn of_line(mut self, line: &str) -> Vec<PathBuf> {
        self.line(line);
        self.found
    }

    /// The scripts of a command that no shell reads.
    pub(super) fn of_words(mut self, words: Vec<String>) -> Vec<PathBuf> {
        self.words(words);
        self.found
    }

    fn line(&mut self, line: &str) {
        if self.depth == DEEPEST {
            return;
        }
        self.depth += 1;
        let words = shlex::split(&with_operators_apart(line)).unwrap_or_else(|| {
            let bare = |word: &str| word.trim_matches([';', '(', ')', '&', '|']).to_owned();
            line.split_whitespace().map(bare).collect()
        });
        self.words(words);
        self.depth -= 1;
    }

    fn words(&mut self, words: Vec<String>) {
        let mut before = String::new();
        let (mut changes_folder, mut of_shell) = (false, false);
        for word in words {
            if word == ";" {
                if changes_folder {
                    self.go(&self.user_home.display().to_string());
                }
                (changes_folder, of_shell) = (false, false);
                before.clear();
                continue;
            }
            if (of_shell && (is_command_option(&before) || before == "eval")) || is_substitution(&word) {
                self.line(&word);
            }
            for path in self.readings(&word) {
                if changes_folder && !path.starts_with('-') {
                    self.go(&path);
                }
                self.look(&path, &before);
            }
            changes_folder =
                (changes_folder && word.starts_with('-')) || matches!(word.as_str(), "cd" | "pushd");
            of_shell |= SHELLS.contains(&name(&word));
            before = word;
        }
    }

    /// What a word may be once its variables have values: those that are known, or their defaults.
    fn readings(&self, word: &str) -> Vec<String> {
        let root = self.root.display().to_string();
        let known = at_home(&expanded(word, &root, false), self.user_home);
        let default = at_home(&expanded(word, &root, true), self.user_home);
        let differs = known != default;
        std::iter::once(known).chain(differs.then_some(default)).collect()
    }

    /// From now on words may be seen from `folder` too, whichever of the `cd` before were made.
    fn go(&mut self, folder: &str) {
        if folder.contains(['$', '`']) {
            return;
        }
        for place in self.places.clone() {
            let led = plain(&place.join(folder));
            if self.places.len() < MOST_PLACES && !self.places.contains(&led) {
                self.places.push(led);
            }
        }
        self.here = plain(&self.here.join(folder));
    }

    fn look(&mut self, word: &str, before: &str) {
        if is_system(word) {
            return;
        }
        for place in self.places.iter().chain([&self.here]) {
            let path = place.join(word);
            if path.is_file() && is_script(&path, before) && !self.found.contains(&path) {
                self.found.push(path);
            }
        }
    }
}

/// `-c`, also with others: `-lc`.
fn is_command_option(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
}

/// Whether a quoted word has a command in it.
fn is_substitution(word: &str) -> bool {
    word.contains("$(") || word.contains('`')
}

fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// A folder as `cd` names it: `..` takes away what stands before it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

/// `word` with the folder `root` for the variables that stand for it, or with what it says for the case that they
/// are not set.
fn expanded(word: &str, root: &str, by_default: bool) -> String {
    let mut word = word.to_owned();
    for variable in ROOTS {
        let start = format!("${{{variable}");
        for _ in 0..MOST_DEFAULTS {
            let Some((before, inner, after)) = braced(&word, &start) else {
                break;
            };
            let default = inner.trim_start_matches(':').strip_prefix(['-', '=']);
            let value = default.filter(|_| by_default).unwrap_or(root);
            word = format!("{before}{value}{after}");
        }
        word = word.replace(&format!("${variable}"), root);
    }
    word
}

/// What stands before, in and after the first `${NAME…}`.
fn braced<'a>(word: &'a str, start: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let (before, rest) = word.split_once(start)?;
    let mut open = 1_usize;
    let end = rest.find(|c| {
        match c {
            '{' => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        open == 0
    })?;
    let (inner, after) = rest.split_at(end);
    Some((before, inner, after.strip_prefix('}')?))
}

/// A shell's line with its operators as words of their own, each `;`, and without its comments.
fn with_operators_apart(line: &str) -> String {
    let mut apart = String::with_capacity(line.len() + 16);
    let (mut quote, mut braces, mut starts_word) = (None, 0_usize, true);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let at_start = std::mem::replace(&mut starts_word, false);
        match (quote, c) {
            (None | Some('"'), '\\') => {
                apart.push(c);
                apart.extend(chars.next());
            }
            (Some(open), _) => {
                apart.push(c);
                quote = (open != c).then_some(open);
            }
            (None, '\'' | '"') => {
                apart.push(c);
                quote = Some(c);
            }
            (None, '$') if chars.peek() == Some(&'{') => {
                apart.push(c);
                apart.extend(chars.next());
                braces += 1;
            }
            (None, '}') if braces > 0 => {
                apart.push(c);
                braces -= 1;
            }
            // In `${NAME:-a b}` a space parts nothing.
            (None, _) if braces > 0 => apart.extend(c.is_whitespace().then_some('\\').into_iter().chain([c])),
            (None, '#') if at_start => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, ';' | '&' | '|' | '(' | ')' | '`' | '\n') => {
                apart.push_str(" ; ");
                starts_word = true;
            }
            (None, '<' | '>') => apart.extend([' ', c, ' ']),
            (None, _) => {
                starts_word = c.is_whitespace();
                apart.push(c);
            }
        }
    }
    apart
}

/// Whether a file that a command names is run by it, rather than read or written.
fn is_script(path: &Path, before: &str) -> bool {
    use std::io::Read;
    use std::os::unix::fs::PermissionsExt;
    const INTERPRETERS: &[&str] = &[
        "sh", "bash", "zsh", "dash", "fish", "python", "python3", "node", "deno", "bun", "ruby", "perl",
        "php", "lua", "run", "uv", "source", ".",
    ];
    const ENDINGS: &[&str] = &[
        "sh", "bash", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "lua",
    ];
    let ending = path
        .extension()
        .and_then(std::ffi::OsStr::to_str)
        .unwrap_or_default();
    let runs = std::fs::metadata(path).is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0);
    if runs || INTERPRETERS.contains(&name(before)) || ENDINGS.contains(&ending) {
        return true;
    }
    let mut start = [0; 2];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

/// A word with the person's own folder for `~`.
pub(super) fn at_home(word: &str, user_home: &Path) -> String {
    match word.strip_prefix("~/") {
        Some(rest) => user_home.join(rest).display().to_string(),
        None if word == "~" => user_home.display().to_string(),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("cd sub && ./z.sh", &["sub/z.sh"])]
    #[case("cd sub; ../x.sh", &["sub/../x.sh"])]
    #[case("cd sub&&./z.sh", &["sub/z.sh"])]
    #[case("(cd deep); (cd deep/er); cd sub; ./z.sh", &["sub/z.sh"])]
    #[case("cd -P -- 'sub'\n./z.sh", &["sub/z.sh"])]
    #[case("cd sub # don't; ask\nsh z.sh", &["sub/z.sh"])]
    #[case("cd \"$CLAUDE_PROJECT_DIR/sub\" && ./z.sh", &["sub/z.sh"])]
    #[case("cd sub && cd .. && ./x.sh", &["x.sh"])]
    #[case("${CLAUDE_PROJECT_DIR:-.}/x.sh", &["x.sh"])]
    #[case("\"${CLAUDE_PROJECT_DIR:-$(pwd)}\"/x.sh", &["x.sh"])]
    #[case("${CLAUDE_PROJECT_DIR:-no where}/x.sh", &["x.sh"])]
    #[case("${CLAUDE_PLUGIN_ROOT:-${CLAUDE_PROJECT_DIR:-.}/sub}/z.sh", &["sub/z.sh"])]
    #[case("${CLAUDE_PROJECT_DIR%/}/x.sh", &["x.sh"])]
    #[case("bash -ec 'cd sub && ./z.sh'", &["sub/z.sh"])]
    #[case("echo \"$(./x.sh)\" `sub/z.sh`", &["x.sh", "sub/z.sh"])]
    #[case("echo './x.sh; none' && ls|cat>log", &[])]
    #[case("echo it's && ./x.sh;", &["x.sh"])]
    #[case("python3 -m tool; make", &[])]
    fn a_script_that_is_reached_by_cd_or_a_default_is_one_of_the_hook(
        #[case] line: &str,
        #[case] expected: &[&str],
    ) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("sub")).unwrap();
        for name in ["x.sh", "sub/z.sh", "log"] {
            std::fs::write(folder.path().join(name), "exit 0").unwrap();
        }
        let found = Search::new(folder.path(), Path::new("/nobody")).of_line(line);
        let expected: Vec<PathBuf> = expected.iter().map(|name| folder.path().join(name)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_line_for_a_shell_in_a_command_of_words_is_searched_too() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/z.sh"), "exit 0").unwrap();
        let words = ["sh", "-c", "cd ~/sub && ./z.sh"].map(str::to_owned).to_vec();
        let found = Search::new(Path::new("/nowhere"), folder.path()).of_words(words);
        assert_eq!(found, [folder.path().join("sub/z.sh")]);
    }
}
