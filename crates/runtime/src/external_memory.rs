//! The memory provider as sessions use it: when it is asked, what it is told, and what of its words goes where.
//!
//! Nothing here decides how long it may take or what leaves; that is `talaria_memory::providers`. A review and a
//! helper have none: only a session that was introduced ([`Session::open_memory`]) speaks to it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use talaria_config::{Loaded, env};
use talaria_memory::providers::table::{self, ClientMaker};
use talaria_memory::providers::{Bounds, Exchange, External, Opening, Place, Said, Switch, ToolUse, fence};
use talaria_recovery::Failure;
use talaria_tools::{AnyTool, Parallel, Registry, ToolContext, ToolError, ToolOutput, untrusted};
use talaria_types::{Completion, Effect, Event, Message, Role, SessionId, ToolSpec, TurnResult};
use tokio_util::sync::CancellationToken;

use crate::boundary::Boundary;
use crate::compaction::Planned;
use crate::engine::Shared;
use crate::events::Sink;
use crate::session::Session;
use crate::{sent_as, skill_turns};

/// How long the end of a session waits until the provider has heard of it.
const HEARS_OF_END: Duration = Duration::from_secs(2);
/// Messages a provider is shown of a conversation at most, the newest.
const SHOWN: usize = 400;
/// Characters of one of them.
const SHOWN_CHARS: usize = 20_000;

/// What a provider is made from, by the configuration.
pub fn memory_place(loaded: &Loaded, platform: &str) -> Place {
    let config = &loaded.config.memory;
    let bundle = loaded
        .variable(env::HERMES_CA_BUNDLE)
        .or_else(|| loaded.variable(env::SSL_CERT_FILE))
        .map(std::path::PathBuf::from);
    let client: ClientMaker = Arc::new(move |base| talaria_providers::http_client(base, bundle.as_deref()));
    let variables = loaded.clone();
    Place {
        home: loaded.home.root().to_owned(),
        platform: platform.to_owned(),
        command: config.command.clone(),
        env_passthrough: config.env_passthrough.clone(),
        user_id: config.user_id.clone(),
        agent_id: config.agent_id.clone(),
        workspace: config.workspace.clone(),
        base_url: config.base_url.clone(),
        variable: Arc::new(move |name| variables.variable(name).map(str::to_owned)),
        client,
    }
}

/// The configured provider, connected; and what the person should know when it cannot be had.
pub(crate) async fn connect(shared: &Shared) -> (Option<Arc<External>>, Vec<String>) {
    let name = shared.loaded.config.memory.provider.trim();
    if name.is_empty() || name == "builtin" || shared.options.ignore_rules {
        return (None, Vec::new());
    }
    let connected = match table::row(name) {
        None => {
            let known: Vec<&str> = table::ROWS.iter().map(|row| row.name).collect();
            Err(format!(
                "memory.provider: there is no {name:?}; there are {}",
                known.join(", ")
            ))
        }
        Some(row) => match row.build(&memory_place(&shared.loaded, &shared.options.source)) {
            Ok(provider) => External::connect(provider, Bounds::default()).await,
            Err(error) => Err(format!("the memory provider {name} is not used: {error}")),
        },
    };
    match connected {
        Ok(external) => (Some(Arc::new(external)), Vec::new()),
        Err(why) => (None, vec![why]),
    }
}

/// Adds the provider's tools to the toolset `memory`, and gives their names. A name that is taken stays whose it is.
pub(crate) fn add_tools(
    registry: &mut Registry,
    external: &Arc<External>,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let mut names = Vec::new();
    for spec in external.tools() {
        if registry.get(&spec.name).is_some() {
            warnings.push(format!(
                "the tool {} of the memory provider {} is left out: there is one of that name",
                spec.name,
                external.name()
            ));
            continue;
        }
        names.push(spec.name.clone());
        let tool = ProviderTool {
            spec,
            external: external.clone(),
        };
        registry.add("memory", Arc::new(tool));
    }
    names
}

/// A tool that the provider answers.
struct ProviderTool {
    spec: ToolSpec,
    external: Arc<External>,
}

impl AnyTool for ProviderTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Write
    }

    fn run<'a>(
        &'a self,
        args: Value,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let name = &self.spec.name;
            let call = ToolUse {
                name: name.clone(),
                arguments: args,
                session_id: cx.session.id(),
            };
            let answer = tokio::select! {
                answer = self.external.call_tool(call) => answer.map_err(ToolError::Failed)?,
                () = cx.cancel.cancelled() => return Err(ToolError::Interrupted),
            };
            let text = match answer {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let text = fence::sanitized(&text);
            let content = if self.external.is_outside() {
                untrusted::wrap(&format!("memory provider {}", self.external.name()), &text)
            } else {
                text
            };
            Ok(ToolOutput {
                content: content.into(),
                brief: format!("[{name}] answered"),
                ok: true,
            })
        })
    }

    fn parallel(&self, _: &Value) -> Parallel {
        Parallel::Never
    }

    fn idempotent(&self) -> bool {
        false
    }

    fn keeps_whole_results(&self) -> bool {
        false
    }
}

impl Session {
    /// Introduces the session to the provider, once.
    pub(crate) fn open_memory(&mut self) {
        if self.external.is_some() {
            return;
        }
        let Some(external) = self.shared.external() else {
            return;
        };
        let sink = self.sink.clone();
        let opening = Opening {
            session_id: self.id.to_string(),
            hermes_home: self.shared.loaded.home.root().display().to_string(),
            platform: self.shared.options.source.clone(),
            agent_context: "primary".to_owned(),
            session_title: self.title.clone(),
            parent_session_id: (self.root != self.id).then(|| self.root.to_string()),
        };
        self.external = Some(external.open(opening, Arc::new(move |text| sink.warn(text))));
    }

    /// A turn begins: what the provider recalls goes with what the person says.
    pub(crate) async fn recall(&self, prompt: &mut Message, cancel: &CancellationToken) {
        let Some(external) = &self.external else { return };
        let text = prompt.content.text();
        let query = skill_turns::own_words(&text).trim();
        if query.is_empty() {
            return;
        }
        let number = self
            .history
            .iter()
            .filter(|(_, message)| message.role == Role::User)
            .count() as u64
            + 1;
        let recalled = tokio::select! {
            recalled = external.recall(number, query, self.id.as_str()) => recalled,
            () = cancel.cancelled() => None,
        };
        drop(text);
        if let Some(recalled) = recalled {
            sent_as::add(prompt, &[recalled]);
        }
    }

    /// A turn that ended by itself is told, after the person was.
    pub(crate) fn remember_turn(&self, said: &str, answer: String) {
        let Some(external) = &self.external else { return };
        let user = skill_turns::own_words(said).trim();
        let turn = Exchange {
            session_id: self.id.to_string(),
            user: user.to_owned(),
            assistant: answer,
        };
        external.turn_ended(&turn, user);
    }

    /// The session ends under its present id: told before its row says so.
    pub(crate) async fn memory_ends(&self) {
        let Some(external) = self.external.as_ref().filter(|_| self.stored) else {
            return;
        };
        external.session_ends(
            self.id.as_str(),
            said(self.history.iter().map(|(_, message)| &**message)),
        );
        external.caught_up(HEARS_OF_END).await;
    }

    /// The same of a session that was never opened here.
    pub(crate) fn other_session_ends(&self, old: &SessionId) {
        let Some(external) = &self.external else { return };
        let rows = self.store().live(old).unwrap_or_default();
        external.session_ends(old.as_str(), said(rows.iter().map(|row| &*row.message)));
    }

    /// The conversation goes on under the session's present id.
    pub(crate) fn memory_switches(&self, from: &SessionId, boundary: Boundary) {
        let Some(external) = &self.external else { return };
        external.session_switches(Switch {
            session_id: self.id.to_string(),
            parent_session_id: from.to_string(),
            reset: matches!(boundary, Boundary::New | Boundary::Reset(_)),
            reason: boundary.reason().to_owned(),
            rewound: false,
        });
    }

    /// Turns were taken out of the conversation.
    pub(crate) fn memory_rewound(&self) {
        let Some(external) = &self.external else { return };
        external.session_switches(Switch {
            session_id: self.id.to_string(),
            parent_session_id: self.id.to_string(),
            reset: false,
            reason: "undo".to_owned(),
            rewound: true,
        });
    }

    /// What the provider wants kept of what a compression will hide.
    pub(crate) async fn memory_before_compression(
        &self,
        planned: &Planned,
        cancel: &CancellationToken,
    ) -> Option<String> {
        let external = self.external.as_ref()?;
        let messages = said(planned.history.iter().map(|row| &*row.message));
        tokio::select! {
            text = external.before_compression(self.id.as_str(), messages) => text,
            () = cancel.cancelled() => None,
        }
    }

    /// The process leaves a conversation that goes on elsewhere: what was told is told to its end.
    pub(crate) async fn part_from_memory(&mut self) {
        if let Some(external) = self.external.take() {
            external.close().await;
        }
    }

    /// The process leaves the session: what is still to be told, within its bound.
    pub(crate) fn closing_memory(&mut self) -> impl Future<Output = ()> + use<> {
        let external = self.external.take();
        let spoken = self.stored && !self.history.is_empty();
        let messages = said(self.history.iter().map(|(_, message)| &**message));
        let id = self.id.clone();
        async move {
            let Some(external) = external else { return };
            if spoken {
                external.session_ends(id.as_str(), messages);
            }
            external.close().await;
        }
    }
}

impl Shared {
    /// The tools that the memory provider has brought; subagents have none of them.
    pub(crate) fn external_tools(&self) -> &[String] {
        self.extensions
            .get()
            .map_or(&[], |extensions| &extensions.external_tools)
    }

    /// The memory provider, once it was asked for.
    pub(crate) fn external(&self) -> Option<&Arc<External>> {
        self.known_extensions()?.external.as_ref()
    }
}

/// The answer of a turn that ended by itself; nothing of one that was interrupted or failed.
pub(crate) fn answer_of(result: &TurnResult) -> Option<String> {
    let ended = result.completed && !result.interrupted && !result.failed;
    result.final_response.clone().filter(|_| ended)
}

/// A conversation as providers are shown it: what people and the model said, and what tools gave.
fn said<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> Vec<Said> {
    let newest = messages.rev().take(SHOWN).filter_map(|message| {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            Role::System => return None,
        };
        let text = message.content.text();
        let text = fence::cut(text.trim(), SHOWN_CHARS);
        (!text.is_empty()).then(|| Said {
            role: role.to_owned(),
            content: text.into_owned(),
        })
    });
    let mut said: Vec<Said> = newest.collect();
    said.reverse();
    said
}

/// Takes recalled text that the model repeats out of what is shown and of what is kept.
pub(crate) struct Scrubbed {
    sink: Sink,
    scrubber: Mutex<fence::Scrubber>,
}

impl Scrubbed {
    /// For one answer that is shown through `sink`.
    pub(crate) fn new(sink: Sink) -> Self {
        Self {
            sink,
            scrubber: Mutex::default(),
        }
    }

    /// Shows what may be shown of the next piece.
    pub(crate) fn push(&self, text: &str) {
        let shown = self
            .scrubber
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(text);
        self.show(shown);
    }

    /// The answer has ended: shows what was held back, and cleans what will be kept.
    pub(crate) fn end(&self, reply: &mut Result<Completion, Failure>) {
        let held = self
            .scrubber
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .flush();
        self.show(held);
        match reply {
            Ok(completion) => clean(&mut completion.text),
            Err(failure) => {
                if let Some(partial) = &mut failure.partial {
                    clean(&mut partial.text);
                }
            }
        }
    }

    fn show(&self, text: String) {
        if !text.is_empty() {
            self.sink.tell(Event::MessageDelta { text });
        }
    }
}

fn clean(text: &mut String) {
    if let std::borrow::Cow::Owned(clean) = fence::scrubbed(text) {
        *text = clean;
    }
}
