//! Any program as a provider, over JSON-RPC on its standard input and output.
//!
//! The wire is in `docs/memory-providers.md`. A program answers the calls it cares for; one it refuses as
//! unknown is not made again.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use talaria_peer::{Opening as Handshake, Peer, Program, Quiet};
use talaria_types::ToolSpec;

use super::{
    Call, Delegation, Exchange, MemoryProvider, MemoryWrite, Opening, ProviderError, Said, Switch, ToolUse,
};

/// The version of the wire.
const PROTOCOL: u64 = 1;
/// The caller bounds every call; this one only ends what nobody waits for any more.
const LONGEST: Duration = Duration::from_secs(120);
/// The time for the program's first answer.
const FIRST: Duration = Duration::from_secs(30);
/// The time the program has to end by itself.
const GRACE: Duration = Duration::from_millis(500);
/// Tools of one program at most.
const TOOLS: usize = 32;

/// A program that remembers.
pub(crate) struct Process {
    program: Program,
    /// Made anew after a shutdown.
    peer: Mutex<Option<Peer>>,
    opening: Mutex<Opening>,
    unknown: Mutex<HashSet<&'static str>>,
    described: Mutex<Described>,
}

/// What the program says of itself.
#[derive(Clone, Default)]
struct Described {
    tools: Vec<ToolSpec>,
    block: String,
}

impl Process {
    /// The provider that `program` is; `opening` says where it runs, without a session yet.
    pub(crate) fn new(program: Program, opening: Opening) -> Self {
        Self {
            program: program.named("memory program"),
            peer: Mutex::new(None),
            opening: Mutex::new(opening),
            unknown: Mutex::default(),
            described: Mutex::default(),
        }
    }

    fn peer(&self) -> Peer {
        let mut peer = lock(&self.peer);
        let peer = peer.get_or_insert_with(|| Peer::new(self.program.clone(), Quiet));
        // A program that is started again hears first where it is.
        peer.opens_with(Handshake {
            method: "initialize".to_owned(),
            params: self.introduction(),
            within: FIRST,
        });
        peer.clone()
    }

    fn introduction(&self) -> Value {
        let mut params = json!(&*lock(&self.opening));
        params["protocol"] = PROTOCOL.into();
        params
    }

    /// Makes a call that the program need not know.
    async fn ask(&self, method: &'static str, params: Value) -> Result<Value, ProviderError> {
        if lock(&self.unknown).contains(method) {
            return Ok(Value::Null);
        }
        match self.peer().call(method, params, LONGEST).await {
            Err(error) if error.is_unknown_method() => {
                lock(&self.unknown).insert(method);
                Ok(Value::Null)
            }
            answer => Ok(answer?),
        }
    }

    async fn tell(&self, method: &'static str, params: Value) -> Result<(), ProviderError> {
        self.ask(method, params).await.map(drop)
    }

    async fn text(&self, method: &'static str, params: Value) -> Result<String, ProviderError> {
        let answer = self.ask(method, params).await?;
        // A bare text, or one in an object.
        let text = answer.as_str().or_else(|| answer["text"].as_str());
        Ok(text.unwrap_or_default().to_owned())
    }
}

impl MemoryProvider for Process {
    fn name(&self) -> &'static str {
        "process"
    }

    fn connect(&self) -> Call<'_> {
        Box::pin(async {
            let peer = self.peer();
            peer.connect().await?;
            *lock(&self.described) = described(&peer.greeting());
            Ok(())
        })
    }

    fn tool_schemas(&self) -> Vec<ToolSpec> {
        lock(&self.described).tools.clone()
    }

    fn system_prompt_block(&self) -> String {
        lock(&self.described).block.clone()
    }

    fn initialize<'a>(&'a self, opening: &'a Opening) -> Call<'a> {
        lock(&self.opening).clone_from(opening);
        Box::pin(self.tell("initialize", self.introduction()))
    }

    fn on_turn_start<'a>(&'a self, number: u64, message: &'a str, session: &'a str) -> Call<'a> {
        let params = json!({"turn_number": number, "message": message, "session_id": session});
        Box::pin(self.tell("on_turn_start", params))
    }

    fn prefetch<'a>(&'a self, query: &'a str, session: &'a str) -> Call<'a, String> {
        Box::pin(self.text("prefetch", json!({"query": query, "session_id": session})))
    }

    fn queue_prefetch<'a>(&'a self, query: &'a str, session: &'a str) -> Call<'a> {
        Box::pin(self.tell("queue_prefetch", json!({"query": query, "session_id": session})))
    }

    fn sync_turn<'a>(&'a self, turn: &'a Exchange) -> Call<'a> {
        Box::pin(self.tell("sync_turn", json!(turn)))
    }

    fn on_session_end<'a>(&'a self, session: &'a str, messages: &'a [Said]) -> Call<'a> {
        Box::pin(self.tell(
            "on_session_end",
            json!({"session_id": session, "messages": messages}),
        ))
    }

    fn on_session_switch<'a>(&'a self, switch: &'a Switch) -> Call<'a> {
        {
            let mut opening = lock(&self.opening);
            opening.session_id.clone_from(&switch.session_id);
            opening.parent_session_id = Some(switch.parent_session_id.clone());
        }
        Box::pin(self.tell("on_session_switch", json!(switch)))
    }

    fn on_pre_compress<'a>(&'a self, session: &'a str, messages: &'a [Said]) -> Call<'a, String> {
        Box::pin(self.text(
            "on_pre_compress",
            json!({"session_id": session, "messages": messages}),
        ))
    }

    fn on_memory_write<'a>(&'a self, write: &'a MemoryWrite) -> Call<'a> {
        Box::pin(self.tell("on_memory_write", json!(write)))
    }

    fn on_delegation<'a>(&'a self, delegation: &'a Delegation) -> Call<'a> {
        Box::pin(self.tell("on_delegation", json!(delegation)))
    }

    fn handle_tool_call<'a>(&'a self, call: &'a ToolUse) -> Call<'a, Value> {
        let params = json!({"name": call.name, "arguments": call.arguments, "session_id": call.session_id});
        Box::pin(async move { Ok(self.peer().call("handle_tool_call", params, LONGEST).await?) })
    }

    fn shutdown(&self) -> Call<'_> {
        Box::pin(async {
            let peer = lock(&self.peer).take();
            if let Some(peer) = peer {
                if peer.runs() {
                    let _ = peer.call("shutdown", Value::Null, GRACE).await;
                }
                peer.stop(GRACE).await;
            }
            Ok(())
        })
    }
}

/// Reads the answer to `initialize`; what is not understood is left out.
fn described(greeting: &Value) -> Described {
    let tools = greeting["tools"].as_array().map_or(&[][..], Vec::as_slice);
    let tools = tools.iter().filter_map(|tool| {
        // As OpenAI writes them, or bare.
        let tool = tool.get("function").unwrap_or(tool);
        let name = tool["name"].as_str().filter(|name| is_tool_name(name))?;
        let schema = tool.get("parameters").or_else(|| tool.get("input_schema"));
        Some(ToolSpec {
            name: name.to_owned(),
            description: tool["description"].as_str().unwrap_or_default().to_owned(),
            parameters: schema
                .filter(|schema| schema.is_object())
                .cloned()
                .unwrap_or_else(|| json!({"type": "object", "properties": {}})),
        })
    });
    Described {
        tools: tools.take(TOOLS).collect(),
        block: greeting["system_prompt_block"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// What every provider of models takes as a name.
fn is_tool_name(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    (1..=64).contains(&name.len()) && name.chars().all(plain)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
