//! Who is told what happens in a session: the hooks and plugins, with the facts that every event has.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use talaria_plugins::{Event, Fired, Hooks, Payload};
use talaria_tools::{After, Before, Done};
use talaria_types::{SessionId, ToolCall};

use crate::session::Session;

/// The listeners of a session, and who it is. Cheap to make: nothing is built for an event that nobody hears.
#[derive(Clone)]
pub(crate) struct Audience {
    hooks: Arc<Hooks>,
    session: SessionId,
    cwd: PathBuf,
    platform: String,
}

impl Session {
    /// Who listens to this session.
    pub(crate) fn audience(&self) -> Audience {
        Audience {
            hooks: self.hooks.clone(),
            session: self.id.clone(),
            cwd: self.shared.options.cwd.clone(),
            platform: self.shared.options.source.clone(),
        }
    }

    /// Tells an event that nobody waits for; its facts are only gathered when somebody listens.
    pub(crate) fn tell_hooks(&self, event: Event, facts: impl FnOnce(Payload) -> Payload) {
        if self.hooks.hear(event) {
            let audience = self.audience();
            audience.hooks.tell(facts(audience.payload(event)));
        }
    }

    /// Passes on what the person should know about hooks.
    pub(crate) fn pass_on_notes(&self) {
        self.hooks
            .take_notes()
            .into_iter()
            .for_each(|note| self.sink.warn(note));
    }
}

impl Audience {
    /// Whether anybody listens at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Whether anybody hears this event.
    pub(crate) fn hears(&self, event: Event) -> bool {
        self.hooks.hear(event)
    }

    /// An event of this session.
    pub(crate) fn payload(&self, event: Event) -> Payload {
        Payload::new(event, self.session.as_str(), &self.cwd).with("platform", self.platform.as_str())
    }

    /// Tells and waits for what is said.
    pub(crate) async fn ask(&self, payload: &Payload) -> Fired {
        self.hooks.fire(payload).await
    }

    /// Tells and waits for nobody.
    pub(crate) fn tell(&self, payload: Payload) {
        self.hooks.tell(payload);
    }

    /// What is said before a tool runs.
    pub(crate) async fn before(&self, call: &ToolCall, tool: &str, args: &Value) -> Before {
        if !self.hears(Event::PreToolCall) {
            return Before::default();
        }
        let fired = self
            .ask(&self.payload(Event::PreToolCall).of_tool(tool, args, &call.id))
            .await;
        Before {
            block: fired.blocked().map(str::to_owned),
            ask: fired.asked().map(str::to_owned),
            args: fired.args().cloned(),
            context: fired.contexts(),
        }
    }

    /// What is said to a result: first it is told, then somebody may put another in its place.
    pub(crate) async fn after(&self, done: Done<'_>) -> After {
        let payload = |event, result: &str| {
            self.payload(event)
                .of_tool(done.tool, done.args, &done.call.id)
                .with("result", result)
                .with("ok", done.ok)
                .with("duration_ms", done.duration_ms)
        };
        let mut after = After::default();
        if self.hears(Event::PostToolCall) {
            let fired = self.ask(&payload(Event::PostToolCall, done.result)).await;
            after.replacement = fired.replacement().map(str::to_owned);
            after.context = fired.contexts();
        }
        if self.hears(Event::TransformToolResult) {
            let result = after.replacement.as_deref().unwrap_or(done.result);
            let fired = self.ask(&payload(Event::TransformToolResult, result)).await;
            after.replacement = fired.replacement().map(str::to_owned).or(after.replacement);
        }
        after
    }

    /// What stands in the place of what a command printed.
    pub(crate) async fn printed(&self, command: &str, output: &str, code: i32) -> Option<String> {
        if !self.hears(Event::TransformTerminalOutput) {
            return None;
        }
        let payload = self
            .payload(Event::TransformTerminalOutput)
            .with("command", command)
            .with("output", output)
            .with("returncode", code)
            .with("env_type", "local");
        self.ask(&payload).await.replacement().map(str::to_owned)
    }
}
