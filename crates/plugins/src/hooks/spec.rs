//! A hook as it is written down somewhere.

use std::path::{Path, PathBuf};

use super::scripts::{Search, at_home};
use crate::dialect::{self, Name};
use crate::{Dialect, Event};

/// Seconds a hook gets when it does not say.
const TIMEOUT: u64 = 60;
/// The same for goose's.
const GOOSE_TIMEOUT: u64 = 30;
/// The most a hook of `config.yaml` may ask for, in seconds, as in Hermes.
const LONGEST: u64 = 300;
/// The most any other may.
const LONGEST_ELSEWHERE: u64 = 600;

/// Where a hook was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `hooks:` of the home's `config.yaml`.
    Home,
    /// A file that the person named in `hooks_files`.
    Imported(PathBuf),
    /// A file of the project: it came with the project, so the person must agree.
    Project(PathBuf),
}

impl Origin {
    /// Where it is, in words.
    pub fn told(&self) -> String {
        match self {
            Self::Home => "config.yaml".to_owned(),
            Self::Imported(path) | Self::Project(path) => path.display().to_string(),
        }
    }

    /// Whether it came with the project.
    pub fn is_project(&self) -> bool {
        matches!(self, Self::Project(_))
    }
}

/// One hook: when, what, how long.
#[derive(Clone, Debug)]
pub struct HookSpec {
    /// When it runs.
    pub event: Event,
    /// The event under its dialect's name.
    pub(crate) name: Option<&'static Name>,
    /// Whose words it speaks.
    pub dialect: Dialect,
    /// What runs: words for Hermes' hooks, a shell's line for all others.
    pub command: String,
    /// What narrows it.
    pub matcher: Option<String>,
    /// Claude Code's `if`: a rule such as `Bash(git push *)`.
    pub(crate) condition: Option<String>,
    /// How long it may take, in seconds.
    pub timeout_s: u64,
    /// No answer is a refusal.
    pub fail_closed: bool,
    /// Nobody waits for it.
    pub detached: bool,
    /// Where it was found.
    pub origin: Origin,
    /// The folder its relative paths are seen from: the project, or the plugin it belongs to.
    pub root: PathBuf,
}

/// What a hook is written with.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// What runs.
    pub command: String,
    /// What narrows it.
    pub matcher: Option<String>,
    /// Seconds.
    pub timeout: Option<u64>,
    /// `allow` or `block`.
    pub on_failure: Option<String>,
    /// Claude Code's `if`.
    pub condition: Option<String>,
    /// Claude Code's `async`.
    pub detached: bool,
}

impl HookSpec {
    /// A hook for `event`, a name of `dialect`.
    ///
    /// # Errors
    /// When there is no such event, or what is written makes no sense.
    pub fn new(
        event: &str,
        dialect: Dialect,
        written: Written,
        origin: Origin,
        root: &Path,
    ) -> Result<Self, String> {
        let name = dialect::named(dialect, event);
        let found = match dialect {
            Dialect::Hermes => Event::named(event),
            Dialect::Claude | Dialect::Goose => name.map(|name| name.event),
        };
        let found = found.ok_or_else(|| format!("there is no event {event:?} here; the hook is left out"))?;
        if written.command.trim().is_empty() {
            return Err(format!("a hook of {event} has no command; it is left out"));
        }
        let fail_closed = match written.on_failure.as_deref() {
            None | Some("" | "allow") => false,
            Some("block") => true,
            Some(other) => {
                return Err(format!(
                    "on_failure of a hook of {event} is {other:?}, not allow or block; it is left out"
                ));
            }
        };
        let (usual, longest) = match dialect {
            Dialect::Hermes => (TIMEOUT, LONGEST),
            Dialect::Claude => (TIMEOUT, LONGEST_ELSEWHERE),
            Dialect::Goose => (GOOSE_TIMEOUT, LONGEST_ELSEWHERE),
        };
        Ok(Self {
            event: found,
            name,
            dialect,
            command: written.command,
            matcher: written.matcher.filter(|matcher| !matcher.trim().is_empty()),
            condition: written.condition,
            timeout_s: written.timeout.unwrap_or(usual).clamp(1, longest),
            fail_closed,
            detached: written.detached,
            origin,
            root: root.to_owned(),
        })
    }

    /// The event under the name it was written with.
    pub fn event_name(&self) -> &'static str {
        self.name.map_or_else(|| self.event.name(), |name| name.name)
    }

    /// What runs, as words; a shell's line goes to the shell.
    ///
    /// # Errors
    /// When quotes are not closed.
    pub(crate) fn argv(&self, user_home: &Path) -> Result<Vec<String>, String> {
        if self.dialect != Dialect::Hermes {
            let shell = ["/bin/bash", "/usr/bin/bash"]
                .into_iter()
                .find(|shell| Path::new(shell).exists());
            let shell = shell.unwrap_or("/bin/sh").to_owned();
            return Ok(vec![shell, "-c".to_owned(), self.command.clone()]);
        }
        let words = shlex::split(&self.command).ok_or_else(|| "has quotes that are not closed".to_owned())?;
        Ok(words.into_iter().map(|word| at_home(&word, user_home)).collect())
    }

    /// The files its command names: scripts whose change makes it another hook.
    pub(crate) fn files(&self, user_home: &Path) -> Vec<PathBuf> {
        let search = Search::new(&self.root, user_home);
        if self.dialect != Dialect::Hermes {
            return search.of_line(&self.command);
        }
        search.of_words(shlex::split(&self.command).unwrap_or_default())
    }
}
