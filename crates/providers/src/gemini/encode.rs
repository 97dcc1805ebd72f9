//! Writes a `generateContent` request.
//!
//! Two sides take turns, as in Messages. A call's signature goes back with the
//! call; calls that come from another provider have none, and the newer models
//! take a fixed word in its place.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use talaria_llm::json::object_text;
use talaria_types::{Message, ModelIdentity, ModelRequest, Rewrite, Role, ToolCall, ToolChoice, ToolSpec};

use super::SIGNATURE;
use super::decode::GeminiDecoder;
use crate::cache::PieceCache;
use crate::effort::{Effort, thinks};
use crate::endpoint::Endpoint;
use crate::facts;
use crate::params::{Params, output_bound, streams, write_json};
use crate::pictures::{Pictures, Piece, Sent, has_images};
use crate::runs::{self, Side, wire_name};
use crate::scrub::scrub;
use crate::wire::{Adapter, Decoder, Encoded, Images, bearer};

/// What Google's documentation says to send where another model made the call.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// `generateContent` for one endpoint.
#[derive(Debug)]
pub(crate) struct GeminiAdapter {
    identity: ModelIdentity,
    max_output: Option<u64>,
    effort: Option<Effort>,
    is_oauth: bool,
    cache: Mutex<PieceCache>,
}

struct Style<'a> {
    rewrites: &'a [Rewrite],
    pictures: &'a Pictures,
    images: &'a dyn Images,
    /// The model refuses calls without a signature.
    insists: bool,
    /// Tools by call, for results whose own name is not stored.
    names: HashMap<&'a str, &'a str>,
}

impl GeminiAdapter {
    /// The adapter for an endpoint.
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        Self {
            identity: endpoint.identity.clone(),
            max_output: endpoint.max_output_tokens,
            effort: endpoint.effort,
            is_oauth: endpoint.has_oauth_key(),
            cache: Mutex::default(),
        }
    }

    fn write_contents(&self, request: &ModelRequest, images: &dyn Images, body: &mut Vec<u8>) {
        let pictures = Pictures::of(request, images);
        let style = Style {
            rewrites: &request.rewrites,
            pictures: &pictures,
            images,
            insists: self.identity.model.contains("gemini-3"),
            names: unnamed_results(request),
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.begin(&request.rewrites);
        if !request.tools.is_empty() {
            let simplified = request.rewrites.contains(&Rewrite::SimplifyToolSchemas);
            body.extend_from_slice(b"\"tools\":[{\"functionDeclarations\":[");
            body.extend_from_slice(&cache.tools(request, |out| write_tools(&request.tools, simplified, out)));
            body.extend_from_slice(b"]}],");
        }
        body.extend_from_slice(b"\"contents\":[");
        let mut any = false;
        let mut place = 0;
        for (side, range) in runs::of(&request.messages) {
            let mut said = Vec::new();
            for message in &request.messages[range] {
                let from = place;
                place += message.content.images().count();
                let write =
                    |message: &Message, out: &mut Vec<u8>| write_parts(&parts(message, from, &style), out);
                let before = said.len();
                if before > 0 {
                    said.push(b',');
                }
                let separated = said.len();
                if has_images(message) && !pictures.all_are_sent() {
                    write(message, &mut said);
                } else {
                    said.extend_from_slice(&cache.piece(message, 0, write));
                }
                if said.len() == separated {
                    said.truncate(before);
                }
            }
            if said.is_empty() {
                continue;
            }
            if any {
                body.push(b',');
            }
            any = true;
            let head: &[u8] = match side {
                Side::User => br#"{"role":"user","parts":["#,
                Side::Model => br#"{"role":"model","parts":["#,
            };
            body.extend_from_slice(head);
            body.extend_from_slice(&said);
            body.extend_from_slice(b"]}");
        }
        body.push(b']');
    }

    fn settings(&self, max_output: Option<u64>) -> Value {
        let mut settings = Map::new();
        if let Some(tokens) = max_output {
            settings.insert("maxOutputTokens".to_owned(), tokens.into());
        }
        if thinks(&self.identity.model) {
            let mut thinking = Map::new();
            thinking.insert("includeThoughts".to_owned(), true.into());
            if let Some(effort) = self.effort {
                let (name, value): (_, Value) = if self.identity.model.contains("gemini-3") {
                    (
                        "thinkingLevel",
                        if effort <= Effort::Low { "low" } else { "high" }.into(),
                    )
                } else {
                    ("thinkingBudget", effort.budget().into())
                };
                thinking.insert(name.to_owned(), value);
            }
            settings.insert("thinkingConfig".to_owned(), thinking.into());
        }
        Value::Object(settings)
    }
}

impl Adapter for GeminiAdapter {
    fn encode(&self, request: &ModelRequest, images: &dyn Images) -> Encoded {
        let streaming = streams(&request.rewrites);
        let max_output = output_bound(request, self.max_output);
        let mut body = Vec::with_capacity(16 * 1024);
        body.push(b'{');
        write_system(request, &mut body);
        self.write_contents(request, images, &mut body);
        let mut params = Params::new(&request.rewrites);
        if request.tool_choice == ToolChoice::None && !request.tools.is_empty() {
            params.add("toolConfig", json!({"functionCallingConfig": {"mode": "NONE"}}));
        }
        let settings = self.settings(max_output);
        if settings.as_object().is_some_and(|settings| !settings.is_empty()) {
            params.add("generationConfig", settings);
        }
        params.write(&mut body);
        body.push(b'}');
        let method = if streaming {
            "streamGenerateContent?alt=sse"
        } else {
            "generateContent"
        };
        let model = self.identity.model.trim_start_matches("models/");
        Encoded {
            path: format!("/models/{model}:{method}"),
            headers: Vec::new(),
            body,
            facts: facts::of(request, streaming, max_output),
        }
    }

    fn credential(&self, key: &str) -> (&'static str, String) {
        if self.is_oauth {
            bearer(key)
        } else {
            ("x-goog-api-key", key.to_owned())
        }
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(GeminiDecoder::new(request.messages.len() as u64))
    }
}

/// The tool through which others are called. What comes back bears the other's name, and a response must bear
/// its call's.
const THROUGH: &str = "tool_call";

/// Older rows do not name the tool of a result; the call does.
fn unnamed_results(request: &ModelRequest) -> HashMap<&str, &str> {
    let unnamed = |message: &Message| {
        let is_result = message.role == Role::Tool && message.tool_name.is_none();
        is_result || message.tool_calls.iter().any(|call| call.name == THROUGH)
    };
    if !request.messages.iter().any(|message| unnamed(message)) {
        return HashMap::new();
    }
    let calls = request.messages.iter().flat_map(|message| &message.tool_calls);
    calls.map(|call| (call.id.as_str(), call.name.as_str())).collect()
}

fn write_system(request: &ModelRequest, body: &mut Vec<u8>) {
    let texts = [Some(&*request.system), request.note.as_deref()]
        .into_iter()
        .flatten();
    let parts: Vec<Value> = texts
        .filter(|text| !text.trim().is_empty())
        .map(|text| json!({"text": scrub(text, &request.rewrites)}))
        .collect();
    if !parts.is_empty() {
        body.extend_from_slice(b"\"systemInstruction\":");
        write_json(body, &json!({"parts": parts}));
        body.push(b',');
    }
}

fn write_tools(tools: &[ToolSpec], simplified: bool, out: &mut Vec<u8>) {
    for (at, tool) in tools.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let mut schema = tool.parameters.clone();
        if simplified {
            facts::simplify(&mut schema);
        }
        let wire =
            json!({"name": tool.name, "description": tool.description, "parametersJsonSchema": schema});
        write_json(out, &wire);
    }
}

fn write_parts(parts: &[Value], out: &mut Vec<u8>) {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_json(out, part);
    }
}

fn parts(message: &Message, place: usize, style: &Style<'_>) -> Vec<Value> {
    match message.role {
        Role::Assistant => model_parts(message, style),
        Role::Tool => result_parts(message, place, style),
        Role::User | Role::System => user_parts(message, place, style),
    }
}

fn model_parts(message: &Message, style: &Style<'_>) -> Vec<Value> {
    let text = message.content.text();
    let mut parts = Vec::new();
    if !text.trim().is_empty() {
        parts.push(json!({"text": scrub(&text, style.rewrites)}));
    }
    parts.extend(
        message
            .tool_calls
            .iter()
            .enumerate()
            .map(|(at, call)| call_part(call, at == 0, style)),
    );
    parts
}

fn call_part(call: &ToolCall, first: bool, style: &Style<'_>) -> Value {
    let text = object_text(&call.arguments);
    let arguments = serde_json::from_str::<Value>(&text).unwrap_or_else(|_| json!({}));
    let mut part = json!({"functionCall": {"name": wire_name(&call.name), "args": arguments}});
    let dropped = style.rewrites.contains(&Rewrite::DropSignedThinking);
    let compatible = || {
        call.extra
            .get("extra_content")?
            .pointer("/google/thought_signature")
    };
    match call.extra.get(SIGNATURE).or_else(compatible).filter(|_| !dropped) {
        Some(signature) => part[SIGNATURE] = signature.clone(),
        // Only the first of several calls is signed.
        None if first && style.insists => part[SIGNATURE] = NO_SIGNATURE.into(),
        None => {}
    }
    part
}

fn result_parts(message: &Message, place: usize, style: &Style<'_>) -> Vec<Value> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let called = style.names.get(id).copied();
    let name = called
        .filter(|name| *name == THROUGH)
        .or(message.tool_name.as_deref())
        .or(called)
        .unwrap_or_default();
    let output = scrub(&message.content.text(), style.rewrites).into_owned();
    let mut parts =
        vec![json!({"functionResponse": {"name": wire_name(name), "response": {"output": output}}})];
    let images = message.content.images().enumerate();
    parts.extend(images.map(|(offset, image)| {
        picture(
            style
                .pictures
                .resolve(place + offset, image, message.role, style.images),
            &image.media_type,
        )
    }));
    parts
}

fn user_parts(message: &Message, place: usize, style: &Style<'_>) -> Vec<Value> {
    let pieces = style.pictures.pieces(message, place, style.images).into_iter();
    let part = |piece| match piece {
        Piece::Text(words) if words.trim().is_empty() => None,
        Piece::Text(words) => Some(json!({"text": scrub(words, style.rewrites)})),
        Piece::Image(sent, image) => Some(picture(sent, &image.media_type)),
    };
    pieces.filter_map(part).collect()
}

fn picture(sent: Sent, media_type: &str) -> Value {
    match sent {
        Sent::Note(note) => json!({"text": note}),
        Sent::Url(url) => json!({"fileData": {"mimeType": media_type, "fileUri": url}}),
        Sent::Data(data, kind) => json!({"inlineData": {"mimeType": kind, "data": data}}),
    }
}

#[cfg(test)]
#[path = "tests/encode.rs"]
mod tests;
