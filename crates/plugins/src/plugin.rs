//! A plugin that runs: a program that speaks JSON-RPC on its standard input and output.
//!
//! It is greeted with `initialize` and says what it brings; afterwards it is called: `tool`,
//! `hook`, `command`, `engine.*`. Every call has its time. One that hangs or dies is an answer
//! that is missing: after a few of them in a row it is left alone for a while, the person is
//! told once, and the turn goes on.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use talaria_peer::{Opening, Peer, PeerError, Program, Quiet};

use crate::manifest::{FoundPlugin, Manifest};
use crate::reply::cut;
use crate::{Event, Payload, Reply};

/// What this program speaks with plugins.
pub const PROTOCOL: u64 = 1;
/// How long a plugin may take to start and say what it brings.
const GREETING: Duration = Duration::from_secs(5);
/// How long it may take to answer an event.
const HOOK: Duration = Duration::from_secs(10);
/// How long its context engine may take to say whether it is time to compress.
const JUDGEMENT: Duration = Duration::from_secs(2);
/// How long it may take to end.
const FAREWELL: Duration = Duration::from_millis(200);
/// Missing answers in a row after which it is left alone.
const PATIENCE: u32 = 3;
/// For how long.
const REST: Duration = Duration::from_secs(60);
/// Tools and commands of one plugin, at most.
const MOST: usize = 64;
/// The longest description of a tool, in characters.
const DESCRIPTION_CHARS: usize = 2_000;

/// A plugin that was started.
pub struct Plugin {
    manifest: Manifest,
    peer: Peer,
    brings: Brings,
    events: HashSet<Event>,
    trouble: Mutex<Trouble>,
}

/// What a plugin says it brings.
#[derive(Debug, Default, Deserialize)]
struct Brings {
    #[serde(default)]
    protocol_version: u64,
    #[serde(default)]
    tools: Vec<PluginTool>,
    #[serde(default)]
    hooks: Vec<String>,
    #[serde(default)]
    commands: Vec<PluginCommand>,
    #[serde(default)]
    context_engine: bool,
}

/// A tool that a plugin brings.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct PluginTool {
    /// The name the model calls.
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    pub description: String,
    /// The JSON schema of its arguments.
    #[serde(default)]
    pub parameters: Value,
    /// It only reads: it may run beside others, and again.
    #[serde(default)]
    pub read_only: bool,
}

/// A slash command that a plugin brings.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct PluginCommand {
    /// What is typed after the slash.
    pub name: String,
    /// What it does, in one line.
    #[serde(default)]
    pub description: String,
    /// What follows the name.
    #[serde(default)]
    pub args_hint: String,
}

/// Answers that are missing.
#[derive(Default)]
struct Trouble {
    in_a_row: u32,
    rests_until: Option<Instant>,
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.manifest.name)
            .finish_non_exhaustive()
    }
}

impl Plugin {
    /// Starts a plugin and asks what it brings. It is given the variables its manifest names, as `variable`
    /// knows them.
    ///
    /// # Errors
    /// When it does not start, does not answer in time, or speaks another protocol; in words.
    pub async fn start(
        found: &FoundPlugin,
        (home, cwd): (&Path, &Path),
        variable: &(dyn Fn(&str) -> Option<String> + Sync),
    ) -> Result<Self, String> {
        let manifest = found.manifest.clone()?;
        let (program, args) = manifest.command.split_first().ok_or("the command is empty")?;
        // A file of the plugin, or a program of the system.
        let own = found.folder.join(program);
        let file = if program.contains('/') || own.is_file() {
            own
        } else {
            program.into()
        };
        let mut program = Program::new(file)
            .args(args)
            .named(format!("plugin {}", manifest.name))
            .folder(&found.folder);
        for name in &manifest.env {
            program = match variable(name) {
                Some(value) => program.env(name, value),
                None => program.pass(name),
            };
        }
        if found.of_project {
            // Trust is in the folder as it is: Python would write its compiled files there and end it.
            program = program.env("PYTHONDONTWRITEBYTECODE", "1");
        }
        let peer = Peer::new(program, Quiet);
        peer.opens_with(Opening {
            method: "initialize".to_owned(),
            params: json!({
                "protocol_version": PROTOCOL,
                "client": {"name": "talaria", "version": env!("CARGO_PKG_VERSION")},
                "home": home, "cwd": cwd,
            }),
            within: GREETING,
        });
        peer.connect().await.map_err(|error| error.to_string())?;
        let brings = understood(&peer.greeting(), &manifest)?;
        let events = brings
            .hooks
            .iter()
            .filter_map(|name| Event::named(name))
            .collect();
        Ok(Self {
            manifest,
            peer,
            brings,
            events,
            trouble: Mutex::default(),
        })
    }

    /// What it says of itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.manifest.name
    }

    /// The tools it brings.
    pub fn tools(&self) -> &[PluginTool] {
        &self.brings.tools
    }

    /// The slash commands it brings.
    pub fn commands(&self) -> &[PluginCommand] {
        &self.brings.commands
    }

    /// The events it wants to hear of.
    pub fn events(&self) -> &HashSet<Event> {
        &self.events
    }

    /// Whether it brings a context engine.
    pub fn has_engine(&self) -> bool {
        self.brings.context_engine
    }

    /// Runs one of its tools; what it gives as text.
    ///
    /// # Errors
    /// When it gives none, in words for the model.
    pub async fn tool(
        &self,
        name: &str,
        args: &Value,
        (session, call): (&str, &str),
        cwd: &Path,
    ) -> Result<String, String> {
        let params = json!({"name": name, "args": args, "session_id": session, "call_id": call, "cwd": cwd});
        let answer = self.call("tool", params, self.limit()).await?;
        if let Some(error) = answer.get("error").and_then(Value::as_str) {
            return Err(error.to_owned());
        }
        Ok(text_of(&answer))
    }

    /// Runs one of its slash commands; what the person reads.
    ///
    /// # Errors
    /// When it gives nothing, in words.
    pub async fn command(&self, name: &str, args: &str, session: &str) -> Result<String, String> {
        let params = json!({"name": name, "args": args, "session_id": session});
        self.call("command", params, self.limit())
            .await
            .map(|answer| text_of(&answer))
    }

    /// Asks its context engine.
    ///
    /// # Errors
    /// When it gives no answer, in words.
    pub async fn engine(&self, method: &str, params: Value) -> Result<Value, String> {
        // Compressing may take a model; saying whether to must not hold every request back.
        let limit = if method == "compress" {
            self.limit()
        } else {
            JUDGEMENT
        };
        self.call(&format!("engine.{method}"), params, limit).await
    }

    /// Tells its context engine something, without waiting.
    pub fn tell_engine(&self, method: &str, params: &Value) {
        if let Err(error) = self.peer.notify(&format!("engine.{method}"), params) {
            tracing::info!(%error, "a context engine was not told");
        }
    }

    /// Tells it of an event. Nothing when it does not listen or is left alone.
    pub(crate) async fn hook(&self, payload: &Payload) -> Option<Result<Reply, String>> {
        if !self.events.contains(&payload.event) || self.is_resting() {
            return None;
        }
        let from = format!("plugin {}", self.name());
        let answer = self.call("hook", payload.json(), HOOK).await;
        Some(answer.map(|answer| Reply {
            from,
            ..Reply::of_json(payload.event, &answer)
        }))
    }

    /// Ends it.
    pub async fn stop(&self) {
        self.peer.stop(FAREWELL).await;
    }

    fn limit(&self) -> Duration {
        Duration::from_secs(self.manifest.timeout_s)
    }

    async fn call(&self, method: &str, params: Value, within: Duration) -> Result<Value, String> {
        if self.is_resting() {
            return Err(format!(
                "plugin {} gave no answers and is left alone for a while",
                self.name()
            ));
        }
        let answer = self.peer.call(method, params, within).await;
        let missing = matches!(
            answer,
            Err(PeerError::Late { .. } | PeerError::Died { .. } | PeerError::Busy { .. })
        );
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.in_a_row = if missing { trouble.in_a_row + 1 } else { 0 };
        if trouble.in_a_row >= PATIENCE {
            *trouble = Trouble {
                in_a_row: 0,
                rests_until: Some(Instant::now() + REST),
            };
        }
        answer.map_err(|error| error.to_string())
    }

    fn is_resting(&self) -> bool {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.rests_until.is_some_and(|until| Instant::now() < until)
    }
}

/// What the greeting says, as far as it can be used.
fn understood(greeting: &Value, manifest: &Manifest) -> Result<Brings, String> {
    let mut brings: Brings = serde_json::from_value(greeting.clone())
        .map_err(|error| format!("what it answered to initialize cannot be read: {error}"))?;
    if brings.protocol_version != PROTOCOL {
        return Err(format!(
            "it speaks protocol {}, this program {PROTOCOL}",
            brings.protocol_version
        ));
    }
    let fits = |name: &str| {
        !name.is_empty()
            && name.len() <= 64
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    brings
        .tools
        .retain(|tool| manifest.has("tools") && fits(&tool.name));
    brings.tools.truncate(MOST);
    for tool in &mut brings.tools {
        tool.description = cut(&tool.description, DESCRIPTION_CHARS);
        if !tool.parameters.is_object() {
            tool.parameters = json!({"type": "object", "properties": {}});
        }
    }
    brings
        .commands
        .retain(|command| manifest.has("commands") && fits(&command.name));
    brings.commands.truncate(MOST);
    if !manifest.has("hooks") {
        brings.hooks.clear();
    }
    brings.context_engine &= manifest.has("context_engine");
    Ok(brings)
}

/// An answer as text: its `content` or `text`, or all of it as JSON.
fn text_of(answer: &Value) -> String {
    let told = ["content", "text"]
        .iter()
        .find_map(|name| answer.get(*name))
        .unwrap_or(answer);
    match told {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
