//! What this program offers as an MCP server: its sessions, only to be read. No model is needed.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use talaria_config::Loaded;
use talaria_store::{ListFilter, SessionStore, StoreError};
use talaria_tools::{
    Executor, Registry, Tool, ToolContext, ToolError, ToolOutput, ToolSession, ToolSettings, erase,
};
use talaria_types::{Effect, SessionId, StoredMessage, ToolSpec};

use crate::recall::Recall;
use crate::session_search::SessionSearch;
use crate::setup;

/// The most characters of one message that are shown.
const MOST: usize = 8_000;

/// The tools of `mcp serve` and what runs them. Secrets of this home are masked in whatever they give.
pub fn served(loaded: &Loaded, store: Arc<dyn SessionStore>) -> (Executor, Arc<[ToolSpec]>) {
    let mut registry = Registry::default();
    registry.add("sessions", erase(SessionsList { store: store.clone() }));
    registry.add("sessions", erase(SessionShow { store: store.clone() }));
    registry.add("session_search", erase(SessionSearch { store: store.clone() }));
    let recall = SessionRecall {
        inner: Recall { store: store.clone() },
        store,
    };
    registry.add("recall", erase(recall));
    let registry = Arc::new(registry);
    let selection = registry.select(&[], &[], 0).unwrap_or_default();
    let specs = registry.specs(&selection);
    let root = loaded.home.root();
    let session = ToolSession::new(ToolSettings::for_folder(root, root));
    session.hide_secrets(setup::secrets(loaded));
    (Executor::new(registry, selection, session), specs)
}

fn failed(error: &StoreError) -> ToolError {
    ToolError::Failed(error.to_string())
}

/// Lists sessions.
struct SessionsList {
    store: Arc<dyn SessionStore>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListArgs {
    /// At most this many (20; most 100).
    #[serde(default)]
    limit: Option<u64>,
    /// Only those of this source, such as cli.
    #[serde(default)]
    source: Option<String>,
}

impl Tool for SessionsList {
    const NAME: &'static str = "sessions_list";
    const DESCRIPTION: &'static str = "Lists the sessions of this agent, newest first.";
    const EFFECT: Effect = Effect::Read;
    type Args = ListArgs;

    fn run<'a>(
        &'a self,
        args: ListArgs,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(self.list(args)))
    }
}

impl SessionsList {
    fn list(&self, args: ListArgs) -> Result<ToolOutput, ToolError> {
        let filter = ListFilter {
            limit: Some(args.limit.unwrap_or(20).clamp(1, 100)),
            source: args.source,
            ..ListFilter::default()
        };
        let rows = self.store.list(&filter).map_err(|error| failed(&error))?;
        let shown: Vec<Value> = rows
            .iter()
            .map(|row| {
                json!({
                    "session_id": row.id,
                    "title": row.title,
                    "source": row.source,
                    "model": row.model,
                    "started_at": row.started_at,
                    "messages": row.message_count,
                })
            })
            .collect();
        let brief = format!("[sessions_list] {} sessions", shown.len());
        Ok(ToolOutput::json(&json!({"sessions": shown}), brief))
    }
}

/// Shows a session.
struct SessionShow {
    store: Arc<dyn SessionStore>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ShowArgs {
    /// Its id, a unique beginning of it, or its title.
    session: String,
    /// Skip this many messages.
    #[serde(default)]
    offset: Option<usize>,
    /// At most this many messages (50; most 200).
    #[serde(default)]
    limit: Option<usize>,
}

impl Tool for SessionShow {
    const NAME: &'static str = "session_show";
    const DESCRIPTION: &'static str = "Gives the messages of a session, oldest first.";
    const EFFECT: Effect = Effect::Read;
    type Args = ShowArgs;

    fn run<'a>(
        &'a self,
        args: ShowArgs,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(self.show(&args)))
    }
}

impl SessionShow {
    fn show(&self, args: &ShowArgs) -> Result<ToolOutput, ToolError> {
        let id = self
            .store
            .resolve(&args.session)
            .map_err(|error| failed(&error))?;
        let rows = self.store.live(&id).map_err(|error| failed(&error))?;
        let limit = args.limit.unwrap_or(50).clamp(1, 200);
        let offset = args.offset.unwrap_or(0);
        let shown: Vec<Value> = rows.iter().skip(offset).take(limit).map(shown).collect();
        let told = json!({"session_id": id, "total": rows.len(), "offset": offset, "messages": shown});
        Ok(ToolOutput::json(
            &told,
            format!("[session_show] {} messages", shown.len()),
        ))
    }
}

fn shown(row: &StoredMessage) -> Value {
    let message = &row.message;
    let text: String = message.content.text().chars().take(MOST).collect();
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| json!({"tool": call.name, "arguments": call.arguments.chars().take(MOST).collect::<String>()}))
        .collect();
    let mut value = json!({"id": row.id, "role": message.role, "text": text});
    if let Some(tool) = &message.tool_name {
        value["tool"] = json!(tool);
    }
    if !calls.is_empty() {
        value["calls"] = json!(calls);
    }
    value
}

/// Original messages of a session that is named: `recall` belongs to a conversation, a client has none.
struct SessionRecall {
    inner: Recall,
    store: Arc<dyn SessionStore>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct RecallArgs {
    /// Id, unique beginning or title of the session.
    session: String,
    /// Message ids as summaries cite them: 12 for [m:12].
    #[serde(default)]
    ids: Vec<i64>,
    /// Words to look for in the whole conversation.
    #[serde(default)]
    query: Option<String>,
    /// At most this many messages (10).
    #[serde(default)]
    limit: Option<u64>,
}

impl Tool for SessionRecall {
    const NAME: &'static str = "recall";
    const DESCRIPTION: &'static str = "Returns original messages of a session that a summary has replaced, by their ids ([m:12]) or by words.";
    const EFFECT: Effect = Effect::Read;
    type Args = RecallArgs;

    fn run<'a>(
        &'a self,
        args: RecallArgs,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(self.recall(args)))
    }
}

impl SessionRecall {
    fn recall(&self, args: RecallArgs) -> Result<ToolOutput, ToolError> {
        let id: SessionId = self
            .store
            .resolve(&args.session)
            .map_err(|error| failed(&error))?;
        self.inner.of(args.ids, args.query, args.limit, id.as_str())
    }
}
