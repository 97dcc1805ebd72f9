//! Reads an error body of any shape into its words and codes.
//!
//! Providers wrap errors in objects, strings, arrays, lists of details, JSON
//! inside of JSON strings, Python's `repr` of a dict, event streams and HTML
//! pages, and gateways wrap each other. Everything found is kept: the matcher
//! looks at all words, a person is shown the innermost message that says
//! something. Fields that echo the request (`input`, `body`) are not looked at,
//! since a user's own words must not decide what an error means.

use serde_json::{Map, Value};

use super::{html, python};

/// Nesting of JSON in strings that is followed.
const DEPTH: usize = 5;
/// Objects that are read of one body.
const OBJECTS: usize = 32;
/// What is shown of a message, in characters.
const SHOWN: usize = 2_000;

/// The words and codes of an error body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Envelope {
    /// Messages from the outside in.
    pub(super) messages: Vec<String>,
    /// Codes and types from the outside in.
    pub(super) codes: Vec<String>,
    /// Reasons and names of quotas.
    pub(super) reasons: Vec<String>,
    /// The parameter that is blamed.
    pub(super) parameter: Option<String>,
    /// A status the body names.
    pub(super) status: Option<u16>,
    /// Every JSON value found, the body first.
    pub(super) values: Vec<Value>,
    /// An aggregator says that the error came from behind it.
    pub(super) upstream: bool,
    /// A message was found where an error has it; otherwise the whole body stands for it.
    pub(super) is_error: bool,
}

impl Envelope {
    /// Reads a body.
    pub(super) fn read(body: &str) -> Self {
        let mut envelope = Self::default();
        let trimmed = body.trim_start_matches('\u{feff}').trim();
        if trimmed.is_empty() {
            return envelope;
        }
        if html::is_page(trimmed) {
            envelope.messages.push(html::summary(trimmed));
            return envelope;
        }
        match value_in(trimmed) {
            Some(value) => envelope.take(value, 0),
            None => envelope.messages.push(trimmed.to_owned()),
        }
        envelope.is_error = !envelope.messages.is_empty() && !envelope.values.is_empty();
        // An object without any message still says more than nothing.
        if envelope.messages.is_empty() {
            envelope.messages.push(trimmed.to_owned());
        }
        envelope
    }

    /// The message for a person: the innermost one that says something.
    pub(super) fn message(&self) -> Option<String> {
        let inner = self.messages.iter().rev().find(|text| !is_wrapper(text));
        inner.or(self.messages.first()).map(|text| shorten(text, SHOWN))
    }

    fn take(&mut self, value: Value, depth: usize) {
        if depth > DEPTH || self.values.len() >= OBJECTS {
            return;
        }
        self.values.push(value.clone());
        match value {
            Value::Object(object) => self.object(&object, depth),
            Value::Array(items) => items.into_iter().take(3).for_each(|item| self.take(item, depth)),
            Value::String(text) => self.say(&text, depth),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, object: &Map<String, Value>, depth: usize) {
        self.code_of(object);
        let before = self.messages.len();
        for key in ["error", "response", "base_resp"] {
            match object.get(key) {
                Some(Value::Object(inner)) => self.object(inner, depth),
                // `{"statusCode":400,"message":"…","error":"Bad Request"}`: the message says more.
                Some(Value::String(text)) if key == "error" => {
                    let text = text.clone();
                    self.say(&text, depth);
                }
                Some(Value::Array(items)) => {
                    items
                        .iter()
                        .take(3)
                        .for_each(|item| self.take(item.clone(), depth));
                }
                _ => {}
            }
        }
        for key in [
            "message",
            "msg",
            "Message",
            "error_description",
            "error_message",
            "status_msg",
        ] {
            if let Some(text) = object.get(key).and_then(Value::as_str) {
                self.say(text, depth);
            }
        }
        self.detail(object.get("detail"), depth);
        if self.messages.len() == before
            && let Some(Value::Array(errors)) = object.get("errors")
        {
            errors
                .iter()
                .take(3)
                .for_each(|item| self.take(item.clone(), depth));
        }
        self.metadata(object, depth);
        self.details(object);
    }

    /// A message, and what is wrapped in it.
    fn say(&mut self, text: &str, depth: usize) {
        let text = text.trim();
        if text.is_empty() || self.messages.iter().any(|known| known == text) {
            return;
        }
        if html::is_page(text) {
            self.messages.push(html::summary(text));
            return;
        }
        self.messages.push(text.to_owned());
        if let Some(inner) = value_in(text)
            && !inner.is_string()
        {
            self.take(inner, depth + 1);
        }
    }

    fn code_of(&mut self, object: &Map<String, Value>) {
        for key in ["type", "error_type", "__type", "reason", "innererror"] {
            match object.get(key) {
                Some(Value::String(word)) if !word.is_empty() => self.codes.push(word.clone()),
                Some(Value::Object(inner)) => self.code_of(inner),
                _ => {}
            }
        }
        for key in [
            "code",
            "error_code",
            "Code",
            "status_code",
            "statusCode",
            "http_status",
            "status",
        ] {
            match object.get(key) {
                Some(Value::Number(number)) => {
                    if let Some(status) = number.as_u64().and_then(as_status) {
                        self.status = Some(status);
                    }
                    self.codes.push(number.to_string());
                }
                Some(Value::String(word)) if !word.is_empty() => {
                    if let Some(status) = word.parse().ok().and_then(as_status) {
                        self.status = Some(status);
                    }
                    self.codes.push(word.clone());
                }
                _ => {}
            }
        }
        for key in ["param", "parameter"] {
            if let Some(word) = object.get(key).and_then(Value::as_str)
                && !word.is_empty()
            {
                self.parameter = Some(word.to_owned());
            }
        }
    }

    /// FastAPI and pydantic: `detail` as a text, an object, or a list of places and messages.
    fn detail(&mut self, detail: Option<&Value>, depth: usize) {
        match detail {
            Some(Value::String(text)) => self.say(text, depth),
            Some(Value::Object(object)) => self.object(object, depth),
            Some(Value::Array(items)) => {
                let lines: Vec<String> = items.iter().take(8).filter_map(place_and_message).collect();
                items
                    .iter()
                    .filter_map(Value::as_object)
                    .take(8)
                    .for_each(|item| self.code_of(item));
                self.say(&lines.join("; "), depth);
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
        }
    }

    /// OpenRouter: the error of the provider behind it, as it came.
    fn metadata(&mut self, object: &Map<String, Value>, depth: usize) {
        let Some(Value::Object(metadata)) = object.get("metadata") else {
            return;
        };
        self.upstream |= metadata.get("provider_name").is_some_and(Value::is_string);
        match metadata.get("raw") {
            Some(Value::String(raw)) => self.say(raw, depth),
            Some(raw @ Value::Object(_)) => self.take(raw.clone(), depth + 1),
            _ => {}
        }
        if let Some(Value::Array(reasons)) = metadata.get("reasons") {
            self.reasons
                .extend(reasons.iter().filter_map(Value::as_str).map(str::to_owned));
        }
    }

    /// Google: reasons and names of quotas stand in a list of typed details.
    fn details(&mut self, object: &Map<String, Value>) {
        let Some(Value::Array(details)) = object.get("details") else {
            return;
        };
        for detail in details.iter().take(8).filter_map(Value::as_object) {
            let metadata = detail.get("metadata").and_then(Value::as_object);
            let violations = detail.get("violations").and_then(Value::as_array);
            let places = [Some(detail), metadata].into_iter().flatten();
            for place in places.chain(violations.into_iter().flatten().filter_map(Value::as_object)) {
                for key in ["reason", "quota_limit", "quotaId"] {
                    self.reasons
                        .extend(place.get(key).and_then(Value::as_str).map(str::to_owned));
                }
            }
        }
    }
}

/// The JSON value a text is, holds, or shows in Python's way.
fn value_in(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let starts = text
        .char_indices()
        .filter(|(_, c)| matches!(c, '{' | '['))
        .map(|(at, _)| at);
    for at in starts.take(4) {
        let rest = text.get(at..).unwrap_or_default();
        let first = serde_json::Deserializer::from_str(rest)
            .into_iter::<Value>()
            .next();
        match first {
            Some(Ok(value)) if says_something(&value) => return Some(value),
            _ => {}
        }
        if let Some(value) = python::read(rest).filter(says_something) {
            return Some(value);
        }
    }
    None
}

/// A bracket in prose (`[1, 65536]`) is no envelope.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Object(object) => !object.is_empty(),
        Value::Array(items) => items.iter().any(Value::is_object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn place_and_message(item: &Value) -> Option<String> {
    if let Value::String(text) = item {
        return Some(text.clone());
    }
    let message = item.get("msg").or_else(|| item.get("message"))?.as_str()?;
    let place: Vec<String> = match item.get("loc") {
        Some(Value::Array(parts)) => parts
            .iter()
            .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
            .filter(|part| part != "body")
            .collect(),
        _ => Vec::new(),
    };
    Some(if place.is_empty() {
        message.to_owned()
    } else {
        format!("{}: {message}", place.join("."))
    })
}

fn as_status(number: u64) -> Option<u16> {
    u16::try_from(number)
        .ok()
        .filter(|status| (400..600).contains(status))
}

/// A message that only says that there is another one.
fn is_wrapper(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    lower.contains("{\"")
        || lower.contains("{'")
        || matches!(
            lower.trim_end_matches('.'),
            "provider returned error" | "bad request" | "error" | "upstream error" | "internal server error"
        )
}

/// At most so many characters, cut with an ellipsis.
pub(super) fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
