//! Writes a Responses request.
//!
//! Nothing is kept on the server (`store: false`), so every request holds the
//! whole conversation as items. Encrypted reasoning goes back before what it led
//! to; ids of items do not, because the server has forgotten them.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use talaria_llm::json::object_text;
use talaria_types::{Message, ModelIdentity, ModelRequest, Rewrite, Role, ToolChoice, ToolSpec};

use super::decode::ResponsesDecoder;
use crate::address;
use crate::cache::PieceCache;
use crate::effort::{Effort, thinks};
use crate::endpoint::Endpoint;
use crate::facts;
use crate::params::{Params, output_bound, streams, write_json};
use crate::pictures::{Pictures, Piece, Sent, has_images};
use crate::runs::{wire_id, wire_name};
use crate::scrub::scrub;
use crate::wire::{Adapter, Decoder, Encoded, Images};

/// Responses for one endpoint.
#[derive(Debug)]
pub(crate) struct ResponsesAdapter {
    identity: ModelIdentity,
    max_output: Option<u64>,
    effort: Option<Effort>,
    /// The subscription's own server takes no bound on the answer.
    is_subscription: bool,
    thinks: bool,
    cache: Mutex<PieceCache>,
}

struct Style<'a> {
    rewrites: &'a [Rewrite],
    pictures: &'a Pictures,
    images: &'a dyn Images,
}

impl ResponsesAdapter {
    /// The adapter for an endpoint.
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let identity = endpoint.identity.clone();
        let host = address::host(&identity.base_url);
        let listed = endpoint
            .catalogue
            .offered(&identity)
            .is_some_and(|facts| facts.reasoning);
        Self {
            max_output: endpoint.max_output_tokens,
            effort: endpoint.effort,
            is_subscription: address::is_within(&host, "chatgpt.com"),
            thinks: listed || thinks(&identity.model),
            identity,
            cache: Mutex::default(),
        }
    }

    fn write_input(&self, request: &ModelRequest, images: &dyn Images, body: &mut Vec<u8>) {
        let pictures = Pictures::of(request, images);
        let style = Style {
            rewrites: &request.rewrites,
            pictures: &pictures,
            images,
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.begin(&request.rewrites);
        if !request.tools.is_empty() {
            let simplified = request.rewrites.contains(&Rewrite::SimplifyToolSchemas);
            body.extend_from_slice(b",\"tools\":[");
            body.extend_from_slice(&cache.tools(request, |out| write_tools(&request.tools, simplified, out)));
            body.push(b']');
        }
        body.extend_from_slice(b",\"input\":[");
        let start = body.len();
        let mut place = 0;
        for message in &request.messages {
            let from = place;
            place += message.content.images().count();
            let write =
                |message: &Message, out: &mut Vec<u8>| write_items(&items(message, from, &style), out);
            let before = body.len();
            if before > start {
                body.push(b',');
            }
            let separated = body.len();
            if has_images(message) && !pictures.all_are_sent() {
                write(message, body);
            } else {
                body.extend_from_slice(&cache.piece(message, 0, write));
            }
            if body.len() == separated {
                body.truncate(before);
            }
        }
        body.push(b']');
    }

    fn params<'a>(&self, request: &'a ModelRequest, max_output: Option<u64>) -> Params<'a> {
        let mut params = Params::new(&request.rewrites);
        params.add("stream", streams(&request.rewrites));
        params.add("store", false);
        if !request.tools.is_empty() {
            params.add(
                "tool_choice",
                if request.tool_choice == ToolChoice::None {
                    "none"
                } else {
                    "auto"
                },
            );
        }
        if let Some(tokens) = max_output.filter(|_| !self.is_subscription) {
            params.add("max_output_tokens", tokens);
        }
        if self.thinks {
            params.add("include", json!(["reasoning.encrypted_content"]));
            let mut reasoning = Map::new();
            if let Some(effort) = self.effort {
                reasoning.insert("effort".to_owned(), effort.word().into());
            }
            reasoning.insert("summary".to_owned(), "auto".into());
            params.add("reasoning", Value::Object(reasoning));
        }
        params
    }
}

impl Adapter for ResponsesAdapter {
    fn encode(&self, request: &ModelRequest, images: &dyn Images) -> Encoded {
        let max_output = output_bound(request, self.max_output);
        let mut body = Vec::with_capacity(16 * 1024);
        body.extend_from_slice(b"{\"model\":");
        write_json(&mut body, &self.identity.model);
        let system = scrub(&request.system, &request.rewrites);
        let note = request.note.as_deref().filter(|note| !note.trim().is_empty());
        let instructions = note.map_or_else(|| system.to_string(), |note| format!("{system}\n\n{note}"));
        if !instructions.trim().is_empty() {
            body.extend_from_slice(b",\"instructions\":");
            write_json(&mut body, &instructions);
        }
        self.write_input(request, images, &mut body);
        self.params(request, max_output).write(&mut body);
        body.push(b'}');
        Encoded {
            path: "/responses".to_owned(),
            headers: Vec::new(),
            body,
            facts: facts::of(request, streams(&request.rewrites), max_output),
        }
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new(request.messages.len() as u64))
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
        let wire = json!({
            "type": "function", "name": tool.name, "description": tool.description, "parameters": schema, "strict": false,
        });
        write_json(out, &wire);
    }
}

fn write_items(items: &[Value], out: &mut Vec<u8>) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_json(out, item);
    }
}

fn items(message: &Message, place: usize, style: &Style<'_>) -> Vec<Value> {
    match message.role {
        Role::Assistant => model_items(message, style),
        Role::Tool => vec![json!({
            "type": "function_call_output",
            "call_id": wire_id(message.tool_call_id.as_deref().unwrap_or_default()),
            "output": output(message, place, style),
        })],
        Role::User | Role::System => vec![json!({
            "type": "message", "role": message.role.as_str(), "content": content(message, place, style),
        })],
    }
}

fn model_items(message: &Message, style: &Style<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    if !style.rewrites.contains(&Rewrite::DropEncryptedReasoning) {
        let stored = message
            .reasoning
            .response_items
            .as_ref()
            .and_then(Value::as_array);
        let readable = |item: &&Value| {
            item["encrypted_content"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        };
        items.extend(stored.into_iter().flatten().filter(readable).map(without_id));
    }
    let text = message.content.text();
    let text = scrub(&text, style.rewrites);
    if !text.trim().is_empty() {
        items.push(said(message, &text));
    }
    items.extend(message.tool_calls.iter().map(|call| {
        json!({
            "type": "function_call",
            "call_id": wire_id(&call.id),
            "name": wire_name(&call.name),
            "arguments": object_text(&call.arguments),
        })
    }));
    items
}

/// The stored item if its text is still the message's, else one made of the text.
fn said(message: &Message, text: &str) -> Value {
    let stored = message.reasoning.message_items.as_ref().and_then(Value::as_array);
    if let Some([item]) = stored.map(Vec::as_slice)
        && item.pointer("/content/0/text").and_then(Value::as_str) == Some(text)
        && item["content"].as_array().is_some_and(|parts| parts.len() == 1)
    {
        return without_id(item);
    }
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

/// The server keeps nothing, so an id would point nowhere.
fn without_id(item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(members) = item.as_object_mut() {
        members.shift_remove("id");
        members.shift_remove("status");
    }
    item
}

fn output(message: &Message, place: usize, style: &Style<'_>) -> Value {
    if has_images(message) {
        return Value::Array(content(message, place, style));
    }
    scrub(&message.content.text(), style.rewrites).into_owned().into()
}

fn content(message: &Message, place: usize, style: &Style<'_>) -> Vec<Value> {
    let pieces = style.pictures.pieces(message, place, style.images).into_iter();
    let part = |piece| match piece {
        Piece::Text(words) => json!({"type": "input_text", "text": scrub(words, style.rewrites)}),
        Piece::Image(sent, _) => picture(sent),
    };
    pieces.map(part).collect()
}

fn picture(sent: Sent) -> Value {
    let url = match sent {
        Sent::Note(note) => return json!({"type": "input_text", "text": note}),
        Sent::Url(url) => url,
        Sent::Data(data, kind) => format!("data:{kind};base64,{data}"),
    };
    json!({"type": "input_image", "image_url": url})
}

#[cfg(test)]
#[path = "tests/encode.rs"]
mod tests;
