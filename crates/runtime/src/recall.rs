//! The tool `recall`: the model asks for hidden originals by the ids that
//! summaries cite, or by words.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use talaria_store::{SearchQuery, SessionStore, StoreError};
use talaria_tools::{Tool, ToolContext, ToolError, ToolOutput};
use talaria_types::{Effect, MessageId, SessionId, StoredMessage};

/// The most characters of one message that are given.
const MOST_OF_ONE: usize = 8_000;
/// The most characters of one answer.
const MOST_IN_ALL: usize = 40_000;

/// Gives original messages of the lineage.
pub(crate) struct Recall {
    pub(crate) store: Arc<dyn SessionStore>,
}

/// What is asked for: ids, or words.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RecallArgs {
    /// Message ids as summaries cite them: 12 for [m:12].
    #[serde(default)]
    ids: Vec<i64>,
    /// Words to look for in the whole conversation, hidden parts included.
    #[serde(default)]
    query: Option<String>,
    /// At most this many messages (10).
    #[serde(default)]
    limit: Option<u64>,
    /// Skip this many.
    #[serde(default)]
    offset: Option<u64>,
}

impl Tool for Recall {
    const NAME: &'static str = "recall";
    const DESCRIPTION: &'static str = "Returns original messages of this conversation that a summary has replaced, \
        by the ids the summary cites ([m:12]) or by words.";
    const EFFECT: Effect = Effect::Read;
    type Args = RecallArgs;

    fn run<'a>(
        &'a self,
        args: RecallArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(self.answer(&args, &cx.session.id())))
    }
}

impl Recall {
    /// The same for a session that is named.
    pub(crate) fn of(
        &self,
        ids: Vec<i64>,
        query: Option<String>,
        limit: Option<u64>,
        session: &str,
    ) -> Result<ToolOutput, ToolError> {
        let args = RecallArgs {
            ids,
            query,
            limit,
            offset: None,
        };
        self.answer(&args, session)
    }

    fn answer(&self, args: &RecallArgs, session: &str) -> Result<ToolOutput, ToolError> {
        let session = SessionId::new(session);
        let limit = args.limit.unwrap_or(10).clamp(1, 50) as usize;
        let offset = args.offset.unwrap_or(0) as usize;
        let failed = |error: StoreError| ToolError::Failed(error.to_string());
        let found = match (&args.query, args.ids.as_slice()) {
            (_, ids) if !ids.is_empty() => self.by_ids(ids).map_err(failed)?,
            (Some(query), _) if !query.trim().is_empty() => self.by_words(query, &session).map_err(failed)?,
            _ => {
                return Err(ToolError::BadArguments(
                    "give ids (as in [m:12]) or a query".to_owned(),
                ));
            }
        };
        let total = found.len();
        let page: Vec<&StoredMessage> = found.iter().skip(offset).take(limit).collect();
        let missing: Vec<String> = args
            .ids
            .iter()
            .filter(|id| !found.iter().any(|row| row.id.0 == **id || row.origin.0 == **id))
            .map(|id| format!("[m:{id}]"))
            .collect();
        let text = render(&page, total, offset, &missing);
        Ok(ToolOutput {
            brief: format!("[recall] {} of {total} messages", page.len()),
            ok: missing.is_empty() || !page.is_empty(),
            content: text.into(),
        })
    }

    fn by_ids(&self, ids: &[i64]) -> Result<Vec<StoredMessage>, StoreError> {
        let ids: Vec<MessageId> = ids.iter().map(|id| MessageId(*id)).collect();
        self.store.recall(&ids)
    }

    /// Messages of the session's own lineage that hold the words.
    fn by_words(&self, query: &str, session: &SessionId) -> Result<Vec<StoredMessage>, StoreError> {
        let query = SearchQuery {
            text: query.to_owned(),
            limit: 200,
            ..SearchQuery::default()
        };
        let lineage = self.store.lineage(session)?;
        let hits = self.store.search_within(&query, &lineage)?.hits;
        let own: Vec<MessageId> = hits.iter().map(|hit| hit.message_id).collect();
        let mut found = self.store.recall(&own)?;
        found.sort_by_key(|row| own.iter().position(|id| *id == row.id));
        Ok(found)
    }
}

fn render(page: &[&StoredMessage], total: usize, offset: usize, missing: &[String]) -> String {
    let mut text = String::new();
    for row in page {
        let body = row.message.content.text();
        let calls: Vec<String> = row
            .message
            .tool_calls
            .iter()
            .map(|call| format!("\n→ {} {}", call.name, call.arguments))
            .collect();
        let whole = format!("{body}{}", calls.concat());
        let masked = talaria_redact::redact_own(&whole);
        let shown: String = masked.chars().take(MOST_OF_ONE).collect();
        let cut = if shown.len() < masked.len() {
            "\n… [cut]"
        } else {
            ""
        };
        let entry = format!(
            "[{}] {}:\n{shown}{cut}\n\n",
            row.origin,
            row.message.role.as_str()
        );
        if text.len() + entry.len() > MOST_IN_ALL {
            text.push_str("… [more messages follow; ask for fewer, or with an offset]\n");
            break;
        }
        text.push_str(&entry);
    }
    if total == 0 && missing.is_empty() {
        text.push_str("No message of this conversation holds these words.\n");
    }
    if total > offset + page.len() {
        text.push_str(&format!(
            "{} more; next offset: {}\n",
            total - offset - page.len(),
            offset + page.len()
        ));
    }
    if !missing.is_empty() {
        text.push_str(&format!("There is no message {}.\n", missing.join(", ")));
    }
    text.trim_end().to_owned()
}
