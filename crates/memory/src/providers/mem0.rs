//! Mem0: a service that takes facts out of conversations by itself.
//!
//! The wire is that of its Python SDK, captured (`tests/data/mem0.json`). What stays here: whom the facts
//! belong to.

use serde_json::{Value, json};
use talaria_types::ToolSpec;

use super::http::{ClientMaker, Service};
use super::{Call, Exchange, MemoryProvider, ProviderError, ToolUse};

/// Memories that are recalled for a turn.
const RECALLED: u64 = 5;
/// Memories of a profile.
const PROFILE: &str = "50";

/// The service, and whose memories are meant.
pub(crate) struct Mem0 {
    service: Service,
    user: String,
    agent: String,
}

impl Mem0 {
    /// The service at `base` for `key`; memories of `user`, written by `agent`.
    pub(crate) fn new(base: &str, key: &str, (user, agent): (String, String), maker: ClientMaker) -> Self {
        let headers = vec![("authorization", format!("Token {key}"))];
        Self {
            service: Service::new("mem0", base, headers, maker),
            user,
            agent,
        }
    }

    async fn search(&self, query: &str, top_k: u64, rerank: bool) -> Result<Vec<Value>, ProviderError> {
        let mut body = json!({"query": query.trim(), "filters": {"user_id": self.user}, "top_k": top_k});
        if rerank {
            body["rerank"] = true.into();
        }
        let answer = self.service.post("/v3/memories/search/", &body).await?;
        Ok(results(&answer))
    }

    async fn add(&self, messages: Value, infer: bool) -> Result<Value, ProviderError> {
        let mut body =
            json!({"messages": messages, "filters": {"user_id": self.user, "agent_id": self.agent}});
        if !infer {
            body["infer"] = false.into();
        }
        self.service.post("/v3/memories/add/", &body).await
    }

    async fn tool(&self, call: &ToolUse) -> Result<Value, ProviderError> {
        let args = &call.arguments;
        match call.name.as_str() {
            "mem0_profile" => {
                let path = format!("/v3/memories/?page=1&page_size={PROFILE}");
                let body = json!({"filters": {"user_id": self.user}});
                let found = results(&self.service.post(&path, &body).await?);
                Ok(json!({"count": found.len(), "result": lines(&found)}))
            }
            "mem0_search" => {
                let query = text(args, "query")?;
                let top_k = args["top_k"].as_u64().unwrap_or(10).clamp(1, 50);
                let rerank = args["rerank"].as_bool().unwrap_or(false);
                let found = self.search(query, top_k, rerank).await?;
                let one = |memory: &Value| json!({"memory": memory["memory"], "score": memory["score"]});
                Ok(json!({"count": found.len(), "results": found.iter().map(one).collect::<Vec<_>>()}))
            }
            "mem0_conclude" => {
                let fact = text(args, "conclusion")?;
                self.add(json!([{"role": "user", "content": fact}]), false)
                    .await?;
                Ok(json!({"result": "Fact stored."}))
            }
            other => Err(ProviderError::BadCall(format!("mem0 has no tool {other}"))),
        }
    }
}

impl MemoryProvider for Mem0 {
    fn name(&self) -> &'static str {
        "mem0"
    }

    fn tool_schemas(&self) -> Vec<ToolSpec> {
        let tool = |name: &str, description: &str, parameters| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
        };
        vec![
            tool(
                "mem0_profile",
                "All that is remembered about the user",
                json!({"type": "object", "properties": {}}),
            ),
            tool(
                "mem0_search",
                "Search what is remembered by meaning",
                json!({"type": "object", "properties": {
                    "query": {"type": "string"}, "top_k": {"type": "integer"}, "rerank": {"type": "boolean"}
                }, "required": ["query"]}),
            ),
            tool(
                "mem0_conclude",
                "Store one durable fact about the user, word for word",
                json!({"type": "object", "properties": {"conclusion": {"type": "string"}}, "required": ["conclusion"]}),
            ),
        ]
    }

    fn system_prompt_block(&self) -> String {
        "# Mem0 memory\nFacts about the user are kept and recalled by themselves. mem0_search looks for more, \
         mem0_conclude stores one, mem0_profile lists them."
            .to_owned()
    }

    fn prefetch<'a>(&'a self, query: &'a str, _session: &'a str) -> Call<'a, String> {
        Box::pin(async move {
            if query.trim().is_empty() {
                return Ok(String::new());
            }
            let found = self.search(query, RECALLED, false).await?;
            Ok(lines(&found))
        })
    }

    fn sync_turn<'a>(&'a self, turn: &'a Exchange) -> Call<'a> {
        let messages = json!([
            {"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.assistant}
        ]);
        Box::pin(async move { self.add(messages, true).await.map(drop) })
    }

    fn handle_tool_call<'a>(&'a self, call: &'a ToolUse) -> Call<'a, Value> {
        Box::pin(self.tool(call))
    }
}

fn results(answer: &Value) -> Vec<Value> {
    let list = answer.get("results").unwrap_or(answer);
    list.as_array().cloned().unwrap_or_default()
}

fn lines(memories: &[Value]) -> String {
    let texts = memories.iter().filter_map(|memory| memory["memory"].as_str());
    texts
        .map(|text| format!("- {text}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A text the model has to give.
pub(super) fn text<'a>(args: &'a Value, name: &str) -> Result<&'a str, ProviderError> {
    let text = args[name].as_str().map(str::trim).filter(|text| !text.is_empty());
    text.ok_or_else(|| ProviderError::BadCall(format!("{name} is missing: give it as a text")))
}
