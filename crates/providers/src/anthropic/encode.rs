//! Writes a Messages request.
//!
//! Two sides take turns: results and the user's words between two answers are
//! one message, results first. Signed thinking goes back verbatim and first.
//! Cache marks stand on the system prompt and on the last three messages that
//! can carry one; four is the most the protocol allows.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use talaria_llm::json::object_text;
use talaria_types::{Message, ModelIdentity, ModelRequest, Rewrite, Role, ToolChoice, ToolSpec};

use super::decode::MessagesDecoder;
use crate::address;
use crate::cache::PieceCache;
use crate::effort::Effort;
use crate::endpoint::Endpoint;
use crate::facts;
use crate::params::{Params, output_bound, streams, write_json};
use crate::pictures::{Pictures, Piece, Sent, has_images};
use crate::runs::{self, Side, wire_id, wire_name};
use crate::scrub::scrub;
use crate::wire::{Adapter, Decoder, Encoded, Images, bearer};

const VERSION: &str = "2023-06-01";
const OAUTH_BETA: &str = "oauth-2025-04-20";
const LONG_CONTEXT_BETA: &str = "context-1m-2025-08-07";
const THINKING_BETA: &str = "interleaved-thinking-2025-05-14";

/// The protocol wants a bound on every answer; this one where nothing is known.
const DEFAULT_OUTPUT: u64 = 16_384;
/// A window beyond this needs the beta header, where the model has one.
const USUAL_WINDOW: u64 = 200_000;
const MARKED_MESSAGES: usize = 3;

const PLAIN: u64 = 0;
const MARKED: u64 = 1;

/// Messages for one endpoint.
#[derive(Debug)]
pub(crate) struct MessagesAdapter {
    identity: ModelIdentity,
    max_output: Option<u64>,
    default_output: u64,
    mark: Option<Value>,
    effort: Option<Effort>,
    is_native: bool,
    is_oauth: bool,
    wants_long_context: bool,
    cache: Mutex<PieceCache>,
}

/// What is the same for all messages of one request.
struct Style<'a> {
    mark: Option<&'a Value>,
    is_native: bool,
    rewrites: &'a [Rewrite],
    pictures: &'a Pictures,
    images: &'a dyn Images,
}

impl MessagesAdapter {
    /// The adapter for an endpoint.
    pub(crate) fn new(endpoint: &Endpoint) -> Self {
        let identity = endpoint.identity.clone();
        let host = address::host(&identity.base_url);
        let is_native = address::is_within(&host, "anthropic.com");
        let limits = endpoint.catalogue.limits(&identity);
        let room = endpoint
            .context_length
            .map_or(u64::MAX, |window| (window / 2).max(1_024));
        let model = identity.model.to_ascii_lowercase();
        // MiniMax has a cache of the same kind; others refuse or ignore the marks.
        let marks = is_native
            || model.contains("claude")
            || address::is_within(&host, "minimax.io")
            || address::is_within(&host, "minimaxi.com");
        Self {
            mark: marks.then(|| crate::chat::cache_mark(endpoint.long_cache)),
            max_output: endpoint.max_output_tokens,
            default_output: limits.output.unwrap_or(DEFAULT_OUTPUT).min(room),
            effort: endpoint.effort,
            is_native,
            is_oauth: endpoint.has_oauth_key(),
            wants_long_context: is_native
                && endpoint
                    .context_length
                    .is_some_and(|window| window > USUAL_WINDOW)
                && limits.context == Some(USUAL_WINDOW),
            identity,
            cache: Mutex::default(),
        }
    }

    fn betas(&self, request: &ModelRequest) -> Vec<&'static str> {
        let mut betas = Vec::new();
        if self.is_oauth {
            betas.push(OAUTH_BETA);
        }
        if self.wants_long_context {
            betas.push(LONG_CONTEXT_BETA);
        }
        if self.is_native && self.effort.is_some_and(|effort| effort > Effort::None) {
            betas.push(THINKING_BETA);
        }
        let dropped = |beta: &&str| {
            request.rewrites.iter().any(
                |rewrite| matches!(rewrite, Rewrite::DropBetaHeader(gone) if beta.starts_with(gone.as_str())),
            )
        };
        betas.retain(|beta| !dropped(beta));
        betas
    }

    fn write_messages(&self, request: &ModelRequest, images: &dyn Images, body: &mut Vec<u8>) {
        let pictures = Pictures::of(request, images);
        let style = Style {
            mark: self.mark.as_ref(),
            is_native: self.is_native,
            rewrites: &request.rewrites,
            pictures: &pictures,
            images,
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.begin(&request.rewrites);
        write_system(request, &style, body);
        if !request.tools.is_empty() {
            let simplified = request.rewrites.contains(&Rewrite::SimplifyToolSchemas);
            body.extend_from_slice(b"\"tools\":[");
            body.extend_from_slice(&cache.tools(request, |out| write_tools(&request.tools, simplified, out)));
            body.extend_from_slice(b"],");
        }
        body.extend_from_slice(b"\"messages\":[");
        let mut turns = Turns {
            body,
            open: None,
            any: false,
        };
        let marked = marked_places(&request.messages, &style);
        let mut place = 0;
        for (side, range) in runs::of(&request.messages) {
            for at in range {
                let message = &request.messages[at];
                let form = if marked.contains(&at) { MARKED } else { PLAIN };
                let from = place;
                place += message.content.images().count();
                let write = |message: &Message, out: &mut Vec<u8>| {
                    write_blocks(&blocks(message, from, &style), form == MARKED, &style, out);
                };
                if has_images(message) && !pictures.all_are_sent() {
                    let mut bytes = Vec::new();
                    write(message, &mut bytes);
                    turns.say(side, &bytes);
                } else {
                    turns.say(side, &cache.piece(message, form, write));
                }
            }
        }
        turns.close();
        body.push(b']');
    }
}

impl Adapter for MessagesAdapter {
    fn encode(&self, request: &ModelRequest, images: &dyn Images) -> Encoded {
        let streaming = streams(&request.rewrites);
        let wanted = output_bound(request, self.max_output);
        let max_output =
            output_bound(request, Some(wanted.unwrap_or(self.default_output))).unwrap_or(DEFAULT_OUTPUT);
        let mut body = Vec::with_capacity(16 * 1024);
        body.extend_from_slice(b"{\"model\":");
        write_json(&mut body, &self.identity.model);
        body.push(b',');
        self.write_messages(request, images, &mut body);
        let mut params = Params::new(&request.rewrites);
        params.add("max_tokens", max_output);
        params.add("stream", streaming);
        if request.tool_choice == ToolChoice::None && !request.tools.is_empty() {
            params.add("tool_choice", json!({"type": "none"}));
        }
        if let Some(thinking) = self.thinking(max_output) {
            params.add("thinking", thinking);
        }
        params.write(&mut body);
        body.push(b'}');
        let betas = self.betas(request);
        let long_context_beta = betas.contains(&LONG_CONTEXT_BETA);
        let mut headers = vec![("anthropic-version", VERSION.to_owned())];
        if !betas.is_empty() {
            headers.push(("anthropic-beta", betas.join(",")));
        }
        let facts = facts::of(request, streaming, Some(max_output));
        Encoded {
            path: path(&self.identity.base_url),
            headers,
            body,
            facts: talaria_recovery::RequestFacts {
                long_context_beta,
                ..facts
            },
        }
    }

    fn credential(&self, key: &str) -> (&'static str, String) {
        if self.is_oauth {
            bearer(key)
        } else {
            ("x-api-key", key.to_owned())
        }
    }

    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(MessagesDecoder::new(request.messages.len() as u64))
    }
}

impl MessagesAdapter {
    /// Thinking must leave room for the answer, and there is a least amount of it.
    fn thinking(&self, max_output: u64) -> Option<Value> {
        let budget = self.effort?.budget().min(max_output / 2);
        (budget >= 1_024).then(|| json!({"type": "enabled", "budget_tokens": budget}))
    }
}

fn path(base_url: &str) -> String {
    if base_url.ends_with("/v1") {
        "/messages"
    } else {
        "/v1/messages"
    }
    .to_owned()
}

/// Puts the blocks of messages into the turns of two sides.
struct Turns<'a> {
    body: &'a mut Vec<u8>,
    open: Option<Side>,
    any: bool,
}

impl Turns<'_> {
    fn say(&mut self, side: Side, blocks: &[u8]) {
        if blocks.is_empty() {
            return;
        }
        if self.open == Some(side) {
            self.body.push(b',');
        } else {
            // The first word is the user's.
            if !self.any && side == Side::Model {
                self.say(
                    Side::User,
                    br#"{"type":"text","text":"(The conversation goes on.)"}"#,
                );
            }
            self.close();
            if self.any {
                self.body.push(b',');
            }
            let head: &[u8] = match side {
                Side::User => br#"{"role":"user","content":["#,
                Side::Model => br#"{"role":"assistant","content":["#,
            };
            self.body.extend_from_slice(head);
            self.open = Some(side);
            self.any = true;
        }
        self.body.extend_from_slice(blocks);
    }

    fn close(&mut self) {
        if self.open.take().is_some() {
            self.body.extend_from_slice(b"]}");
        }
    }
}

fn write_system(request: &ModelRequest, style: &Style<'_>, body: &mut Vec<u8>) {
    let system = scrub(&request.system, style.rewrites);
    let mut blocks = Vec::new();
    if !system.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": system}));
        if let (Some(mark), Some(block)) = (style.mark, blocks.last_mut()) {
            block["cache_control"] = mark.clone();
        }
    }
    let note = request.note.as_deref().filter(|note| !note.trim().is_empty());
    blocks.extend(note.map(|note| json!({"type": "text", "text": note})));
    if !blocks.is_empty() {
        body.extend_from_slice(b"\"system\":");
        write_json(body, &blocks);
        body.push(b',');
    }
}

fn write_tools(tools: &[ToolSpec], simplified: bool, out: &mut Vec<u8>) {
    let wire = |tool: &ToolSpec| {
        let mut schema = tool.parameters.clone();
        if simplified {
            facts::simplify(&mut schema);
        }
        json!({"name": tool.name, "description": tool.description, "input_schema": schema})
    };
    for (at, tool) in tools.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_json(out, &wire(tool));
    }
}

/// The places of the newest messages that can carry a cache mark.
fn marked_places(messages: &[Arc<Message>], style: &Style<'_>) -> Vec<usize> {
    if style.mark.is_none() {
        return Vec::new();
    }
    let able = |message: &Message| {
        message.role == Role::Tool || !message.tool_calls.is_empty() || !message.content.is_blank()
    };
    let places = messages
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, message)| able(message));
    places.map(|(at, _)| at).take(MARKED_MESSAGES).collect()
}

fn write_blocks(blocks: &[Value], marked: bool, style: &Style<'_>, out: &mut Vec<u8>) {
    let carrier = blocks
        .iter()
        .rposition(|block| block["type"] != "thinking" && block["type"] != "redacted_thinking");
    for (at, block) in blocks.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match (marked && carrier == Some(at), style.mark) {
            (true, Some(mark)) => {
                let mut block = block.clone();
                block["cache_control"] = mark.clone();
                write_json(out, &block);
            }
            (true, None) | (false, _) => write_json(out, block),
        }
    }
}

fn blocks(message: &Message, place: usize, style: &Style<'_>) -> Vec<Value> {
    match message.role {
        Role::Assistant => model_blocks(message, style),
        Role::Tool => vec![result_block(message, place, style)],
        Role::User | Role::System => content_blocks(message, place, style),
    }
}

fn model_blocks(message: &Message, style: &Style<'_>) -> Vec<Value> {
    let mut blocks = thinking_blocks(message, style);
    let text = message.content.text();
    let text = scrub(&text, style.rewrites);
    if !text.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    blocks.extend(message.tool_calls.iter().map(|call| {
        let text = object_text(&call.arguments);
        let input = serde_json::from_str::<Value>(&text).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": wire_id(&call.id), "name": wire_name(&call.name), "input": input})
    }));
    blocks
}

/// Stored thinking of this protocol. Anthropic takes only what it has signed.
fn thinking_blocks(message: &Message, style: &Style<'_>) -> Vec<Value> {
    if style.rewrites.contains(&Rewrite::DropSignedThinking) {
        return Vec::new();
    }
    let stored = message.reasoning.details.as_ref().and_then(Value::as_array);
    let is_ours = |block: &&Value| match block["type"].as_str() {
        Some("thinking") => {
            !style.is_native
                || block["signature"]
                    .as_str()
                    .is_some_and(|signed| !signed.is_empty())
        }
        Some("redacted_thinking") => block["data"].is_string(),
        Some(_) | None => false,
    };
    stored
        .map(|blocks| blocks.iter().filter(is_ours).cloned().collect())
        .unwrap_or_default()
}

fn result_block(message: &Message, place: usize, style: &Style<'_>) -> Value {
    let id = wire_id(message.tool_call_id.as_deref().unwrap_or_default());
    let content = if has_images(message) {
        Value::Array(content_blocks(message, place, style))
    } else {
        Value::String(scrub(&message.content.text(), style.rewrites).into_owned())
    };
    json!({"type": "tool_result", "tool_use_id": id, "content": content})
}

/// Text and images, in order; empty texts are refused and left out.
fn content_blocks(message: &Message, place: usize, style: &Style<'_>) -> Vec<Value> {
    let pieces = style.pictures.pieces(message, place, style.images).into_iter();
    let block = |piece| match piece {
        Piece::Text(words) if words.trim().is_empty() => None,
        Piece::Text(words) => Some(json!({"type": "text", "text": scrub(words, style.rewrites)})),
        Piece::Image(sent, _) => Some(picture(sent)),
    };
    pieces.filter_map(block).collect()
}

fn picture(sent: Sent) -> Value {
    match sent {
        Sent::Note(note) => json!({"type": "text", "text": note}),
        Sent::Url(url) => json!({"type": "image", "source": {"type": "url", "url": url}}),
        Sent::Data(data, kind) => {
            json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}})
        }
    }
}

#[cfg(test)]
#[path = "tests/encode.rs"]
mod tests;
