//! One scripted answer, as it stands in a scenario file.
//!
//! Every key is optional. What a step says and how it says it (delays, cuts, bad bytes) are keys of
//! the same object, because a fault is only a fault in the middle of some answer.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A scripted answer of the model.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Step {
    /// What the assistant says; templates are filled in.
    pub text: Option<String>,
    /// What it thinks.
    pub reasoning: Option<String>,
    /// The field a chat answer carries its thinking in.
    pub reasoning_field: String,
    /// What it calls, in order.
    pub tool_calls: Vec<Call>,
    /// Why it stops, in the words of chat completions; by default `stop` or `tool_calls`.
    pub finish_reason: Option<String>,
    /// The usage it reports.
    #[serde(deserialize_with = "usage")]
    pub usage: UsageSpec,
    /// A chat stream carries usage even when the request did not ask for it.
    pub always_usage: bool,
    /// The HTTP status; 400 and above answers with `error` or `body`.
    pub status: Option<u16>,
    /// Further response headers.
    pub headers: Map<String, Value>,
    /// What the error says: a message, or an object with `message`, `type`, `code`, `param`.
    pub error: Option<Value>,
    /// A body sent as it is: a string, or a JSON value.
    pub body: Option<Value>,
    /// The content type that goes with `body`, `raw` or `empty`.
    pub content_type: Option<String>,
    /// No body at all.
    pub empty: bool,
    /// Lines of a stream sent as they are.
    pub raw: Option<Vec<String>>,
    /// Milliseconds before the status line.
    pub delay_ms: f64,
    /// Milliseconds between the headers and the first chunk.
    pub first_ms: f64,
    /// Milliseconds between chunks.
    pub chunk_ms: f64,
    /// The chunk before which the stream falls silent.
    pub stall_after: usize,
    /// For how many milliseconds.
    pub stall_ms: f64,
    /// Keep-alive comments during any wait in a stream, every so many milliseconds.
    pub ping_ms: f64,
    /// Closes the connection after so many chunks; 0 closes it before the status line.
    pub drop_after: Option<usize>,
    /// `rst` resets the connection instead of closing it.
    pub drop: Option<String>,
    /// Leaves the end mark of the stream out.
    pub no_done: bool,
    /// Sends an error event after so many chunks and ends.
    pub error_after: Option<usize>,
    /// Characters of text or arguments in a delta; 0 puts all in one.
    pub chunk_chars: usize,
    /// Cuts the writes every so many bytes.
    pub fragment: usize,
    /// One write a chunk.
    pub split_writes: bool,
    /// Never answers.
    pub hang: bool,
    /// Answers a streaming request with plain JSON.
    pub force_json: bool,
    /// The model name to claim.
    pub model: Option<String>,
    /// The response id.
    pub id: Option<String>,
    /// Merged into the top level of the answer.
    pub extra: Map<String, Value>,
    /// Copied into the request log.
    pub note: Option<String>,
    /// A pattern; `{grep}` in a text becomes its matches in the request, one a line.
    pub grep: Option<String>,
    /// The number `{i}` stands for, when a loop made the step.
    #[serde(skip)]
    pub(crate) number: Option<usize>,
}

impl Default for Step {
    fn default() -> Step {
        Step {
            text: None,
            reasoning: None,
            reasoning_field: "reasoning_content".to_owned(),
            tool_calls: Vec::new(),
            finish_reason: None,
            usage: UsageSpec::default(),
            always_usage: false,
            status: None,
            headers: Map::new(),
            error: None,
            body: None,
            content_type: None,
            empty: false,
            raw: None,
            delay_ms: 0.0,
            first_ms: 0.0,
            chunk_ms: 0.0,
            stall_after: 0,
            stall_ms: 0.0,
            ping_ms: 0.0,
            drop_after: None,
            drop: None,
            no_done: false,
            error_after: None,
            chunk_chars: 32,
            fragment: 0,
            split_writes: false,
            hang: false,
            force_json: false,
            model: None,
            id: None,
            extra: Map::new(),
            note: None,
            grep: None,
            number: None,
        }
    }
}

impl Step {
    /// The assistant says this and stops.
    pub fn say(text: impl Into<String>) -> Step {
        Step {
            text: Some(text.into()),
            ..Step::default()
        }
    }

    /// The assistant calls one tool.
    pub fn call(name: impl Into<String>, args: Value) -> Step {
        Step {
            tool_calls: vec![Call::new(name, args)],
            ..Step::default()
        }
    }

    /// The server refuses.
    pub fn refuse(status: u16, message: impl Into<String>) -> Step {
        Step {
            status: Some(status),
            error: Some(Value::String(message.into())),
            ..Step::default()
        }
    }

    /// The same step, reporting this many prompt tokens.
    pub fn with_prompt_tokens(self, prompt: u64) -> Step {
        Step {
            usage: UsageSpec::Given(GivenUsage {
                prompt: Some(prompt),
                ..GivenUsage::default()
            }),
            ..self
        }
    }

    /// Whether the answer takes time, so that it is played piece by piece.
    pub(crate) fn is_slow(&self) -> bool {
        let waits = [
            self.delay_ms,
            self.first_ms,
            self.chunk_ms,
            self.stall_ms,
            self.ping_ms,
        ];
        waits.iter().any(|wait| *wait > 0.0)
            || self.hang
            || self.split_writes
            || self.fragment > 0
            || self.drop_after.is_some()
    }
}

/// A tool call of a step.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Call {
    /// The tool.
    pub name: String,
    /// Its arguments: an object, or raw text that need not be JSON.
    pub args: Option<Value>,
    /// The call's id; by default made from the request's number.
    pub id: Option<String>,
    /// For the Responses protocol: makes it a custom tool call with this input.
    pub input: Option<String>,
    /// Leaves out arguments that the tool's declared schema does not have.
    pub fit: bool,
    /// The first of these whose tool the request offers (else the first), so that one scenario serves
    /// programs with different tools.
    pub any_of: Vec<Call>,
    /// The number `{i}` stands for, when a loop made the call.
    #[serde(skip)]
    pub(crate) number: Option<usize>,
}

impl Call {
    /// A call of this tool.
    pub fn new(name: impl Into<String>, args: Value) -> Call {
        Call {
            name: name.into(),
            args: Some(args),
            ..Call::default()
        }
    }
}

/// What usage an answer reports.
#[derive(Debug, Clone, Default)]
pub enum UsageSpec {
    /// A quarter of the characters of request and answer.
    #[default]
    Auto,
    /// None.
    Omitted,
    /// These numbers; what is left out is as for `Auto`.
    Given(GivenUsage),
}

/// Numbers of a reported usage.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct GivenUsage {
    /// Tokens of the request, cached ones included.
    pub prompt: Option<u64>,
    /// Tokens of the answer.
    pub completion: Option<u64>,
    /// Of the prompt, read from a cache.
    pub cached: u64,
    /// Of the prompt, written to a cache.
    pub cache_write: u64,
    /// Of the answer, thinking.
    pub reasoning: u64,
}

fn usage<'de, D: Deserializer<'de>>(deserializer: D) -> Result<UsageSpec, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(UsageSpec::Omitted),
        object @ Value::Object(_) => GivenUsage::deserialize(object)
            .map(UsageSpec::Given)
            .map_err(serde::de::Error::custom),
        _ => Ok(UsageSpec::Auto),
    }
}
