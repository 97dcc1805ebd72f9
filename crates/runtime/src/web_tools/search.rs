//! The tool `web_search`.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use talaria_tools::{Tool, ToolContext, ToolError, ToolOutput, untrusted};
use talaria_types::Effect;
use talaria_web::{Hit, Search};

use super::title;

/// Searches the web.
pub(crate) struct WebSearch {
    pub(crate) search: Search,
}

/// What is searched for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WebSearchArgs {
    /// The words.
    query: String,
    /// At most this many results (5; most 100).
    #[serde(default)]
    limit: Option<usize>,
}

impl Tool for WebSearch {
    const NAME: &'static str = "web_search";
    const DESCRIPTION: &'static str = "Searches the web; gives titles, addresses and descriptions. Read a page with \
        web_extract.";
    const EFFECT: Effect = Effect::Read;
    type Args = WebSearchArgs;

    fn run<'a>(
        &'a self,
        args: WebSearchArgs,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let query = args.query.trim();
            if query.is_empty() {
                return Err(ToolError::BadArguments(
                    "query is empty; give words to search for".to_owned(),
                ));
            }
            let limit = args.limit.unwrap_or(5).clamp(1, 100);
            let found = tokio::select! {
                found = self.search.search(query, limit) => found,
                () = cx.cancel.cancelled() => return Err(ToolError::Interrupted),
            };
            let hits = found.map_err(|error| ToolError::Failed(error.to_string()))?;
            let brief = format!("[web_search] {query:?} -> {} results", hits.len());
            let web: Vec<Value> = hits.iter().map(shown).collect();
            Ok(ToolOutput::json(
                &json!({"success": true, "data": {"web": web}}),
                brief,
            ))
        })
    }
}

/// A result; what its page says is framed.
fn shown(hit: &Hit) -> Value {
    json!({
        "title": title(&hit.title),
        "url": hit.url,
        "description": untrusted::wrap(&hit.url, &format!("{}\n{}", hit.title, hit.description)),
        "position": hit.position,
    })
}
