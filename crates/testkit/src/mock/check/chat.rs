//! Chat completions as a strict provider reads them.

use super::{are_arguments, is_blank};
use crate::mock::request::{list, role, text_of};
use serde_json::Value;

const TOP: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "n",
    "stop",
    "seed",
    "user",
    "metadata",
    "response_format",
    "parallel_tool_calls",
    "reasoning_effort",
    "reasoning",
    "presence_penalty",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "service_tier",
    "store",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "verbosity",
    "extra_body",
    "provider",
    "usage",
    "thinking",
    "transforms",
    "models",
    "plugins",
    "prediction",
    "modalities",
];

/// The keys a message of this role may have; `None` for a role that does not exist.
fn keys(role: &str) -> Option<&'static [&'static str]> {
    match role {
        "system" | "developer" | "user" => Some(&["role", "content", "name"]),
        "assistant" => Some(&[
            "role",
            "content",
            "name",
            "tool_calls",
            "refusal",
            "audio",
            "function_call",
            "reasoning_content",
            "reasoning",
            "reasoning_details",
        ]),
        "tool" => Some(&["role", "content", "tool_call_id", "name"]),
        _ => None,
    }
}

pub(super) fn validate(body: &Value, findings: &mut Vec<String>) {
    let messages = list(body, "messages");
    if messages.is_empty() {
        findings.push("shape: no messages".to_owned());
        return;
    }
    let unknown = others(body, TOP);
    if !unknown.is_empty() {
        findings.push(format!("keys: unknown top-level {unknown:?}"));
    }
    let mut reader = Reader {
        findings,
        open: Vec::new(),
        before: "",
        conversation: false,
        last: messages.len() - 1,
    };
    for (index, message) in messages.iter().enumerate() {
        reader.message(index, message);
    }
    let open = std::mem::take(&mut reader.open);
    if !open.is_empty() {
        findings.push(format!("pairing: calls {open:?} have no result at the end"));
    }
    let mut speakers = messages
        .iter()
        .map(role)
        .filter(|role| !matches!(*role, "system" | "developer"))
        .peekable();
    if speakers.peek() == Some(&"assistant") {
        findings.push("start: the first message after the system prompt is from the assistant".to_owned());
    }
    if speakers.peek().is_some() && !speakers.any(|role| role == "user") {
        findings.push("start: no user message at all".to_owned());
    }
}

fn others<'a>(value: &'a Value, known: &[&str]) -> Vec<&'a str> {
    let keys = value.as_object().into_iter().flat_map(|map| map.keys());
    let mut unknown: Vec<&str> = keys
        .map(String::as_str)
        .filter(|key| !known.contains(key))
        .collect();
    unknown.sort_unstable();
    unknown
}

struct Reader<'a> {
    findings: &'a mut Vec<String>,
    /// Calls that wait for their results.
    open: Vec<String>,
    before: &'a str,
    /// Something other than the system prompt was said.
    conversation: bool,
    last: usize,
}

impl<'a> Reader<'a> {
    fn note(&mut self, finding: String) {
        self.findings.push(finding);
    }

    fn message(&mut self, index: usize, message: &'a Value) {
        let role = role(message);
        let Some(known) = keys(role) else {
            return self.note(format!("role: messages[{index}] has role {role:?}"));
        };
        let unknown = others(message, known);
        if !unknown.is_empty() {
            self.note(format!("keys: messages[{index}] ({role}) has {unknown:?}"));
        }
        let content = &message["content"];
        if !(content.is_null() || content.is_string() || content.is_array()) {
            self.note(format!("shape: messages[{index}] content is {content}"));
        }
        if role != "tool" && !self.open.is_empty() {
            let open = std::mem::take(&mut self.open);
            self.note(format!(
                "pairing: calls {open:?} have no result before messages[{index}] ({role})"
            ));
        }
        if role == self.before && matches!(role, "user" | "assistant") {
            self.note(format!(
                "alternation: messages[{}] and [{index}] are both {role}",
                index - 1
            ));
        }
        match role {
            "system" | "developer" if self.conversation => {
                self.note(format!(
                    "role: messages[{index}] is a {role} message in the middle"
                ));
            }
            "user" if is_blank(&text_of(content)) && content.as_array().is_none_or(Vec::is_empty) => {
                self.note(format!("empty: messages[{index}] (user) is empty"));
            }
            "assistant" => self.assistant(index, message),
            "tool" => self.result(index, message),
            _ => {}
        }
        self.conversation |= !matches!(role, "system" | "developer");
        self.before = role;
    }

    fn assistant(&mut self, index: usize, message: &Value) {
        let calls = list(message, "tool_calls");
        if message.get("tool_calls").is_some_and(|value| !value.is_null()) && calls.is_empty() {
            self.note(format!("shape: messages[{index}] has an empty tool_calls"));
        }
        if calls.is_empty() && is_blank(&text_of(&message["content"])) {
            self.note(format!(
                "empty: messages[{index}] (assistant) has neither text nor calls"
            ));
        }
        if index == self.last {
            self.note("end: the last message is from the assistant".to_owned());
        }
        for call in calls {
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            if id.is_empty() {
                self.note(format!("id: messages[{index}] has a call without id"));
            } else if self.open.contains(&id) {
                self.note(format!("id: messages[{index}] has the id {id} twice"));
            }
            if call["function"]["name"].as_str().is_none_or(str::is_empty) {
                self.note(format!("name: messages[{index}] has a call without a name"));
            }
            let arguments = &call["function"]["arguments"];
            if !are_arguments(arguments) {
                let shown: String = arguments.to_string().chars().take(80).collect();
                self.note(format!(
                    "arguments: messages[{index}] call {id}: not a JSON object: {shown}"
                ));
            }
            self.open.push(id);
        }
    }

    fn result(&mut self, index: usize, message: &Value) {
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        match self.open.iter().position(|open| open == id) {
            Some(at) => drop(self.open.remove(at)),
            None => self.note(format!(
                "pairing: messages[{index}] answers {id:?}, which is not an open call"
            )),
        }
    }
}
