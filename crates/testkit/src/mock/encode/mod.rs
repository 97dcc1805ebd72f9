//! Answers in the words of each protocol: one JSON object, or the events of a stream.

mod chat;
mod gemini;
mod messages;
mod responses;

use crate::mock::{answer::Answer, request::Api};
use serde_json::{Map, Value, json};

/// The answer as one JSON object.
pub(crate) fn object(api: Api, answer: &Answer, now: u64) -> Value {
    match api {
        Api::Chat => chat::object(answer, now),
        Api::Messages => messages::object(answer),
        Api::Responses => responses::object(answer, now),
        Api::Gemini => gemini::object(answer),
    }
}

/// The answer as the events of a stream, each a complete block of lines.
pub(crate) fn events(api: Api, answer: &Answer, now: u64) -> Vec<String> {
    match api {
        Api::Chat => chat::events(answer, now),
        Api::Messages => messages::events(answer),
        Api::Responses => responses::events(answer, now),
        Api::Gemini => gemini::events(answer),
    }
}

/// One event of a stream.
fn event(name: Option<&str>, data: &Value) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{name}data: {data}\n\n")
}

/// The object with these members added.
fn with(mut object: Value, members: &Map<String, Value>) -> Value {
    if let Value::Object(map) = &mut object {
        map.extend(members.clone());
    }
    object
}

/// The parts of a scripted error: its message, and its other fields.
fn parts(error: &Value, fallback: &str) -> (String, Map<String, Value>) {
    match error {
        Value::Object(map) => {
            let message = map.get("message").and_then(Value::as_str).unwrap_or(fallback);
            (message.to_owned(), map.clone())
        }
        Value::String(text) if !text.is_empty() => (text.clone(), Map::new()),
        _ => (fallback.to_owned(), Map::new()),
    }
}

/// The body of an HTTP error.
pub(crate) fn error_body(api: Api, status: u16, error: &Value) -> Value {
    let (message, fields) = parts(error, &format!("mock error {status}"));
    let field = |name: &str, usual: Value| fields.get(name).cloned().unwrap_or(usual);
    match api {
        Api::Messages => {
            json!({"type": "error", "error": {"type": field("type", json!("api_error")), "message": message}})
        }
        Api::Gemini => {
            json!({"error": {"code": status, "message": message, "status": field("type", json!("INTERNAL"))}})
        }
        Api::Chat | Api::Responses => json!({"error": {
            "message": message, "type": field("type", json!("api_error")), "param": field("param", Value::Null),
            "code": field("code", Value::Null)}}),
    }
}

/// An error inside a stream that began well.
pub(crate) fn error_event(api: Api, error: &Value) -> String {
    let (message, fields) = parts(error, "mock stream error");
    match api {
        Api::Messages => event(Some("error"), &error_body(api, 500, error)),
        Api::Responses => {
            let code = fields
                .get("code")
                .cloned()
                .unwrap_or_else(|| json!("server_error"));
            let failed = json!({"type": "response.failed", "response": {
                "id": "resp_x", "status": "failed", "error": {"code": code, "message": message}}});
            event(Some("response.failed"), &failed)
        }
        Api::Chat | Api::Gemini => {
            let mut error = fields;
            error.insert("message".to_owned(), json!(message));
            event(None, &error_body(api, 500, &Value::Object(error)))
        }
    }
}
