//! Reads a Chat Completions answer.
//!
//! One answer is choice 0; others are ignored. An answer is complete when a
//! finish reason or `[DONE]` has come; usage may follow the former.

use serde_json::{Value, json};
use talaria_llm::assemble::{Assembler, CallPiece};
use talaria_llm::sse::Event;
use talaria_recovery::Partial;
use talaria_types::{Completion, Delta, FinishReason, Reasoning};

use super::parse::{self, Call, Choice, Chunk, Words};
use crate::loose::{Loose, is_error, read, refuse_or};
use crate::wire::{Decoder, WireError};

/// One answer of Chat Completions.
#[derive(Debug)]
pub(super) struct ChatDecoder {
    answer: Assembler,
    finish: Option<FinishReason>,
    /// `[DONE]` has come, or the answer came whole.
    done: bool,
    /// A choice has come.
    chosen: bool,
    refused: bool,
    /// `reasoning_content`, verbatim.
    content: Option<String>,
    details: Vec<Value>,
}

impl ChatDecoder {
    /// Ready for the first event; `salt` as in [`Assembler::new`].
    pub(super) fn new(salt: u64) -> Self {
        Self {
            answer: Assembler::new(salt),
            finish: None,
            done: false,
            chosen: false,
            refused: false,
            content: None,
            details: Vec::new(),
        }
    }

    fn take(&mut self, json: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        // A stream has thousands of these; the mending of broken ones must not cost the others anything.
        match serde_json::from_str::<Chunk<'_>>(json) {
            Ok(chunk) => self.chunk(chunk, json, out),
            Err(_) => {
                let mended = talaria_llm::json::mend_surrogates(json);
                match serde_json::from_str::<Chunk<'_>>(&mended) {
                    Ok(chunk) => self.chunk(chunk, json, out),
                    Err(_) => refuse_or(json, "an event is not readable"),
                }
            }
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, json: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        if chunk.error.is_some() {
            return Err(WireError::Refused {
                body: json.to_owned(),
            });
        }
        let id = chunk.id.as_ref().and_then(Loose::text);
        self.answer
            .identify(id, chunk.model.as_ref().and_then(Loose::text));
        if let Some(usage) = chunk.usage.as_deref().and_then(parse::usage) {
            self.answer.usage(usage);
        } else if chunk.choices.is_none()
            && read(json, |document: Value| is_error(&document)).unwrap_or(false)
        {
            return Err(WireError::Refused {
                body: json.to_owned(),
            });
        }
        for choice in chunk.choices.unwrap_or_default() {
            self.choice(choice, json, out)?;
        }
        Ok(())
    }

    fn choice(&mut self, choice: Choice<'_>, json: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        if choice.error.is_some() {
            return Err(WireError::Refused {
                body: json.to_owned(),
            });
        }
        if choice.index.as_ref().and_then(Loose::number).unwrap_or(0) != 0 {
            return Ok(());
        }
        if let Some(words) = choice.delta.or_else(|| choice.message.map(|words| *words)) {
            self.chosen = true;
            self.words(words, out);
        }
        if let Some(word) = choice.finish_reason.as_ref().and_then(Loose::text) {
            if let Some(status) = parse::failed(word) {
                let body =
                    json!({"error": {"message": format!("the answer ended with {word}"), "code": status}});
                return Err(WireError::Refused {
                    body: body.to_string(),
                });
            }
            // vLLM's word for a request that was dropped.
            if word == "abort" {
                return Err(WireError::Cut);
            }
            self.finish = Some(parse::finish(word));
        }
        Ok(())
    }

    fn words(&mut self, words: Words<'_>, out: &mut Vec<Delta>) {
        let own = words.reasoning_content.as_ref().and_then(Loose::text);
        if let Some(text) = own {
            self.content.get_or_insert_default().push_str(text);
        }
        let details = words.reasoning_details.unwrap_or_default();
        let told = own.or_else(|| words.reasoning.as_ref().and_then(Loose::text));
        match told {
            Some(text) => self.answer.reasoning(text, out),
            None => {
                for text in details.iter().filter_map(detail_text) {
                    self.answer.reasoning(text, out);
                }
            }
        }
        merge_details(&mut self.details, details);
        match words.content {
            Some(Loose::Text(text)) => self.answer.text(&text, out),
            Some(Loose::Other(value)) => {
                self.parts(value.as_array().map(Vec::as_slice).unwrap_or_default(), out);
            }
            Some(Loose::Null) | None => {}
        }
        if let Some(text) = words.refusal.as_ref().and_then(Loose::text) {
            self.refused = true;
            self.answer.text(text, out);
        }
        for call in words.tool_calls.unwrap_or_default() {
            self.call(call, out);
        }
        if let Some(function) = words.function_call {
            self.call(function.into(), out);
        }
    }

    /// Content as a list (Mistral): thinking and text.
    fn parts(&mut self, parts: &[Value], out: &mut Vec<Delta>) {
        for part in parts {
            match part {
                Value::String(text) => self.answer.text(text, out),
                Value::Object(part) => match (part.get("text"), part.get("thinking")) {
                    (Some(Value::String(text)), _) => self.answer.text(text, out),
                    (_, Some(Value::String(text))) => self.answer.reasoning(text, out),
                    (_, Some(Value::Array(inner))) => {
                        for text in inner
                            .iter()
                            .filter_map(|piece| piece.get("text").and_then(Value::as_str))
                        {
                            self.answer.reasoning(text, out);
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
    }

    fn call(&mut self, call: Call<'_>, out: &mut Vec<Delta>) {
        let id = call.id.and_then(Loose::into_text);
        let (name, arguments) = call
            .function
            .map_or((None, None), |function| (function.name, function.arguments));
        let arguments = arguments.and_then(Loose::into_text);
        let piece = CallPiece {
            index: call.index.as_ref().and_then(Loose::number),
            id: id.as_deref(),
            name: name.as_ref().and_then(Loose::text),
            arguments: arguments.as_deref(),
            extra: call.extra,
        };
        self.answer.call(piece, out);
    }

    fn ending(&self) -> Result<FinishReason, WireError> {
        match &self.finish {
            Some(_) if self.refused => Ok(FinishReason::Refused),
            Some(reason) => Ok(reason.clone()),
            // Without a reason only the last line vouches for the answer, and half a call never counts.
            None if self.done && self.answer.calls_are_whole() => Ok(FinishReason::Stop),
            None => Err(WireError::Cut),
        }
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), WireError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if event.name == "error" && !data.is_empty() {
            return Err(WireError::Refused {
                body: data.to_owned(),
            });
        }
        match data.as_bytes().first() {
            Some(b'{' | b'[') => self.take(data, out),
            // A keep-alive in disguise.
            Some(_) | None => Ok(()),
        }
    }

    fn document(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        self.take(body, out)?;
        self.done = true;
        if self.chosen {
            return Ok(());
        }
        let has_choices = read(body, |document: Value| {
            document["choices"].as_array().is_some_and(|all| !all.is_empty())
        });
        let why = if has_choices.unwrap_or(false) {
            "the answer's message is null"
        } else {
            "the answer has no choices"
        };
        Err(WireError::Invalid {
            why,
            body: body.to_owned(),
        })
    }

    fn is_complete(&self) -> bool {
        self.done || self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.done
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Completion, WireError> {
        if self.done && !self.chosen && self.finish.is_none() {
            return Err(WireError::Invalid {
                why: "the answer has no choices",
                body: String::new(),
            });
        }
        let reason = self.ending()?;
        let details = std::mem::take(&mut self.details);
        let reasoning = Reasoning {
            content: self.content.take(),
            details: (!details.is_empty()).then_some(Value::Array(details)),
            ..Reasoning::default()
        };
        Ok(std::mem::take(&mut self.answer).finish(reason, reasoning, out))
    }

    fn partial(&self) -> Partial {
        self.answer.partial()
    }
}

fn detail_text(block: &Value) -> Option<&str> {
    block
        .get("text")
        .or_else(|| block.get("summary"))
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// Joins streamed pieces of reasoning blocks into the blocks they are pieces of.
fn merge_details(blocks: &mut Vec<Value>, pieces: Vec<Value>) {
    for piece in pieces {
        let continues = blocks
            .last()
            .is_some_and(|last| last["type"] == piece["type"] && last["index"] == piece["index"]);
        let (Some(last), true) = (blocks.last_mut().and_then(Value::as_object_mut), continues) else {
            blocks.push(piece);
            continue;
        };
        let Value::Object(piece) = piece else { continue };
        for (key, value) in piece {
            match (key.as_str(), last.get_mut(&key), value) {
                (_, _, Value::Null) => {}
                ("text" | "summary" | "data", Some(Value::String(whole)), Value::String(more)) => {
                    whole.push_str(&more);
                }
                (_, _, value) => {
                    last.insert(key, value);
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/decode.rs"]
mod tests;
