//! Facts in the home's own database: works with no service and asks no model.
//!
//! The model stores and finds facts with a tool; what the person asks to be remembered in plain words, and
//! what the curated memory is told, becomes a fact by itself. Recall is by words, ranked by how well they
//! match, how new a fact is, and whether it was found useful.

mod facts;
mod words;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use talaria_types::ToolSpec;

use self::facts::{Change, Fact, Facts, New};
use super::mem0::text;
use super::{Call, Exchange, MemoryProvider, MemoryWrite, ProviderError, ToolUse};

/// Facts that are recalled for a turn.
const RECALLED: usize = 5;
/// A fact that was so often found wrong is not recalled by itself any more.
const TRUSTED: f64 = 0.3;
/// Characters of one fact.
const LONGEST: usize = 2_000;

/// The facts of a home.
pub(crate) struct Local {
    path: PathBuf,
    facts: Arc<Mutex<Option<Facts>>>,
}

impl Local {
    /// The facts in the database `path`; opened when it is connected.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            facts: Arc::default(),
        }
    }

    /// Does something with the facts where blocking is allowed.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Facts) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, ProviderError> {
        let (facts, path) = (self.facts.clone(), self.path.clone());
        let done = tokio::task::spawn_blocking(move || {
            let mut facts = facts.lock().unwrap_or_else(PoisonError::into_inner);
            let facts = match &mut *facts {
                Some(facts) => facts,
                none => none.insert(Facts::open(&path)?),
            };
            work(facts)
        });
        let failed = |source| ProviderError::Facts {
            path: self.path.display().to_string(),
            source,
        };
        match done.await {
            Ok(result) => result.map_err(failed),
            Err(_) => Err(ProviderError::Service(
                "the facts could not be worked on".to_owned(),
            )),
        }
    }

    async fn add(
        &self,
        content: &str,
        session: &str,
        origin: &'static str,
    ) -> Result<(i64, bool), ProviderError> {
        let new = New {
            content: content.trim().chars().take(LONGEST).collect(),
            category: "general".to_owned(),
            tags: String::new(),
            session: session.to_owned(),
            origin,
        };
        self.with(move |facts| facts.add(&new, now())).await
    }

    async fn store(&self, call: &ToolUse) -> Result<Value, ProviderError> {
        let args = &call.arguments;
        let limit = args["limit"].as_u64().unwrap_or(10).clamp(1, 50) as usize;
        let category = args["category"].as_str().map(str::to_owned);
        match args["action"].as_str().unwrap_or_default() {
            "add" => {
                let new = New {
                    content: text(args, "content")?.chars().take(LONGEST).collect(),
                    category: category.unwrap_or_else(|| "general".to_owned()),
                    tags: args["tags"].as_str().unwrap_or_default().to_owned(),
                    session: call.session_id.clone(),
                    origin: "tool",
                };
                let (id, added) = self.with(move |facts| facts.add(&new, now())).await?;
                Ok(json!({"fact_id": id, "status": if added { "added" } else { "already known" }}))
            }
            "search" => {
                let query = text(args, "query")?.to_owned();
                let found = self
                    .with(move |facts| facts.search(&query, 0.0, limit, now()))
                    .await?;
                Ok(listed(&found))
            }
            "list" => {
                let found = self
                    .with(move |facts| facts.list(category.as_deref(), limit))
                    .await?;
                Ok(listed(&found))
            }
            "update" => {
                let id = id(args)?;
                let change = Change {
                    content: args["content"].as_str().map(str::to_owned),
                    category,
                    tags: args["tags"].as_str().map(str::to_owned),
                };
                let changed = self.with(move |facts| facts.update(id, &change, now())).await?;
                Ok(json!({"fact_id": id, "updated": changed}))
            }
            "remove" => {
                let id = id(args)?;
                let removed = self.with(move |facts| facts.remove(id)).await?;
                Ok(json!({"fact_id": id, "removed": removed}))
            }
            other => Err(ProviderError::BadCall(format!(
                "fact_store has no action {other:?}: add, search, list, update or remove"
            ))),
        }
    }

    async fn feedback(&self, call: &ToolUse) -> Result<Value, ProviderError> {
        let id = id(&call.arguments)?;
        let helpful = match call.arguments["action"].as_str() {
            Some("helpful") => true,
            Some("unhelpful") => false,
            _ => {
                return Err(ProviderError::BadCall(
                    "action is helpful or unhelpful".to_owned(),
                ));
            }
        };
        match self.with(move |facts| facts.judge(id, helpful)).await? {
            Some(trust) => Ok(json!({"fact_id": id, "trust": trust})),
            None => Err(ProviderError::BadCall(format!("there is no fact {id}"))),
        }
    }
}

impl MemoryProvider for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn is_outside(&self) -> bool {
        false
    }

    fn connect(&self) -> Call<'_> {
        Box::pin(self.with(|_| Ok(())))
    }

    fn tool_schemas(&self) -> Vec<ToolSpec> {
        vec![
            ToolSpec {
                name: "fact_store".to_owned(),
                description:
                    "Durable facts, found again in any session: add what will matter, search before you ask"
                        .to_owned(),
                parameters: json!({"type": "object", "properties": {
                    "action": {"type": "string", "enum": ["add", "search", "list", "update", "remove"]},
                    "content": {"type": "string"}, "query": {"type": "string"},
                    "fact_id": {"type": "integer"}, "category": {"type": "string"},
                    "tags": {"type": "string"}, "limit": {"type": "integer"}
                }, "required": ["action"]}),
            },
            ToolSpec {
                name: "fact_feedback".to_owned(),
                description: "Say whether a fact helped or was wrong".to_owned(),
                parameters: json!({"type": "object", "properties": {
                    "action": {"type": "string", "enum": ["helpful", "unhelpful"]},
                    "fact_id": {"type": "integer"}
                }, "required": ["action", "fact_id"]}),
            },
        ]
    }

    fn system_prompt_block(&self) -> String {
        "# Fact store\nFacts from earlier sessions that fit a message come with it. fact_store finds, adds and mends \
         more; say with fact_feedback when one helped or was wrong."
            .to_owned()
    }

    fn prefetch<'a>(&'a self, query: &'a str, _session: &'a str) -> Call<'a, String> {
        let query = query.to_owned();
        Box::pin(async move {
            let found = self
                .with(move |facts| facts.recall(&query, TRUSTED, RECALLED, now()))
                .await?;
            let lines = found
                .iter()
                .map(|fact| format!("- [fact {}] {}", fact.id, fact.content));
            Ok(lines.collect::<Vec<_>>().join("\n"))
        })
    }

    fn sync_turn<'a>(&'a self, turn: &'a Exchange) -> Call<'a> {
        Box::pin(async move {
            for fact in words::asked_to_remember(&turn.user) {
                self.add(&fact, &turn.session_id, "turn").await?;
            }
            Ok(())
        })
    }

    fn on_memory_write<'a>(&'a self, write: &'a MemoryWrite) -> Call<'a> {
        let session = write.metadata["session_id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        Box::pin(async move {
            if let Some(old) = write.metadata["old_text"]
                .as_str()
                .filter(|old| !old.trim().is_empty())
            {
                let old = old.to_owned();
                self.with(move |facts| facts.forget_mirrored(&old)).await?;
            }
            if write.action != "remove" && !write.content.trim().is_empty() {
                self.add(&write.content, &session, "memory").await?;
            }
            Ok(())
        })
    }

    fn handle_tool_call<'a>(&'a self, call: &'a ToolUse) -> Call<'a, Value> {
        Box::pin(async move {
            match call.name.as_str() {
                "fact_store" => self.store(call).await,
                "fact_feedback" => self.feedback(call).await,
                other => Err(ProviderError::BadCall(format!("local has no tool {other}"))),
            }
        })
    }
}

fn listed(facts: &[Fact]) -> Value {
    json!({"count": facts.len(), "facts": facts})
}

fn id(args: &Value) -> Result<i64, ProviderError> {
    let missing = || ProviderError::BadCall("fact_id is missing: search gives it".to_owned());
    args["fact_id"].as_i64().ok_or_else(missing)
}

fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |since| since.as_secs_f64())
}
