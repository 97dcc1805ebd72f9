//! The tool `session_search`: the model looks through every session, without
//! another model in between.
//!
//! Four ways, by what is given: words find messages; a session and a message
//! give the messages around it; a session alone gives its beginning and end;
//! nothing lists the newest sessions.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use talaria_store::{Hit, ListFilter, SearchQuery, SessionStore, StoreError};
use talaria_tools::{Tool, ToolContext, ToolError, ToolOutput};
use talaria_types::{Effect, StoredMessage};

/// Messages of a session's beginning, and of its end, that reading it gives.
const READ: (usize, usize) = (20, 10);
/// The most characters of one message.
const MOST: usize = 2_000;

/// Looks through every session.
pub(crate) struct SessionSearch {
    pub(crate) store: Arc<dyn SessionStore>,
}

/// What is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SessionSearchArgs {
    /// Words, "phrases", prefix*, OR, NOT. Without it: the newest sessions, or the session named below.
    #[serde(default)]
    query: Option<String>,
    /// At most this many results (5; most 10).
    #[serde(default)]
    limit: Option<u64>,
    /// Only messages of this role: user, assistant or tool.
    #[serde(default)]
    role_filter: Option<String>,
    /// Read this session.
    #[serde(default)]
    session_id: Option<String>,
    /// With session_id: the messages around this one.
    #[serde(default)]
    around_message_id: Option<i64>,
    /// Messages before and after it (5; most 20).
    #[serde(default)]
    window: Option<usize>,
}

impl Tool for SessionSearch {
    const NAME: &'static str = "session_search";
    const DESCRIPTION: &'static str = "Searches all earlier conversations, also what summaries have replaced. With \
        session_id it reads that session; without arguments it lists the newest ones.";
    const EFFECT: Effect = Effect::Read;
    type Args = SessionSearchArgs;

    fn run<'a>(
        &'a self,
        args: SessionSearchArgs,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let answer = self
            .answer(&args)
            .map_err(|error| ToolError::Failed(error.to_string()));
        Box::pin(std::future::ready(answer.map(|value| output(&args, &value))))
    }
}

impl SessionSearch {
    fn answer(&self, args: &SessionSearchArgs) -> Result<Value, StoreError> {
        let query = args
            .query
            .as_deref()
            .map(str::trim)
            .filter(|query| !query.is_empty());
        match (query, &args.session_id) {
            (Some(query), _) => self.discover(query, args),
            (None, Some(session)) => self.read(session, args),
            (None, None) => self.browse(args.limit.unwrap_or(5).clamp(1, 10)),
        }
    }

    fn discover(&self, query: &str, args: &SessionSearchArgs) -> Result<Value, StoreError> {
        let found = self.store.search(&SearchQuery {
            text: query.to_owned(),
            limit: args.limit.unwrap_or(5).clamp(1, 10),
            role: args.role_filter.clone(),
            ..SearchQuery::default()
        })?;
        let results: Result<Vec<Value>, StoreError> =
            found.hits.iter().map(|hit| self.with_surroundings(hit)).collect();
        let mut answer = json!({"success": true, "mode": "discovery", "query": query, "results": results?, "total": found.total});
        if let Some(note) = found.note {
            answer["note"] = note.into();
        }
        Ok(answer)
    }

    /// A hit and the messages next to it.
    fn with_surroundings(&self, hit: &Hit) -> Result<Value, StoreError> {
        let rows = self.store.all(&hit.session_id)?;
        let place = rows
            .iter()
            .position(|row| row.id == hit.message_id || row.origin == hit.message_id)
            .unwrap_or(0);
        let near = rows
            .iter()
            .skip(place.saturating_sub(1))
            .take(3)
            .map(|row| shown(row, 400))
            .collect::<Vec<_>>();
        Ok(json!({
            "session_id": hit.session_id, "root_session_id": hit.root_session_id, "title": hit.title,
            "source": hit.source, "match_message_id": hit.message_id, "role": hit.role, "snippet": hit.snippet,
            "messages": near, "messages_before": place, "messages_after": rows.len().saturating_sub(place + 1),
        }))
    }

    fn read(&self, name: &str, args: &SessionSearchArgs) -> Result<Value, StoreError> {
        let session = self.store.resolve(name)?;
        let rows = self.store.all(&session)?;
        if let Some(around) = args.around_message_id {
            let window = args.window.unwrap_or(5).clamp(1, 20);
            let place = rows
                .iter()
                .position(|row| row.id.0 == around || row.origin.0 == around)
                .unwrap_or(0);
            let page = rows
                .iter()
                .skip(place.saturating_sub(window))
                .take(2 * window + 1);
            let messages: Vec<Value> = page.map(|row| shown(row, MOST)).collect();
            return Ok(
                json!({"success": true, "mode": "scroll", "session_id": session, "messages": messages}),
            );
        }
        let (first, last) = READ;
        let end = rows.len().saturating_sub(last).max(first.min(rows.len()));
        let beginning: Vec<Value> = rows.iter().take(first).map(|row| shown(row, MOST)).collect();
        let ending: Vec<Value> = rows[end..].iter().map(|row| shown(row, MOST)).collect();
        Ok(json!({
            "success": true, "mode": "read", "session_id": session, "message_count": rows.len(),
            "beginning": beginning, "end": ending,
        }))
    }

    fn browse(&self, limit: u64) -> Result<Value, StoreError> {
        let listed = self.store.list(&ListFilter {
            limit: Some(limit),
            ..ListFilter::default()
        })?;
        Ok(json!({"success": true, "mode": "recent", "results": listed, "count": listed.len()}))
    }
}

fn shown(row: &StoredMessage, most: usize) -> Value {
    let text = row.message.content.text();
    let masked: String = talaria_redact::redact_own(&text).chars().take(most).collect();
    json!({"id": row.origin, "role": row.message.role.as_str(), "content": masked})
}

fn output(args: &SessionSearchArgs, value: &Value) -> ToolOutput {
    let what = args
        .query
        .as_deref()
        .or(args.session_id.as_deref())
        .unwrap_or("recent");
    let count = value["results"].as_array().map_or(0, Vec::len);
    ToolOutput {
        content: value.to_string().into(),
        brief: format!("[session_search] {what:?} -> {count} results"),
        ok: true,
    }
}
