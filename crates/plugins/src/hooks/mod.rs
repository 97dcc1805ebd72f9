//! Who hears of what happens, and what comes of it.
//!
//! [`Hooks`] is asked at each moment of a session. With nobody listening that is a look into
//! an empty set. Those who listen are asked side by side; what they answer keeps their order,
//! so that the first word wins and stays the same from run to run. Nobody can cost a turn:
//! each has its time, and who fails is told once and left out, unless the person wrote that
//! a failure is a refusal.

mod consent;
pub mod files;
pub(crate) mod run;
mod scripts;
mod shell;
mod spec;

#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

pub use self::consent::{ConsentError, Consents, Standing};
pub use self::run::Variables;
use self::shell::Unanswered;
pub use self::shell::{HookSetup, ShellHook};
pub use self::spec::{HookSpec, Origin, Written};
use crate::event::Power;
use crate::plugin::Plugin;
use crate::reply::Reply;
use crate::{Event, Payload};

/// Events that wait to be told, at most.
const MOST_WAITING: usize = 1_000;

/// Everybody who listens.
#[derive(Default)]
pub struct Hooks {
    listeners: Vec<Listener>,
    heard: HashSet<Event>,
    notes: Mutex<Notes>,
    waiting: Mutex<Waiting>,
    quiet: Notify,
}

/// One who listens.
#[derive(Clone)]
enum Listener {
    Shell(Arc<ShellHook>),
    Plugin(Arc<Plugin>),
}

/// What the person should know, each once.
#[derive(Default)]
struct Notes {
    said: HashSet<String>,
    new: Vec<String>,
}

/// Events that nobody waits for.
#[derive(Default)]
struct Waiting {
    events: VecDeque<Payload>,
    at_work: bool,
}

/// What came of an event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fired {
    /// What was answered, in the order of the listeners; those who said nothing are left out.
    pub replies: Vec<Reply>,
}

impl Fired {
    /// Who refuses first, and why.
    pub fn blocked(&self) -> Option<&str> {
        self.replies.iter().find_map(|reply| reply.block.as_deref())
    }

    /// Why the person must be asked.
    pub fn asked(&self) -> Option<&str> {
        self.replies.iter().find_map(|reply| reply.ask.as_deref())
    }

    /// The arguments that the first who changes them gives.
    pub fn args(&self) -> Option<&Value> {
        self.replies.iter().find_map(|reply| reply.args.as_ref())
    }

    /// What the model is to read.
    pub fn contexts(&self) -> Vec<String> {
        self.replies
            .iter()
            .filter_map(|reply| reply.context.clone())
            .collect()
    }

    /// What the first gives in the place of the text.
    pub fn replacement(&self) -> Option<&str> {
        self.replies.iter().find_map(|reply| reply.replacement.as_deref())
    }
}

impl Hooks {
    /// These hooks, in their order, then these plugins.
    pub fn new(shell: Vec<Arc<ShellHook>>, plugins: &[Arc<Plugin>]) -> Self {
        let mut hooks = Self::default();
        for hook in shell {
            hooks.heard.insert(hook.spec().event);
            hooks.listeners.push(Listener::Shell(hook));
        }
        for plugin in plugins.iter().filter(|plugin| !plugin.events().is_empty()) {
            hooks.heard.extend(plugin.events());
            hooks.listeners.push(Listener::Plugin(plugin.clone()));
        }
        hooks
    }

    /// Whether anybody listens to this event at all.
    pub fn hear(&self, event: Event) -> bool {
        self.heard.contains(&event)
    }

    /// Whether nobody listens to anything.
    pub fn is_empty(&self) -> bool {
        self.listeners.is_empty()
    }

    /// The hooks that are commands.
    pub fn shell(&self) -> impl Iterator<Item = &Arc<ShellHook>> {
        self.listeners.iter().filter_map(|listener| match listener {
            Listener::Shell(hook) => Some(hook),
            Listener::Plugin(_) => None,
        })
    }

    /// Those the person was never asked about as they are now.
    pub fn open(&self) -> Vec<Arc<ShellHook>> {
        let open = self.shell().filter(|hook| hook.standing() == Standing::Open);
        open.cloned().collect()
    }

    /// Tells everybody whom it concerns, side by side, and waits for what they say.
    pub async fn fire(&self, payload: &Payload) -> Fired {
        if !self.hear(payload.event) {
            return Fired::default();
        }
        let calls = self.listeners.iter().map(|listener| self.ask(listener, payload));
        let replies = futures_util::future::join_all(calls).await;
        Fired {
            replies: replies.into_iter().flatten().collect(),
        }
    }

    async fn ask(&self, listener: &Listener, payload: &Payload) -> Option<Reply> {
        let mut reply = match listener {
            Listener::Shell(hook) => self.ask_shell(hook, payload).await?,
            Listener::Plugin(plugin) => match plugin.hook(payload).await? {
                Ok(reply) => reply,
                Err(why) => {
                    self.note(why);
                    return None;
                }
            },
        };
        for note in std::mem::take(&mut reply.notes) {
            self.note(format!("{}: {note}", reply.from));
        }
        Some(reply)
    }

    async fn ask_shell(&self, hook: &Arc<ShellHook>, payload: &Payload) -> Option<Reply> {
        if !hook.hears(payload) {
            return None;
        }
        if hook.spec().detached {
            let (hook, payload) = (hook.clone(), payload.clone());
            tokio::spawn(async move {
                if let Err(Unanswered::Failed(why)) = hook.call(&payload).await {
                    tracing::warn!(hook = %hook.told(), "{why}");
                }
            });
            return None;
        }
        let from = format!("hook {}", hook.told());
        let (why, may_refuse) = match hook.call(payload).await {
            Ok(reply) => return Some(Reply { from, ..reply }),
            Err(Unanswered::NotAllowed(Standing::Refused)) => return None,
            Err(Unanswered::NotAllowed(_)) => (
                format!(
                    "{from} of {} is not run: it was not allowed as it is now; `talaria hooks enable {}` allows it",
                    hook.spec().origin.told(),
                    &hook.sha256()[..8],
                ),
                // What nobody agreed to cannot stop anything either.
                !hook.spec().origin.is_project(),
            ),
            Err(Unanswered::Failed(why)) => (format!("{from} {why}"), true),
        };
        self.note(why.clone());
        if hook.fails_closed() && may_refuse {
            let text = format!(
                "{why}. This hook is set to refuse when it gives no answer; it is no judgement on the call"
            );
            return Some(Reply {
                from,
                ..Reply::refusal(&text)
            });
        }
        None
    }

    /// Tells everybody whom it concerns, in the order of the events, and waits for nobody.
    pub fn tell(self: &Arc<Self>, payload: Payload) {
        debug_assert_eq!(payload.event.power(), Power::None);
        if !self.hear(payload.event) {
            return;
        }
        let begin = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.events.len() >= MOST_WAITING {
                waiting.events.pop_front();
                self.note("hooks are too slow for what happens: events were left out".to_owned());
            }
            waiting.events.push_back(payload);
            !std::mem::replace(&mut waiting.at_work, true)
        };
        if begin {
            tokio::spawn(self.clone().work());
        }
    }

    async fn work(self: Arc<Self>) {
        while let Some(payload) = self.next() {
            self.fire(&payload).await;
        }
        self.quiet.notify_waiters();
    }

    fn next(&self) -> Option<Payload> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let next = waiting.events.pop_front();
        waiting.at_work = next.is_some();
        next
    }

    /// Waits until everything was told, at most for `limit`.
    pub async fn drained(&self, limit: Duration) {
        let quiet = async {
            loop {
                let next = self.quiet.notified();
                let at_work = self
                    .waiting
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .at_work;
                if !at_work {
                    return;
                }
                next.await;
            }
        };
        if tokio::time::timeout(limit, quiet).await.is_err() {
            tracing::warn!("hooks were still at work at the end and were left");
        }
    }

    /// Notes what the person should know, unless it was said before.
    fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.said.insert(text.clone()) {
            notes.new.push(text);
        }
    }

    /// What the person should know since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner).new)
    }
}
