//! A hook that is a command: whether an event is for it, whether it may run, what it answers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use regex::Regex;

use super::consent::{ConsentError, Consents, Identity, Standing};
use super::run::{Variables, run};
use super::spec::{HookSpec, Origin};
use crate::dialect;
use crate::event::Power;
use crate::matcher::Matcher;
use crate::reply::{self, Reply};
use crate::{Dialect, Event, Payload};

/// What every hook of a session is run with.
#[derive(Clone, Debug)]
pub struct HookSetup {
    /// The home, where consent is kept.
    pub home: PathBuf,
    /// The person's own folder.
    pub user_home: PathBuf,
    /// The variables that hooks see; without this program's secrets.
    pub variables: Variables,
    /// Hooks of the home are taken as allowed (`--accept-hooks`, `hooks_auto_accept`).
    pub accept: bool,
}

/// One hook, ready to run.
#[derive(Debug)]
pub struct ShellHook {
    spec: HookSpec,
    matcher: Matcher,
    condition: Option<Condition>,
    setup: Arc<HookSetup>,
    known: Mutex<Known>,
}

/// What is known about a hook's files and what was said about them.
#[derive(Clone, Debug)]
struct Known {
    identity: Identity,
    standing: Standing,
}

impl ShellHook {
    /// The hook of `spec`.
    ///
    /// # Errors
    /// When its matcher or its command makes no sense.
    pub fn new(spec: HookSpec, setup: &Arc<HookSetup>) -> Result<Self, String> {
        let matcher = Matcher::parse(spec.matcher.as_deref().unwrap_or_default(), spec.dialect)?;
        let condition = spec.condition.as_deref().map(Condition::parse).transpose()?;
        spec.argv(&setup.user_home)
            .map_err(|why| format!("`{}` {why}", spec.command))?;
        let identity = Identity::of(&spec, &setup.user_home);
        let standing = standing(&spec, &identity, setup);
        Ok(Self {
            matcher,
            condition,
            setup: setup.clone(),
            known: Mutex::new(Known { identity, standing }),
            spec,
        })
    }

    /// How it is written down.
    pub fn spec(&self) -> &HookSpec {
        &self.spec
    }

    /// Its digest: what is allowed.
    pub fn sha256(&self) -> String {
        self.now().identity.sha256
    }

    /// What the person has said about it as it is now.
    pub fn standing(&self) -> Standing {
        self.now().standing
    }

    /// Its name in words: the event and the command.
    pub fn told(&self) -> String {
        format!(
            "{} `{}`",
            self.spec.event_name(),
            reply::cut(&self.spec.command, 120)
        )
    }

    /// Writes down what the person says about it as it is now.
    ///
    /// # Errors
    /// When that cannot be written; what was said holds for this process all the same.
    pub fn decide(&self, allowed: bool) -> Result<(), ConsentError> {
        let identity = self.now().identity;
        self.set(if allowed {
            Standing::Allowed
        } else {
            Standing::Refused
        });
        Consents::of_home(&self.setup.home).decide(&self.spec, &identity, allowed)
    }

    /// What its command needs and is not there.
    pub fn missing(&self) -> Option<String> {
        let argv = self.spec.argv(&self.setup.user_home).ok()?;
        let program = argv.first()?;
        let path = self
            .setup
            .variables
            .get(std::ffi::OsStr::new("PATH"))
            .cloned()
            .unwrap_or_default();
        let there = if program.contains('/') {
            self.spec.root.join(program).is_file()
        } else {
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        };
        (!there).then(|| format!("{program} is not there"))
    }

    /// For this process only: it is not asked about again, and does not run.
    pub fn put_off(&self) {
        self.set(Standing::Refused);
    }

    fn set(&self, standing: Standing) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).standing = standing;
    }

    /// What is known, after a look at the files.
    fn now(&self) -> Known {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.identity.is_current() {
            let identity = Identity::of(&self.spec, &self.setup.user_home);
            if identity.sha256 != known.identity.sha256 {
                known.standing = standing(&self.spec, &identity, &self.setup);
            }
            known.identity = identity;
        }
        known.clone()
    }

    /// Whether this event is for it.
    pub(crate) fn hears(&self, payload: &Payload) -> bool {
        let spec = &self.spec;
        if spec.event != payload.event {
            return false;
        }
        if let Some(name) = spec.name {
            let ok = payload.extra.get("ok").and_then(serde_json::Value::as_bool);
            if name.ok.is_some() && ok.is_some() && name.ok != ok {
                return false;
            }
            if !name.tools.is_empty() && !name.tools.contains(&payload.tool_name()) {
                return false;
            }
        }
        // In Hermes a session starts once; the others have a word for going on with it.
        let goes_on = payload.event == Event::OnSessionStart && payload.text("source") == Some("resume");
        if goes_on && spec.dialect == Dialect::Hermes {
            return false;
        }
        let subjects = dialect::subjects(spec.name, spec.dialect, payload);
        self.matcher.is_met(&subjects)
            && self
                .condition
                .as_ref()
                .is_none_or(|condition| condition.is_met(payload))
    }

    /// Tells it; what it answers, or why it does not.
    ///
    /// # Errors
    /// When it did not run or gave no answer, in words.
    pub(crate) async fn call(&self, payload: &Payload) -> Result<Reply, Unanswered> {
        match self.now().standing {
            Standing::Allowed => {}
            standing => return Err(Unanswered::NotAllowed(standing)),
        }
        let spec = &self.spec;
        let argv = spec.argv(&self.setup.user_home).map_err(Unanswered::Failed)?;
        let told = dialect::told(spec.name, spec.dialect, payload).to_string();
        let limit = Duration::from_secs(spec.timeout_s);
        let variables = self.variables(payload);
        let output = run(&argv, &payload.cwd, &variables, told.into_bytes(), limit)
            .await
            .map_err(|error| Unanswered::Failed(error.to_string()))?;
        let strict = self.fails_closed();
        let mut reply =
            reply::of_output(spec.event, spec.dialect, &output, strict).map_err(Unanswered::Failed)?;
        if let Some(args) = &reply.args {
            reply.args = Some(dialect::our_input(spec.dialect, payload.tool_name(), args));
        }
        if spec.name.is_some_and(|name| !name.may_block) {
            reply = Reply {
                notes: reply.notes,
                ..Reply::default()
            };
        }
        Ok(reply)
    }

    /// No answer is a refusal, where refusals are.
    pub(crate) fn fails_closed(&self) -> bool {
        self.spec.fail_closed && self.spec.event.power() == Power::Decide
    }

    fn variables(&self, payload: &Payload) -> Variables {
        let mut variables = self.setup.variables.clone();
        let mut set = |name: &str, value: &std::ffi::OsStr| {
            variables.insert(name.into(), value.to_owned());
        };
        for name in ["TALARIA_SESSION_ID", "HERMES_SESSION_ID"] {
            set(name, payload.session_id.as_ref());
        }
        match self.spec.dialect {
            Dialect::Hermes => {}
            Dialect::Claude => {
                let project = if self.spec.origin.is_project() {
                    &self.spec.root
                } else {
                    &payload.cwd
                };
                set("CLAUDE_PROJECT_DIR", project.as_os_str());
            }
            Dialect::Goose => set("PLUGIN_ROOT", self.spec.root.as_os_str()),
        }
        variables
    }
}

/// What is said about a hook; those of the home may be taken as allowed, those of a project never.
fn standing(spec: &HookSpec, identity: &Identity, setup: &HookSetup) -> Standing {
    let said = Consents::of_home(&setup.home).standing(spec, identity);
    if said == Standing::Open && setup.accept && spec.origin == Origin::Home {
        return Standing::Allowed;
    }
    said
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unanswered {
    /// The person has not allowed it, or has refused it.
    NotAllowed(Standing),
    /// It failed; how.
    Failed(String),
}

/// Claude Code's `if`: a tool and a glob of what it is called with.
#[derive(Debug)]
struct Condition {
    tool: Matcher,
    of: Option<Regex>,
}

impl Condition {
    fn parse(text: &str) -> Result<Self, String> {
        let (tool, of) = match text
            .trim()
            .strip_suffix(')')
            .and_then(|inner| inner.split_once('('))
        {
            Some((tool, glob)) => (tool, Some(glob)),
            None => (text.trim(), None),
        };
        let glob = |glob: &str| {
            // `git push:*` is the older way to write `git push *`.
            let glob = glob
                .strip_suffix(":*")
                .map_or_else(|| glob.to_owned(), |start| format!("{start}*"));
            let pattern = regex::escape(&glob).replace(r"\*", ".*");
            Regex::new(&format!("^(?s:{pattern})$")).map_err(|error| format!("if: {error}"))
        };
        Ok(Self {
            tool: Matcher::parse(tool, Dialect::Claude)?,
            of: of.map(glob).transpose()?,
        })
    }

    fn is_met(&self, payload: &Payload) -> bool {
        let Some(tool) = &payload.tool else { return true };
        let called_with = ["command", "path", "url", "pattern"]
            .iter()
            .find_map(|key| tool.args[*key].as_str());
        self.tool
            .is_met(&dialect::tool_names(Dialect::Claude, &tool.name))
            && self
                .of
                .as_ref()
                .is_none_or(|of| of.is_match(called_with.unwrap_or_default()))
    }
}
