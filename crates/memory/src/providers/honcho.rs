//! Honcho: a service that reasons about the people of a conversation.
//!
//! The wire is that of its Python SDK, captured (`tests/data/honcho.json`). Workspace, the two peers and
//! the session are made when they are first needed, as the SDK does.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use talaria_types::ToolSpec;

use super::http::{ClientMaker, Service, segment};
use super::mem0::text;
use super::{Call, Exchange, MemoryProvider, MemoryWrite, Opening, ProviderError, Switch, ToolUse, fence};

/// Characters of one message the service takes.
const MESSAGE: usize = 25_000;

/// The service, and who talks.
pub(crate) struct Honcho {
    service: Service,
    workspace: String,
    user: String,
    agent: String,
    /// What is known to exist there.
    made: Mutex<HashSet<String>>,
}

/// Who is meant on the other side.
pub(crate) struct Names {
    pub(crate) workspace: String,
    pub(crate) user: String,
    pub(crate) agent: String,
}

impl Honcho {
    /// The service at `base`; without a key for one's own server.
    pub(crate) fn new(base: &str, key: Option<&str>, names: &Names, maker: ClientMaker) -> Self {
        let headers = key.map(|key| ("authorization", format!("Bearer {key}")));
        Self {
            service: Service::new("honcho", base, headers.into_iter().collect(), maker),
            workspace: segment(&names.workspace),
            user: segment(&names.user),
            agent: segment(&names.agent),
            made: Mutex::default(),
        }
    }

    fn in_workspace(&self, rest: &str) -> String {
        format!("/v3/workspaces/{}{rest}", self.workspace)
    }

    fn of_agent(&self, what: &str) -> String {
        self.in_workspace(&format!("/peers/{}/{what}", self.agent))
    }

    /// Makes something once.
    async fn make(&self, name: String, path: &str, body: Value) -> Result<(), ProviderError> {
        if self
            .made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&name)
        {
            return Ok(());
        }
        self.service.post(path, &body).await?;
        self.made
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name);
        Ok(())
    }

    /// Workspace and peers.
    async fn people(&self) -> Result<(), ProviderError> {
        self.make(String::new(), "/v3/workspaces", json!({"id": self.workspace}))
            .await?;
        for peer in [&self.user, &self.agent] {
            let path = self.in_workspace("/peers");
            self.make(format!("peer {peer}"), &path, json!({"id": peer}))
                .await?;
        }
        Ok(())
    }

    /// The session, both peers in it.
    async fn session(&self, id: &str) -> Result<String, ProviderError> {
        self.people().await?;
        let id = segment(id);
        let path = self.in_workspace("/sessions");
        self.make(format!("session {id}"), &path, json!({"id": id}))
            .await?;
        let path = self.in_workspace(&format!("/sessions/{id}/peers"));
        let mut peers = serde_json::Map::new();
        peers.insert(self.user.clone(), json!({}));
        peers.insert(self.agent.clone(), json!({}));
        self.make(format!("peers of {id}"), &path, Value::Object(peers))
            .await?;
        Ok(id)
    }

    async fn context(&self, query: Option<&str>) -> Result<Value, ProviderError> {
        self.people().await?;
        let mut pairs = vec![("target", self.user.as_str())];
        pairs.extend(query.map(|query| ("search_query", query)));
        self.service.get(&self.of_agent("context"), &pairs).await
    }

    async fn conclude(&self, fact: &str, session: Option<&str>) -> Result<(), ProviderError> {
        self.people().await?;
        let mut conclusion = json!({"observer_id": self.agent, "observed_id": self.user, "content": fact});
        if let Some(session) = session {
            conclusion["session_id"] = self.session(session).await?.into();
        }
        let path = self.in_workspace("/conclusions");
        self.service
            .post(&path, &json!({"conclusions": [conclusion]}))
            .await?;
        Ok(())
    }

    async fn tool(&self, call: &ToolUse) -> Result<Value, ProviderError> {
        let args = &call.arguments;
        match call.name.as_str() {
            "honcho_profile" => {
                self.people().await?;
                let pairs = [("target", self.user.as_str())];
                let card = self.service.get(&self.of_agent("card"), &pairs).await?;
                Ok(json!({"result": card["peer_card"]}))
            }
            "honcho_search" => {
                self.people().await?;
                let body = json!({"target": self.user, "search_query": text(args, "query")?});
                let found = self.service.post(&self.of_agent("representation"), &body).await?;
                Ok(json!({"result": found["representation"]}))
            }
            "honcho_reasoning" => {
                let session = self.session(&call.session_id).await?;
                let level = args["reasoning_level"].as_str().unwrap_or("low");
                let body = json!({
                    "query": text(args, "query")?, "stream": false, "target": self.user,
                    "session_id": session, "reasoning_level": level
                });
                let answer = self.service.post(&self.of_agent("chat"), &body).await?;
                Ok(json!({"result": answer["content"]}))
            }
            "honcho_context" => {
                let context = self.context(args["query"].as_str()).await?;
                Ok(json!({"representation": context["representation"], "card": context["peer_card"]}))
            }
            "honcho_conclude" => {
                self.conclude(text(args, "conclusion")?, Some(&call.session_id))
                    .await?;
                Ok(json!({"result": "Conclusion saved."}))
            }
            other => Err(ProviderError::BadCall(format!("honcho has no tool {other}"))),
        }
    }
}

impl MemoryProvider for Honcho {
    fn name(&self) -> &'static str {
        "honcho"
    }

    fn tool_schemas(&self) -> Vec<ToolSpec> {
        let query =
            json!({"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]});
        let nothing = json!({"type": "object", "properties": {}});
        let tool = |name: &str, description: &str, parameters: &Value| ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: parameters.clone(),
        };
        let reasoning = json!({"type": "object", "properties": {
            "query": {"type": "string"},
            "reasoning_level": {"type": "string", "enum": ["minimal", "low", "medium", "high", "max"]}
        }, "required": ["query"]});
        let conclusion = json!({"type": "object", "properties": {"conclusion": {"type": "string"}}, "required": ["conclusion"]});
        let context = json!({"type": "object", "properties": {"query": {"type": "string"}}});
        vec![
            tool("honcho_profile", "Key facts about the user, at once", &nothing),
            tool(
                "honcho_search",
                "Search what is known about the user by meaning",
                &query,
            ),
            tool(
                "honcho_reasoning",
                "Ask a question about the user; slow, reasons over everything",
                &reasoning,
            ),
            tool(
                "honcho_context",
                "What is known about the user, all of it or about a query",
                &context,
            ),
            tool(
                "honcho_conclude",
                "Save one conclusion about the user",
                &conclusion,
            ),
        ]
    }

    fn system_prompt_block(&self) -> String {
        "# Honcho memory\nWhat is known about the user is recalled by itself. honcho_search and honcho_context look \
         for more, honcho_reasoning answers a question about them, honcho_conclude saves a conclusion."
            .to_owned()
    }

    fn initialize<'a>(&'a self, opening: &'a Opening) -> Call<'a> {
        Box::pin(async move { self.session(&opening.session_id).await.map(drop) })
    }

    fn prefetch<'a>(&'a self, query: &'a str, _session: &'a str) -> Call<'a, String> {
        Box::pin(async move {
            let query = fence::cut(query.trim(), 2_000);
            let context = self
                .context(Some(&*query).filter(|query| !query.is_empty()))
                .await?;
            let card = context["peer_card"].as_array().map_or(&[][..], Vec::as_slice);
            let card: Vec<&str> = card.iter().filter_map(Value::as_str).collect();
            let known = context["representation"].as_str().unwrap_or_default();
            Ok(format!("{}\n\n{known}", card.join("\n")).trim().to_owned())
        })
    }

    fn sync_turn<'a>(&'a self, turn: &'a Exchange) -> Call<'a> {
        Box::pin(async move {
            let session = self.session(&turn.session_id).await?;
            let message =
                |peer: &str, text: &str| json!({"content": fence::cut(text, MESSAGE - 10), "peer_id": peer});
            let messages = [
                message(&self.user, &turn.user),
                message(&self.agent, &turn.assistant),
            ];
            let path = self.in_workspace(&format!("/sessions/{session}/messages"));
            self.service
                .post(&path, &json!({"messages": messages}))
                .await
                .map(drop)
        })
    }

    fn on_session_switch<'a>(&'a self, switch: &'a Switch) -> Call<'a> {
        Box::pin(async move { self.session(&switch.session_id).await.map(drop) })
    }

    fn on_memory_write<'a>(&'a self, write: &'a MemoryWrite) -> Call<'a> {
        Box::pin(async move {
            // What is written about the person is a conclusion; notes of the agent are its own.
            if write.target == "user" && write.action != "remove" {
                self.conclude(&write.content, None).await?;
            }
            Ok(())
        })
    }

    fn handle_tool_call<'a>(&'a self, call: &'a ToolUse) -> Call<'a, Value> {
        Box::pin(self.tool(call))
    }
}
