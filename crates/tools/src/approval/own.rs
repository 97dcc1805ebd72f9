//! Where this program's own files lie, through the spellings a command may use.

use globset::GlobBuilder;

use super::shell::{Call, Word};

/// Variables that name this program's home.
const HOME_VARIABLES: &[&str] = &["$TALARIA_HOME", "$HERMES_HOME"];

/// Folders of the home that are meant for the work of commands: long results, and the home of subprocesses.
const FREE: &[&str] = &["cache/tool-results", "home"];

/// What is known of this program itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Own {
    /// Its home, as an absolute path; with links followed too.
    homes: Vec<String>,
    /// The name it runs under, in lower case.
    pub(super) program: Option<String>,
}

impl Own {
    /// A program `program` with the home `home`.
    pub(super) fn new(home: Option<&str>, program: Option<&str>) -> Self {
        let homes = home
            .map(|home| home.trim_end_matches('/'))
            .filter(|home| !home.is_empty());
        let mut homes: Vec<String> = homes.into_iter().map(str::to_owned).collect();
        let real = homes.first().and_then(|home| std::fs::canonicalize(home).ok());
        homes.extend(real.map(|real| real.to_string_lossy().into_owned()));
        homes.dedup();
        Self {
            homes,
            program: program.map(str::to_lowercase),
        }
    }

    /// What `path`, as [`Call::path`] writes it, is called within the home; nothing when it lies elsewhere.
    fn within(&self, call: &Call, path: &str) -> Option<String> {
        for name in HOME_VARIABLES {
            if let Some(at) = path.find(name) {
                return Some(path[at + name.len()..].trim_matches('/').to_owned());
            }
        }
        self.spellings(call).iter().find_map(|home| below(path, home))
    }

    /// Whether the home lies below `path`, or is it.
    pub(super) fn is_below(&self, call: &Call, path: &str) -> bool {
        let homes = self.spellings(call);
        homes
            .iter()
            .any(|home| below(home, path).is_some() || covers(path, home))
    }

    fn spellings(&self, call: &Call) -> Vec<String> {
        let mut found = self.homes.clone();
        found.extend(self.homes.iter().map(|home| call.below_home(home.clone())));
        found.dedup();
        found
    }

    /// What `word` of `call` names within the home, in any of its parts; folders for work are left out.
    pub(super) fn named(&self, call: &Call, word: &Word) -> Option<String> {
        let text = word.text();
        let mut paths = vec![call.path(word)];
        // A message of a commit is no path.
        if call.program != "git" {
            let attached = text.strip_prefix('-').and_then(|rest| rest.get(1..));
            let parts = text.split([':', '=', ',']).chain(attached);
            paths.extend(
                parts
                    .filter(|part| part.starts_with(['/', '~', '.', '$']))
                    .map(|part| call.path(&Word::plain(part))),
            );
            let spelled = self
                .homes
                .iter()
                .find_map(|home| text.split_once(home.as_str()))
                .filter(|(_, rest)| {
                    !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
                });
            paths.extend(spelled.map(|(_, rest)| {
                let rest: String = rest
                    .chars()
                    .take_while(|c| !c.is_whitespace() && !matches!(c, '\'' | '"' | ')' | ';'))
                    .collect();
                format!("{}{rest}", self.homes[0])
            }));
        }
        paths
            .iter()
            .filter_map(|path| self.within(call, path))
            .find(|inner| !is_free(inner))
    }
}

fn is_free(inner: &str) -> bool {
    FREE.iter().any(|folder| {
        inner == *folder
            || inner
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
    })
}

/// What follows `folder` in `path`, whose parts may be patterns.
fn below(path: &str, folder: &str) -> Option<String> {
    let mut parts = path.split('/');
    for part in folder.split('/') {
        if !fits(parts.next()?, part) {
            return None;
        }
    }
    Some(parts.collect::<Vec<_>>().join("/"))
}

/// Whether `path`, whose parts may be patterns, is a folder above `home`.
fn covers(path: &str, home: &str) -> bool {
    let mut parts = home.split('/');
    path == "/"
        || path
            .split('/')
            .all(|pattern| parts.next().is_some_and(|part| fits(pattern, part)))
}

/// Whether `name` fits the part `pattern` of a path.
fn fits(pattern: &str, name: &str) -> bool {
    if pattern == name {
        return true;
    }
    pattern.contains(['*', '?', '['])
        && GlobBuilder::new(pattern)
            .build()
            .is_ok_and(|glob| glob.compile_matcher().is_match(name))
}

/// Whether `path` is a hook or the configuration of a git repository: what they say is run.
pub(super) fn is_git_internal(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let Some(at) = parts.iter().position(|part| part.eq_ignore_ascii_case(".git")) else {
        return false;
    };
    let rest = &parts[at + 1..];
    rest.contains(&"hooks")
        || rest
            .last()
            .is_some_and(|name| fits(name, "config") || *name == "config.worktree")
}
