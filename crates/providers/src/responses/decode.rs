//! Reads a Responses answer.
//!
//! An answer is a list of items. Text and thoughts stream as pieces; whole items
//! come when they are done, and once more with the end, from which whatever was
//! not streamed is filled in.

use serde::Deserialize;
use serde_json::{Value, json};
use talaria_llm::assemble::{Assembler, CallPiece};
use talaria_llm::sse::Event;
use talaria_recovery::Partial;
use talaria_types::{Completion, Delta, FinishReason, Reasoning, Usage};

use crate::loose::{Loose, is_error, read, refuse_or};
use crate::wire::{Decoder, WireError};

#[derive(Debug, Deserialize)]
struct Frame<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Loose<'a>>,
    #[serde(default)]
    output_index: Option<u64>,
    #[serde(borrow, default)]
    delta: Option<Loose<'a>>,
    #[serde(borrow, default)]
    arguments: Option<Loose<'a>>,
    #[serde(default)]
    item: Option<Box<Value>>,
    #[serde(default)]
    response: Option<Box<Value>>,
}

/// One answer of Responses.
#[derive(Debug)]
pub(super) struct ResponsesDecoder {
    answer: Assembler,
    finish: Option<FinishReason>,
    refused: bool,
    /// `[DONE]` has come, which not every server sends.
    over: bool,
    /// Items that have begun and those that are done.
    begun: usize,
    done: Vec<Value>,
    /// Items of which text or thoughts have been streamed.
    streamed: Vec<u64>,
    reasoning: Vec<Value>,
    messages: Vec<Value>,
}

impl ResponsesDecoder {
    /// Ready for the first event.
    pub(super) fn new(salt: u64) -> Self {
        Self {
            answer: Assembler::new(salt),
            finish: None,
            refused: false,
            over: false,
            begun: 0,
            done: Vec::new(),
            streamed: Vec::new(),
            reasoning: Vec::new(),
            messages: Vec::new(),
        }
    }

    fn frame(&mut self, frame: Frame<'_>, json: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        let index = frame.output_index.unwrap_or(0);
        let piece = frame.delta.as_ref().and_then(Loose::text);
        match frame.kind.as_ref().and_then(Loose::text).unwrap_or_default() {
            "response.created" | "response.in_progress" => {
                let response = frame.response.unwrap_or_default();
                self.answer
                    .identify(response["id"].as_str(), response["model"].as_str());
            }
            "response.output_item.added" => {
                self.begun += 1;
                self.open(index, &frame.item.unwrap_or_default(), out);
            }
            "response.output_text.delta" => {
                self.mark(index);
                self.answer.text(piece.unwrap_or_default(), out);
            }
            "response.refusal.delta" => {
                self.mark(index);
                self.refused = true;
                self.answer.text(piece.unwrap_or_default(), out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.mark(index);
                self.answer.reasoning(piece.unwrap_or_default(), out);
            }
            "response.reasoning_summary_part.added" => self.part_break(index, out),
            "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
                let call = CallPiece {
                    index: Some(index),
                    arguments: piece,
                    ..CallPiece::default()
                };
                self.answer.call(call, out);
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = frame.arguments.as_ref().and_then(Loose::text) {
                    self.answer.whole_arguments(index, arguments);
                }
            }
            "response.output_item.done" => self.close(index, *frame.item.unwrap_or_default(), out),
            "response.completed" | "response.incomplete" | "response.done" => {
                return self.end(&frame.response.unwrap_or_default(), out);
            }
            "response.failed" | "response.cancelled" | "error" => {
                return Err(WireError::Refused { body: refusal(json) });
            }
            "" => return refuse_or(json, "an event is not readable"),
            // Parts, annotations, and events newer than this program.
            _ => {}
        }
        Ok(())
    }

    fn mark(&mut self, index: u64) {
        if !self.streamed.contains(&index) {
            self.streamed.push(index);
        }
    }

    /// Summaries of several thoughts are paragraphs.
    fn part_break(&mut self, index: u64, out: &mut Vec<Delta>) {
        if self.streamed.contains(&index) {
            self.answer.reasoning("\n\n", out);
        }
    }

    fn open(&mut self, index: u64, item: &Value, out: &mut Vec<Delta>) {
        if matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call")) {
            let call = CallPiece {
                index: Some(index),
                id: item["call_id"].as_str().or_else(|| item["id"].as_str()),
                name: item["name"].as_str(),
                ..CallPiece::default()
            };
            self.answer.call(call, out);
        }
    }

    /// Takes a whole item, and from it what was not streamed.
    fn close(&mut self, index: u64, item: Value, out: &mut Vec<Delta>) {
        let streamed = self.streamed.contains(&index);
        match item["type"].as_str() {
            Some("message") => {
                if !streamed {
                    for text in texts(&item["content"]) {
                        self.answer.text(text, out);
                    }
                }
                self.messages.push(item.clone());
            }
            Some("reasoning") => {
                if !streamed {
                    for text in texts(&item["summary"]).chain(texts(&item["content"])) {
                        self.answer.reasoning(text, out);
                    }
                }
                self.reasoning.push(item.clone());
            }
            Some("function_call") => {
                self.open(index, &item, out);
                self.answer
                    .whole_arguments(index, item["arguments"].as_str().unwrap_or("{}"));
            }
            Some("custom_tool_call") => {
                self.open(index, &item, out);
                self.answer
                    .whole_arguments(index, &json!({"input": item["input"]}).to_string());
            }
            Some(_) | None => {}
        }
        self.mark(index);
        self.done.push(item);
    }

    fn end(&mut self, response: &Value, out: &mut Vec<Delta>) -> Result<(), WireError> {
        self.answer
            .identify(response["id"].as_str(), response["model"].as_str());
        if let Some(usage) = response.get("usage").and_then(usage) {
            self.answer.usage(usage);
        }
        if self.done.is_empty() {
            for (index, item) in (0..).zip(
                response["output"]
                    .as_array()
                    .map(Vec::as_slice)
                    .unwrap_or_default(),
            ) {
                self.close(index, item.clone(), out);
            }
        }
        let reason = response
            .pointer("/incomplete_details/reason")
            .and_then(Value::as_str);
        self.finish = Some(match (response["status"].as_str(), reason) {
            (Some("failed" | "cancelled"), _) => {
                return Err(WireError::Refused {
                    body: json!({"error": response["error"]}).to_string(),
                });
            }
            (_, Some("content_filter")) => FinishReason::Refused,
            (_, Some("model_context_window_exceeded")) => FinishReason::WindowExceeded,
            (_, Some("max_output_tokens" | "length")) | (Some("incomplete"), _) => FinishReason::Length,
            _ if self.refused => FinishReason::Refused,
            _ => FinishReason::Stop,
        });
        Ok(())
    }
}

fn texts(parts: &Value) -> impl Iterator<Item = &str> {
    let parts = parts.as_array().map(Vec::as_slice).unwrap_or_default();
    parts
        .iter()
        .filter_map(|part| part["text"].as_str().or_else(|| part["refusal"].as_str()))
}

fn usage(told: &Value) -> Option<Usage> {
    let count = |path: &str| told.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let usage = Usage {
        prompt_tokens: count("/input_tokens"),
        completion_tokens: count("/output_tokens"),
        cache_read_tokens: count("/input_tokens_details/cached_tokens"),
        cache_write_tokens: count("/input_tokens_details/cache_write_tokens"),
        reasoning_tokens: count("/output_tokens_details/reasoning_tokens"),
    };
    (usage.prompt_tokens > 0 || usage.completion_tokens > 0).then_some(usage)
}

/// A failure's own words, in the envelope that errors have everywhere else.
fn refusal(json: &str) -> String {
    let lifted = read(json, |event: Value| {
        if let Some(error) = event.pointer("/response/error").filter(|error| !error.is_null()) {
            return Some(json!({"error": error}));
        }
        let flat = event.get("error").is_none_or(Value::is_null) && event.get("message").is_some();
        flat.then(|| json!({"error": {"code": event["code"], "message": event["message"], "param": event["param"]}}))
    });
    lifted
        .ok()
        .flatten()
        .map_or_else(|| json.to_owned(), |body| body.to_string())
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), WireError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.over = true;
            return Ok(());
        }
        match data.as_bytes().first() {
            Some(b'{' | b'[') => {}
            Some(_) if event.name == "error" => {
                return Err(WireError::Refused {
                    body: data.to_owned(),
                });
            }
            Some(_) | None => return Ok(()),
        }
        match serde_json::from_str::<Frame<'_>>(data) {
            Ok(frame) => self.frame(frame, data, out),
            Err(_) => {
                let mended = talaria_llm::json::mend_surrogates(data);
                match serde_json::from_str::<Frame<'_>>(&mended) {
                    Ok(frame) => self.frame(frame, data, out),
                    Err(_) => refuse_or(data, "an event is not readable"),
                }
            }
        }
    }

    fn document(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        let invalid = |why| WireError::Invalid {
            why,
            body: body.to_owned(),
        };
        let response =
            read(body, |response: Value| response).map_err(|_| invalid("the answer is not readable"))?;
        if response.get("output").is_none() {
            if is_error(&response) {
                return Err(WireError::Refused {
                    body: body.to_owned(),
                });
            }
            return Err(invalid("the answer has no output"));
        }
        self.end(&response, out)
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Completion, WireError> {
        // Some servers leave out the last event; then the line's own last word must
        // have come, and every item whole.
        let all_done = self.over && self.begun > 0 && self.begun == self.done.len();
        let reason = match self.finish.take() {
            Some(reason) => reason,
            None if all_done => FinishReason::Stop,
            None => return Err(WireError::Cut),
        };
        let list = |items: &mut Vec<Value>| {
            let items = std::mem::take(items);
            (!items.is_empty()).then_some(Value::Array(items))
        };
        let reasoning = Reasoning {
            response_items: list(&mut self.reasoning),
            message_items: list(&mut self.messages),
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
