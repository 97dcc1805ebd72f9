//! Whether each request of a conversation starts with all the messages of the one before.
//!
//! The server does not know sessions; it tells conversations apart by what they were opened with: the
//! protocol, the client's key, the model and the first thing the person said. A summary request
//! between two requests starts the comparison anew, as does an answer that was an error (its repair
//! may differ). A review of a conversation starts with its messages too; the conversation itself goes on
//! without it. A test whose turn takes scaffolding back says so with `allowing("prefix")`.

use crate::mock::request::{Api, list, text_of};
use serde_json::{Value, json};
use std::collections::HashMap;

/// What of a request is compared.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    conversation: (Api, String, String, String),
    system: Value,
    tools: Value,
    messages: Vec<Value>,
    /// It looks back at the conversation: it starts with its bytes and goes on elsewhere.
    branch: bool,
}

/// How the question begins that a review asks behind a conversation.
const REVIEW: &str = "Review the conversation above";

/// The newest request of each conversation.
#[derive(Debug, Default)]
pub(crate) struct Prefixes {
    newest: HashMap<(Api, String, String, String), Sent>,
}

impl Sent {
    /// Takes the compared parts of a request of the conversation, cache marks aside.
    pub(crate) fn of(api: Api, key: &str, body: &Value) -> Sent {
        let messages: Vec<Value> = match api {
            Api::Chat | Api::Messages => list(body, "messages"),
            Api::Responses => list(body, "input"),
            Api::Gemini => list(body, "contents"),
        }
        .iter()
        .map(plain)
        .collect();
        let opened = messages.iter().find(|message| message["role"] == "user");
        let opening = opened
            .map(|message| text_of(&message["content"]) + &text_of(&message["parts"]))
            .unwrap_or_default();
        let model = body["model"].as_str().unwrap_or_default().to_owned();
        let system = ["system", "instructions", "systemInstruction"]
            .iter()
            .find_map(|key| body.get(*key));
        let text = |message: &Value| text_of(&message["content"]) + &text_of(&message["parts"]);
        let review = messages
            .iter()
            .rposition(|message| message["role"] == "user" && text(message).starts_with(REVIEW));
        let kept = review.unwrap_or(messages.len());
        Sent {
            branch: review.is_some(),
            conversation: (api, key.to_owned(), model, opening),
            system: system.map_or(Value::Null, plain),
            tools: plain(&body["tools"]),
            messages: messages.into_iter().take(kept).collect(),
        }
    }
}

impl Prefixes {
    /// What is wrong with this request seen from the one before it.
    pub(crate) fn compare(&self, sent: &Sent) -> Option<String> {
        let before = self.newest.get(&sent.conversation)?;
        if before.tools != sent.tools {
            return Some("prefix: the tools differ from those of the request before".to_owned());
        }
        if before.system != sent.system {
            return Some("prefix: the system prompt differs from that of the request before".to_owned());
        }
        let pairs = before.messages.iter().zip(&sent.messages).enumerate();
        for (index, (old, new)) in pairs {
            if old != new {
                return Some(format!(
                    "prefix: message {index} changed from {} to {}",
                    shown(old),
                    shown(new)
                ));
            }
        }
        (!sent.branch && before.messages.len() > sent.messages.len()).then(|| {
            format!(
                "prefix: only {} of {} messages are left",
                sent.messages.len(),
                before.messages.len()
            )
        })
    }

    /// Remembers a request that was accepted.
    pub(crate) fn accept(&mut self, sent: Sent) {
        if !sent.branch {
            self.newest.insert(sent.conversation.clone(), sent);
        }
    }

    /// Forgets a conversation: its newest request was refused, and the repair may differ.
    pub(crate) fn forget(&mut self, sent: &Sent) {
        self.newest.remove(&sent.conversation);
    }

    /// Forgets everything: a compression begins.
    pub(crate) fn forget_all(&mut self) {
        self.newest.clear();
    }
}

fn shown(value: &Value) -> String {
    value.to_string().chars().take(160).collect()
}

/// The value without cache marks; a content that is one string and one that is a single text block are the same.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| *key != "cache_control")
            .map(|(key, inner)| {
                let inner = match inner {
                    Value::String(text) if key == "content" => json!([{"type": "text", "text": text}]),
                    other => plain(other),
                };
                (key.clone(), inner)
            })
            .collect(),
        Value::Array(list) => list.iter().map(plain).collect(),
        other => other.clone(),
    }
}
