//! Writes a Chat Completions request.
//!
//! The body is put together from bytes: those of each message are made once and
//! kept, so that what is sent for an old message is the same in every later
//! request and costs no second serialisation.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::{Map, Value, json};
use talaria_llm::json::object_text;
use talaria_types::{Message, ModelIdentity, ModelRequest, Rewrite, Role, ToolChoice, ToolSpec};

use super::decode::ChatDecoder;
use super::dialect::{self, Dialect, Echo};
use crate::cache::PieceCache;
use crate::effort::{Effort, thinks};
use crate::endpoint::Endpoint;
use crate::facts;
use crate::params::{Params, output_bound, streams, write_json};
use crate::pictures::{Pictures, Piece, Sent, has_images};
use crate::scrub::scrub;
use crate::wire::{Adapter, Decoder, Encoded, Images, bearer};

/// How many of the newest messages carry a cache mark, besides the system prompt.
const MARKED_MESSAGES: usize = 3;

/// Members of stored calls that belong to other protocols.
const FOREIGN_MEMBERS: &[&str] = &["call_id", "response_item_id", "thoughtSignature"];

/// Forms of one message in the cache.
const PLAIN: u64 = 0;
const MARKED: u64 = 1;
const PICTURES_ONLY: u64 = 2;

/// Chat Completions for one endpoint.
#[derive(Debug)]
pub(crate) struct ChatAdapter {
    identity: ModelIdentity,
    dialect: &'static Dialect,
    max_output: Option<u64>,
    effort: Option<Effort>,
    /// Contents are lists of parts, so that a mark can come and go without changing other bytes.
    mark: Option<Value>,
    cache: Mutex<PieceCache>,
}

/// What is the same for all messages of one request.
struct Style<'a> {
    dialect: &'static Dialect,
    echo: Echo,
    mark: Option<&'a Value>,
    rewrites: &'a [Rewrite],
    pictures: &'a Pictures,
    images: &'a dyn Images,
}

impl ChatAdapter {
    /// The adapter for an endpoint.
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let identity = endpoint.identity.clone();
        let dialect = dialect::of(&identity);
        let mark = dialect
            .marks_for(&identity.model)
            .then(|| cache_mark(endpoint.long_cache));
        Self {
            dialect,
            mark,
            max_output: endpoint.max_output_tokens,
            effort: endpoint.effort,
            identity,
            cache: Mutex::default(),
        }
    }

    fn write_messages(&self, request: &ModelRequest, images: &dyn Images, body: &mut Vec<u8>) {
        let pictures = Pictures::of(request, images);
        let echo = if request.rewrites.contains(&Rewrite::EchoReasoning) {
            Echo::Padded
        } else {
            self.dialect.echo
        };
        let style = Style {
            dialect: self.dialect,
            echo,
            mark: self.mark.as_ref(),
            rewrites: &request.rewrites,
            pictures: &pictures,
            images,
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.begin(&request.rewrites);
        let mut first = !write_system(request, &style, body);
        let marked = marked_places(request, &style);
        let mut place = 0;
        let mut results_with_images: Vec<(usize, &Arc<Message>)> = Vec::new();
        for (at, message) in request.messages.iter().enumerate() {
            if message.role != Role::Tool {
                write_hoisted(&mut results_with_images, &style, &mut cache, body);
            }
            let form = if marked.contains(&at) { MARKED } else { PLAIN };
            let from = place;
            let write = |message: &Message, out: &mut Vec<u8>| {
                write_message(message, form == MARKED, from, &style, out);
            };
            separate(&mut first, body);
            if has_images(message) && !pictures.all_are_sent() {
                write(message, body);
            } else {
                body.extend_from_slice(&cache.piece(message, form, write));
            }
            place += message.content.images().count();
            if message.role == Role::Tool && has_images(message) && style.hoists() {
                results_with_images.push((from, message));
            }
        }
        write_hoisted(&mut results_with_images, &style, &mut cache, body);
        if !request.tools.is_empty() {
            let simplified = request.rewrites.contains(&Rewrite::SimplifyToolSchemas);
            body.extend_from_slice(b"],\"tools\":[");
            body.extend_from_slice(&cache.tools(request, |out| write_tools(&request.tools, simplified, out)));
        }
        body.push(b']');
    }
}

impl Adapter for ChatAdapter {
    fn encode(&self, request: &ModelRequest, images: &dyn Images) -> Encoded {
        let streaming = streams(&request.rewrites);
        let max_output = output_bound(request, self.max_output);
        let mut body = Vec::with_capacity(16 * 1024);
        body.extend_from_slice(b"{\"model\":");
        write_json(&mut body, &self.identity.model);
        body.extend_from_slice(b",\"messages\":[");
        self.write_messages(request, images, &mut body);
        let mut params = Params::new(&request.rewrites);
        if request.tool_choice == ToolChoice::None && !request.tools.is_empty() {
            params.add("tool_choice", "none");
        }
        params.add("stream", streaming);
        if streaming && self.dialect.stream_options {
            params.add("stream_options", json!({"include_usage": true}));
        }
        if let Some(effort) = self
            .effort
            .filter(|_| self.dialect.takes_effort || thinks(&self.identity.model))
        {
            params.add("reasoning_effort", effort.word());
        }
        if let Some(tokens) = max_output {
            params.add(self.dialect.output_parameter, tokens);
        }
        params.write(&mut body);
        body.push(b'}');
        Encoded {
            path: "/chat/completions".to_owned(),
            headers: Vec::new(),
            body,
            facts: facts::of(request, streaming, max_output),
        }
    }

    fn credential(&self, key: &str) -> (&'static str, String) {
        match self.dialect.key_header {
            Some(header) => (header, key.to_owned()),
            None => bearer(key),
        }
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(request.messages.len() as u64))
    }
}

impl Style<'_> {
    /// Images of tool results go into a user message behind them.
    fn hoists(&self) -> bool {
        !self.dialect.tool_images && !self.rewrites.contains(&Rewrite::PlainToolContent)
    }
}

/// `{"type":"ephemeral"}`, with the long life when configured.
pub(crate) fn cache_mark(long: bool) -> Value {
    if long {
        json!({"type": "ephemeral", "ttl": "1h"})
    } else {
        json!({"type": "ephemeral"})
    }
}

fn separate(first: &mut bool, body: &mut Vec<u8>) {
    if !std::mem::replace(first, false) {
        body.push(b',');
    }
}

/// Writes the system message; says whether there is one.
fn write_system(request: &ModelRequest, style: &Style<'_>, body: &mut Vec<u8>) -> bool {
    let system = scrub(&request.system, style.rewrites);
    let note = request.note.as_deref().filter(|note| !note.is_empty());
    if system.is_empty() && note.is_none() {
        return false;
    }
    let content = match (style.mark, note) {
        (Some(mark), note) => {
            let mut parts = vec![json!({"type": "text", "text": system, "cache_control": mark})];
            parts.extend(note.map(|note| json!({"type": "text", "text": note})));
            Value::Array(parts)
        }
        (None, Some(note)) => Value::String(format!("{system}\n\n{note}")),
        (None, None) => Value::String(system.into_owned()),
    };
    write_json(body, &json!({"role": "system", "content": content}));
    true
}

/// The places of the newest messages that can carry a cache mark.
fn marked_places(request: &ModelRequest, style: &Style<'_>) -> Vec<usize> {
    if style.mark.is_none() {
        return Vec::new();
    }
    let able = request
        .messages
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, message)| !message.content.is_blank());
    able.map(|(at, _)| at).take(MARKED_MESSAGES).collect()
}

/// One message, its members in the order they are sent.
#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

fn write_message(message: &Message, marked: bool, place: usize, style: &Style<'_>, out: &mut Vec<u8>) {
    let is_assistant = message.role == Role::Assistant;
    let wire = WireMessage {
        role: message.role.as_str(),
        content: content(message, marked, place, style),
        reasoning_content: (is_assistant && style.echo == Echo::Padded).then(|| padded(message)),
        reasoning_details: details(message, style).filter(|_| is_assistant),
        tool_calls: message.tool_calls.iter().map(tool_call).collect(),
        tool_call_id: message.tool_call_id.as_deref(),
    };
    write_json(out, &wire);
}

fn content(message: &Message, marked: bool, place: usize, style: &Style<'_>) -> Value {
    let plain = message
        .sent_as
        .as_deref()
        .map_or_else(|| message.content.text(), Into::into);
    let text = scrub(&plain, style.rewrites);
    let in_place = message.role == Role::User || (message.role == Role::Tool && !style.hoists());
    if has_images(message) && in_place {
        return Value::Array(parts(message, marked, place, style));
    }
    if text.trim().is_empty() && !message.tool_calls.is_empty() {
        return Value::Null;
    }
    if text.is_empty() && has_images(message) {
        return Value::String("[The result is an image; it follows.]".to_owned());
    }
    match style.mark {
        Some(mark) if !text.is_empty() => {
            let mut part = json!({"type": "text", "text": text});
            if marked {
                part["cache_control"] = mark.clone();
            }
            Value::Array(vec![part])
        }
        Some(_) | None => Value::String(text.into_owned()),
    }
}

/// Text and images of a message, in order.
fn parts(message: &Message, marked: bool, place: usize, style: &Style<'_>) -> Vec<Value> {
    let pieces = style.pictures.pieces(message, place, style.images).into_iter();
    let part = |piece| match piece {
        Piece::Text(words) => json!({"type": "text", "text": scrub(words, style.rewrites)}),
        Piece::Image(sent, _) => picture(&sent),
    };
    let mut parts: Vec<Value> = pieces.map(part).collect();
    if marked
        && let Some(mark) = style.mark
        && let Some(last) = parts.iter_mut().rev().find(|part| part["type"] == "text")
    {
        last["cache_control"] = mark.clone();
    }
    parts
}

fn picture(sent: &Sent) -> Value {
    let url = match sent {
        Sent::Note(note) => return json!({"type": "text", "text": note}),
        Sent::Url(url) => url.clone(),
        Sent::Data(base64, media_type) => format!("data:{media_type};base64,{base64}"),
    };
    json!({"type": "image_url", "image_url": {"url": url}})
}

/// Writes the user message that holds the images of the tool results before it.
fn write_hoisted(
    results: &mut Vec<(usize, &Arc<Message>)>,
    style: &Style<'_>,
    cache: &mut PieceCache,
    body: &mut Vec<u8>,
) {
    if results.is_empty() {
        return;
    }
    body.extend_from_slice(b",{\"role\":\"user\",\"content\":[");
    for (at, (place, message)) in results.drain(..).enumerate() {
        if at > 0 {
            body.push(b',');
        }
        let write = |message: &Message, out: &mut Vec<u8>| {
            let call = message.tool_call_id.as_deref().unwrap_or_default();
            write_json(
                out,
                &json!({"type": "text", "text": format!("Images of the result of call {call}:")}),
            );
            for (offset, image) in message.content.images().enumerate() {
                let sent = style
                    .pictures
                    .resolve(place + offset, image, message.role, style.images);
                out.push(b',');
                write_json(out, &picture(&sent));
            }
        };
        if style.pictures.all_are_sent() {
            body.extend_from_slice(&cache.piece(message, PICTURES_ONLY, write));
        } else {
            write(message, body);
        }
    }
    body.extend_from_slice(b"]}");
}

/// The thinking for servers that insist on it; they refuse an empty text too.
fn padded(message: &Message) -> &str {
    match message.reasoning.content.as_deref() {
        Some(text) if !text.is_empty() => text,
        Some(_) | None => " ",
    }
}

fn details<'a>(message: &'a Message, style: &Style<'_>) -> Option<&'a Value> {
    let dropped = style.rewrites.iter().any(|rewrite| {
        matches!(
            rewrite,
            Rewrite::DropSignedThinking | Rewrite::DropEncryptedReasoning
        )
    });
    let own = message
        .reasoning
        .details
        .as_ref()
        .filter(|details| is_openrouter_shaped(details));
    own.filter(|_| style.echo == Echo::Details && !dropped)
}

/// Blocks of the Messages protocol are stored in the same place; they are not for this one.
fn is_openrouter_shaped(details: &Value) -> bool {
    let of_reasoning = |block: &Value| {
        block
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.starts_with("reasoning."))
    };
    details
        .as_array()
        .is_some_and(|blocks| !blocks.is_empty() && blocks.iter().all(of_reasoning))
}

fn tool_call(call: &talaria_types::ToolCall) -> Value {
    let name = if call.name.trim().is_empty() {
        "invalid_tool_call"
    } else {
        &call.name
    };
    let mut wire = Map::new();
    wire.insert("id".to_owned(), call.id.clone().into());
    wire.insert("type".to_owned(), "function".into());
    wire.insert(
        "function".to_owned(),
        json!({"name": name, "arguments": object_text(&call.arguments)}),
    );
    for (key, value) in &call.extra {
        if !wire.contains_key(key) && !key.starts_with('_') && !FOREIGN_MEMBERS.contains(&key.as_str()) {
            wire.insert(key.clone(), value.clone());
        }
    }
    Value::Object(wire)
}

fn write_tools(tools: &[ToolSpec], simplified: bool, out: &mut Vec<u8>) {
    for (at, tool) in tools.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let mut parameters = tool.parameters.clone();
        if simplified {
            facts::simplify(&mut parameters);
        }
        let function = json!({"name": tool.name, "description": tool.description, "parameters": parameters});
        write_json(out, &json!({"type": "function", "function": function}));
    }
}

#[cfg(test)]
#[path = "tests/encode.rs"]
mod tests;
