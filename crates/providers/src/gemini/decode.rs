//! Reads a `generateContent` answer.
//!
//! A stream is a row of whole small answers. Calls come whole, each as one part;
//! the answer is complete when a finish reason has come.

use serde::Deserialize;
use serde_json::{Map, Value};
use talaria_llm::assemble::{Assembler, CallPiece};
use talaria_llm::sse::Event;
use talaria_recovery::Partial;
use talaria_types::{Completion, Delta, FinishReason, Reasoning, Usage};

use super::SIGNATURE;
use crate::loose::{Loose, is_error, read, refuse_or};
use crate::wire::{Decoder, WireError};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(default)]
    usage_metadata: Option<Box<Value>>,
    #[serde(default)]
    prompt_feedback: Option<Box<Value>>,
    #[serde(borrow, default)]
    model_version: Option<Loose<'a>>,
    #[serde(borrow, default)]
    response_id: Option<Loose<'a>>,
    #[serde(default)]
    error: Option<Box<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Option<u64>,
    #[serde(borrow, default)]
    content: Option<Said<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Loose<'a>>,
}

#[derive(Debug, Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Loose<'a>>,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(borrow, default)]
    function_call: Option<Call<'a>>,
    #[serde(default)]
    thought_signature: Option<Box<Value>>,
}

#[derive(Debug, Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<Loose<'a>>,
    #[serde(borrow, default)]
    name: Option<Loose<'a>>,
    #[serde(borrow, default)]
    args: Option<Loose<'a>>,
}

/// One answer of `generateContent`.
#[derive(Debug)]
pub(super) struct GeminiDecoder {
    answer: Assembler,
    finish: Option<FinishReason>,
    calls: u64,
    begun: bool,
    whole: bool,
}

impl GeminiDecoder {
    /// Ready for the first event.
    pub(super) fn new(salt: u64) -> Self {
        Self {
            answer: Assembler::new(salt),
            finish: None,
            calls: 0,
            begun: false,
            whole: false,
        }
    }

    fn take(&mut self, json: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
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
        let id = chunk.response_id.as_ref().and_then(Loose::text);
        self.answer
            .identify(id, chunk.model_version.as_ref().and_then(Loose::text));
        if let Some(usage) = chunk.usage_metadata.as_deref().and_then(usage) {
            self.answer.usage(usage);
        }
        let blocked = chunk
            .prompt_feedback
            .as_ref()
            .and_then(|feedback| feedback["blockReason"].as_str());
        if blocked.is_some_and(|reason| reason != "BLOCK_REASON_UNSPECIFIED") {
            self.begun = true;
            self.finish = Some(FinishReason::Refused);
        }
        for candidate in chunk.candidates.unwrap_or_default() {
            if candidate.index.unwrap_or(0) == 0 {
                self.candidate(candidate, json, out)?;
            }
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        candidate: Candidate<'_>,
        json: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), WireError> {
        self.begun = true;
        for part in candidate
            .content
            .and_then(|content| content.parts)
            .unwrap_or_default()
        {
            self.part(part, out);
        }
        if let Some(word) = candidate.finish_reason.as_ref().and_then(Loose::text) {
            if matches!(
                word,
                "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS"
            ) {
                let why = "the model wrote a tool call that its own server cannot read";
                return Err(WireError::Invalid {
                    why,
                    body: json.to_owned(),
                });
            }
            if word != "FINISH_REASON_UNSPECIFIED" {
                self.finish = Some(finish(word));
            }
        }
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, out: &mut Vec<Delta>) {
        if let Some(Loose::Text(text)) = &part.text {
            if part.thought == Some(true) {
                self.answer.reasoning(text, out);
            } else {
                self.answer.text(text, out);
            }
        }
        let Some(call) = part.function_call else { return };
        let mut extra = Map::new();
        if let Some(signature) = part.thought_signature {
            extra.insert(SIGNATURE.to_owned(), *signature);
        }
        let arguments = call.args.and_then(Loose::into_text);
        let piece = CallPiece {
            index: Some(self.calls),
            id: call.id.as_ref().and_then(Loose::text),
            name: call.name.as_ref().and_then(Loose::text),
            arguments: Some(arguments.as_deref().unwrap_or("{}")),
            extra,
        };
        self.calls += 1;
        self.answer.call(piece, out);
    }
}

fn finish(word: &str) -> FinishReason {
    match word {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" => {
            FinishReason::Refused
        }
        "model_context_window_exceeded" => FinishReason::WindowExceeded,
        other => FinishReason::Other(other.to_owned()),
    }
}

/// Thoughts are counted apart from the answer here; elsewhere they are part of it.
fn usage(told: &Value) -> Option<Usage> {
    let count = |name: &str| told.get(name).and_then(Value::as_u64).unwrap_or(0);
    let thoughts = count("thoughtsTokenCount");
    let usage = Usage {
        prompt_tokens: count("promptTokenCount") + count("toolUsePromptTokenCount"),
        completion_tokens: count("candidatesTokenCount") + thoughts,
        cache_read_tokens: count("cachedContentTokenCount"),
        cache_write_tokens: 0,
        reasoning_tokens: thoughts,
    };
    (usage.prompt_tokens > 0 || usage.completion_tokens > 0).then_some(usage)
}

impl Decoder for GeminiDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), WireError> {
        let data = event.data.trim();
        match data.as_bytes().first() {
            Some(b'{' | b'[') => self.take(data, out),
            Some(_) if event.name == "error" => Err(WireError::Refused {
                body: data.to_owned(),
            }),
            Some(_) | None => Ok(()),
        }
    }

    fn document(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), WireError> {
        // Without `alt=sse` a stream is one list of chunks.
        let chunks = read(body, |document: Value| document).ok();
        match chunks {
            Some(Value::Array(chunks)) if !chunks.iter().any(is_error) => {
                for chunk in chunks {
                    self.take(&chunk.to_string(), out)?;
                }
            }
            Some(Value::Array(_)) => {
                return Err(WireError::Refused {
                    body: body.to_owned(),
                });
            }
            Some(document) if document.get("candidates").is_none() && is_error(&document) => {
                return Err(WireError::Refused {
                    body: body.to_owned(),
                });
            }
            Some(_) | None => self.take(body, out)?,
        }
        self.whole = true;
        if self.begun {
            return Ok(());
        }
        Err(WireError::Invalid {
            why: "the answer has no candidates",
            body: body.to_owned(),
        })
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Nothing marks the end of this protocol's streams; the line does.
    fn is_over(&self) -> bool {
        false
    }

    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Completion, WireError> {
        let reason = match self.finish.take() {
            Some(reason) => reason,
            None if self.whole => FinishReason::Stop,
            None => return Err(WireError::Cut),
        };
        Ok(std::mem::take(&mut self.answer).finish(reason, Reasoning::default(), out))
    }

    fn partial(&self) -> Partial {
        self.answer.partial()
    }
}

#[cfg(test)]
#[path = "tests/decode.rs"]
mod tests;
