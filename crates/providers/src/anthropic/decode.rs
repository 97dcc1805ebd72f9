//! Reads a Messages answer.
//!
//! An answer is a list of blocks; thinking blocks are kept verbatim, because
//! their signatures hold only for their exact bytes. It is complete when a stop
//! reason has come.

use serde::Deserialize;
use serde_json::{Value, json};
use talaria_llm::assemble::{Assembler, CallPiece};
use talaria_llm::sse::Event;
use talaria_recovery::Partial;
use talaria_types::{Completion, Delta, FinishReason, Reasoning, Usage};

use crate::loose::{Loose, is_error, read};
use crate::wire::{Decoder, WireError};

/// One event of a stream.
#[derive(Debug, Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Loose<'a>>,
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    message: Option<Box<Value>>,
    #[serde(default)]
    content_block: Option<Box<Value>>,
    #[serde(borrow, default)]
    delta: Option<BlockDelta<'a>>,
    #[serde(default)]
    usage: Option<Box<Value>>,
}

/// A piece of a block, or of the message's end.
#[derive(Debug, Deserialize)]
struct BlockDelta<'a> {
    #[serde(borrow, default)]
    text: Option<Loose<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Loose<'a>>,
    #[serde(borrow, default)]
    signature: Option<Loose<'a>>,
    #[serde(borrow, default)]
    partial_json: Option<Loose<'a>>,
    #[serde(borrow, default)]
    stop_reason: Option<Loose<'a>>,
}

/// One answer of Messages.
#[derive(Debug)]
pub(super) struct MessagesDecoder {
    answer: Assembler,
    begun: bool,
    over: bool,
    finish: Option<FinishReason>,
    /// Thinking blocks with the place they have in the answer.
    thinking: Vec<(u64, Value)>,
    /// Calls whose arguments came with the block's start, if no others follow.
    given: Vec<(u64, String)>,
    told: Told,
}

/// Tokens as the protocol counts them: cached ones apart.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    input: u64,
    written: u64,
    read: u64,
    output: u64,
}

impl MessagesDecoder {
    /// Ready for the first event.
    pub(super) fn new(salt: u64) -> Self {
        Self {
            answer: Assembler::new(salt),
            begun: false,
            over: false,
            finish: None,
            thinking: Vec::new(),
            given: Vec::new(),
            told: Told::default(),
        }
    }

    fn frame(&mut self, frame: Frame<'_>, json: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        match frame.kind.as_ref().and_then(Loose::text) {
            Some("message_start") => {
                self.begun = true;
                self.start(&frame.message.unwrap_or_default());
            }
            Some("content_block_start") => {
                self.begun = true;
                self.block(
                    frame.index.unwrap_or(0),
                    *frame.content_block.unwrap_or_default(),
                    out,
                );
            }
            Some("content_block_delta") => {
                if let Some(delta) = &frame.delta {
                    self.delta(frame.index.unwrap_or(0), delta, out);
                }
            }
            Some("message_delta") => {
                self.usage(frame.usage.as_deref());
                if let Some(word) = frame
                    .delta
                    .as_ref()
                    .and_then(|delta| delta.stop_reason.as_ref()?.text())
                {
                    self.finish = Some(finish(word));
                }
            }
            Some("message_stop") => self.over = true,
            Some("error") => {
                return Err(WireError::Refused {
                    body: json.to_owned(),
                });
            }
            None if read(json, |document: Value| is_error(&document)).unwrap_or(false) => {
                return Err(WireError::Refused {
                    body: json.to_owned(),
                });
            }
            // Pings, ends of blocks, and events newer than this program.
            Some(_) | None => {}
        }
        Ok(())
    }

    fn start(&mut self, message: &Value) {
        self.answer
            .identify(message["id"].as_str(), message["model"].as_str());
        self.usage(message.get("usage"));
    }

    fn usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        // The end tells the totals again, or only what has changed.
        let keep = |place: &mut u64, name: &str| {
            if let Some(tokens) = usage.get(name).and_then(Value::as_u64) {
                *place = tokens.max(*place);
            }
        };
        keep(&mut self.told.input, "input_tokens");
        keep(&mut self.told.written, "cache_creation_input_tokens");
        keep(&mut self.told.read, "cache_read_input_tokens");
        keep(&mut self.told.output, "output_tokens");
        let told = self.told;
        let usage = Usage {
            prompt_tokens: told.input + told.written + told.read,
            completion_tokens: told.output,
            cache_read_tokens: told.read,
            cache_write_tokens: told.written,
            reasoning_tokens: 0,
        };
        if usage.prompt_tokens > 0 || usage.completion_tokens > 1 {
            self.answer.usage(usage);
        }
    }

    fn block(&mut self, index: u64, block: Value, out: &mut Vec<Delta>) {
        match block["type"].as_str() {
            Some("text") => self.answer.text(block["text"].as_str().unwrap_or_default(), out),
            Some("thinking") => {
                self.answer
                    .reasoning(block["thinking"].as_str().unwrap_or_default(), out);
                self.thinking.push((index, block));
            }
            Some("redacted_thinking") => self.thinking.push((index, block)),
            Some("tool_use") => {
                let piece = CallPiece {
                    index: Some(index),
                    id: block["id"].as_str(),
                    name: block["name"].as_str(),
                    ..CallPiece::default()
                };
                self.answer.call(piece, out);
                self.given.push((
                    index,
                    block
                        .get("input")
                        .map_or_else(|| "{}".to_owned(), Value::to_string),
                ));
            }
            Some(_) | None => {}
        }
    }

    fn delta(&mut self, index: u64, delta: &BlockDelta<'_>, out: &mut Vec<Delta>) {
        if let Some(Loose::Text(text)) = &delta.text {
            self.answer.text(text, out);
        }
        if let Some(text) = delta.thinking.as_ref().and_then(Loose::text) {
            self.answer.reasoning(text, out);
            self.grow(index, "thinking", text);
        }
        if let Some(text) = delta.signature.as_ref().and_then(Loose::text) {
            self.grow(index, "signature", text);
        }
        if let Some(text) = delta.partial_json.as_ref().and_then(Loose::text) {
            self.given.retain(|(given, _)| *given != index);
            let piece = CallPiece {
                index: Some(index),
                arguments: Some(text),
                ..CallPiece::default()
            };
            self.answer.call(piece, out);
        }
    }

    fn grow(&mut self, index: u64, member: &str, text: &str) {
        let Some((_, block)) = self.thinking.iter_mut().rev().find(|(at, _)| *at == index) else {
            return;
        };
        match block.get_mut(member) {
            Some(Value::String(whole)) => whole.push_str(text),
            Some(_) | None => block[member] = text.into(),
        }
    }
}

fn finish(word: &str) -> FinishReason {
    match word {
        "end_turn" | "stop_sequence" | "stop" => FinishReason::Stop,
        "tool_use" | "tool_calls" => FinishReason::ToolCalls,
        "max_tokens" | "length" => FinishReason::Length,
        "refusal" | "content_filter" => FinishReason::Refused,
        "model_context_window_exceeded" => FinishReason::WindowExceeded,
        other => FinishReason::Other(other.to_owned()),
    }
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), WireError> {
        let data = event.data.trim();
        if event.name == "error" && !data.is_empty() {
            return Err(WireError::Refused {
                body: data.to_owned(),
            });
        }
        match data.as_bytes().first() {
            Some(b'{' | b'[') => {}
            Some(_) | None => return Ok(()),
        }
        match serde_json::from_str::<Frame<'_>>(data) {
            Ok(frame) => self.frame(frame, data, out),
            Err(_) => {
                let mended = talaria_llm::json::mend_surrogates(data);
                match serde_json::from_str::<Frame<'_>>(&mended) {
                    Ok(frame) => self.frame(frame, data, out),
                    Err(_) => crate::loose::refuse_or(data, "an event is not readable"),
                }
            }
        }
    }

    fn document(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        let invalid = |why| WireError::Invalid {
            why,
            body: body.to_owned(),
        };
        let message =
            read(body, |message: Value| message).map_err(|_| invalid("the answer is not readable"))?;
        if is_error(&message) {
            return Err(WireError::Refused {
                body: body.to_owned(),
            });
        }
        let blocks = message["content"]
            .as_array()
            .ok_or_else(|| invalid("the answer has no content"))?;
        self.begun = true;
        self.over = true;
        self.start(&message);
        for (index, block) in (0..).zip(blocks) {
            self.block(index, block.clone(), out);
        }
        self.finish = Some(finish(message["stop_reason"].as_str().unwrap_or("end_turn")));
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.over || self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Completion, WireError> {
        if !self.begun || !self.is_complete() {
            return Err(WireError::Cut);
        }
        for (index, input) in std::mem::take(&mut self.given) {
            self.answer.whole_arguments(index, &input);
        }
        let reason = match self.finish.take() {
            Some(reason) => reason,
            None if self.answer.calls_are_whole() => FinishReason::Stop,
            None => return Err(WireError::Cut),
        };
        let blocks: Vec<Value> = std::mem::take(&mut self.thinking)
            .into_iter()
            .map(|(_, block)| block)
            .collect();
        let details = (!blocks.is_empty()).then(|| json!(blocks));
        let reasoning = Reasoning {
            details,
            ..Reasoning::default()
        };
        Ok(std::mem::take(&mut self.answer).finish(reason, reasoning, out))
    }

    fn partial(&self) -> Partial {
        self.answer.partial()
    }
}

#[cfg(test)]
#[path = "tests/decode.rs"]
mod tests;
