//! The shapes of a Chat Completions answer, read loosely.

use serde::Deserialize;
use serde_json::{Map, Value};
use talaria_types::{FinishReason, Usage};

use crate::loose::Loose;

/// A chunk of a stream, or a whole answer: they differ in `delta` and `message` only.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default)]
    pub(super) usage: Option<Box<Value>>,
    #[serde(default)]
    pub(super) error: Option<Box<Value>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) index: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) delta: Option<Words<'a>>,
    #[serde(borrow, default)]
    pub(super) message: Option<Box<Words<'a>>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<Loose<'a>>,
    #[serde(default)]
    pub(super) error: Option<Box<Value>>,
}

/// What is said: in pieces or whole.
#[derive(Debug, Deserialize)]
pub(super) struct Words<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<Loose<'a>>,
    #[serde(borrow, default, alias = "reasoning_text")]
    pub(super) reasoning: Option<Loose<'a>>,
    #[serde(default)]
    pub(super) reasoning_details: Option<Vec<Value>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    /// What came before `tool_calls`; some servers still send it.
    #[serde(borrow, default)]
    pub(super) function_call: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Call<'a> {
    #[serde(borrow, default)]
    pub(super) index: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) id: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
    /// Always `function`; not kept.
    #[serde(borrow, default, rename = "type")]
    pub(super) _type: Option<Loose<'a>>,
    #[serde(flatten)]
    pub(super) extra: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Loose<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<Loose<'a>>,
}

impl<'a> From<Function<'a>> for Call<'a> {
    fn from(function: Function<'a>) -> Self {
        Self {
            index: None,
            id: None,
            function: Some(function),
            _type: None,
            extra: Map::new(),
        }
    }
}

/// The tokens in the words of any server that speaks this protocol; none when
/// they are not told (all zero, or a negative number for "unknown").
pub(super) fn usage(told: &Value) -> Option<Usage> {
    let count = |names: &[&str]| names.iter().find_map(|path| told.pointer(path).and_then(tokens));
    let usage = Usage {
        prompt_tokens: count(&["/prompt_tokens", "/input_tokens"]).unwrap_or(0),
        completion_tokens: count(&["/completion_tokens", "/output_tokens"]).unwrap_or(0),
        cache_read_tokens: count(&[
            "/prompt_tokens_details/cached_tokens",
            "/prompt_cache_hit_tokens",
            "/cached_tokens",
            "/cache_read_input_tokens",
            "/input_tokens_details/cached_tokens",
        ])
        .unwrap_or(0),
        cache_write_tokens: count(&[
            "/prompt_tokens_details/cache_write_tokens",
            "/prompt_tokens_details/cache_creation_tokens",
            "/cache_creation_input_tokens",
        ])
        .unwrap_or(0),
        reasoning_tokens: count(&[
            "/completion_tokens_details/reasoning_tokens",
            "/output_tokens_details/reasoning_tokens",
            "/reasoning_tokens",
        ])
        .unwrap_or(0),
    };
    (usage.prompt_tokens > 0 || usage.completion_tokens > 0).then_some(usage)
}

fn tokens(value: &Value) -> Option<u64> {
    let whole = value.as_u64();
    // Some servers count in floating point.
    whole.or_else(|| {
        value
            .as_f64()
            .filter(|count| *count >= 0.0 && *count < 1e15)
            .map(|count| count as u64)
    })
}

/// The reason an answer ended, in the words of all servers.
pub(super) fn finish(word: &str) -> FinishReason {
    match word.to_ascii_lowercase().as_str() {
        "stop" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "completed" => FinishReason::Stop,
        "tool_calls" | "tool_call" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "max_output_tokens" => FinishReason::Length,
        "model_context_window_exceeded" | "context_length_exceeded" | "model_length" => {
            FinishReason::WindowExceeded
        }
        "content_filter" | "refusal" | "safety" | "sensitive" => FinishReason::Refused,
        _ => FinishReason::Other(word.to_owned()),
    }
}

/// Reasons that are no end of an answer but a server's failure, with the status they amount to.
pub(super) fn failed(word: &str) -> Option<u16> {
    match word {
        "error" | "network_error" => Some(502),
        "insufficient_system_resource" => Some(503),
        _ => None,
    }
}
