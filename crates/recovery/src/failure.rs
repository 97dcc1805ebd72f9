//! What an adapter saw when a call failed.

use serde::{Deserialize, Serialize};
use talaria_types::{ErrorKind, Usage};

/// One failed call, as facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind, by [`crate::classify`].
    pub kind: ErrorKind,
    /// How far the call had come.
    pub phase: Phase,
    /// HTTP status, when there was an answer; an error inside a 200 stream
    /// carries the status its body names, if any.
    pub status: Option<u16>,
    /// The provider's error code or type.
    pub code: Option<String>,
    /// The server's own words, or the transport's; secrets masked.
    pub message: String,
    /// The raw body, at most 64 KiB of it, secrets masked.
    pub body: String,
    /// How long the server asks to wait, in milliseconds, from header, body or text.
    pub retry_after_ms: Option<u64>,
    /// Numbers read from the text.
    pub limits: Limits,
    /// The request parameter the text names, when it refuses one.
    pub parameter: Option<String>,
    /// What the request carried.
    pub request: RequestFacts,
    /// What had been streamed before it broke.
    pub partial: Option<Partial>,
}

/// How far a call had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The request could not be made.
    Build,
    /// No connection, or it broke before the status line.
    Connect,
    /// The status said no.
    Status,
    /// The answer began and broke, or said no in its body.
    Body,
    /// The answer arrived whole and is not valid.
    Answer,
}

/// Numbers a failure's text states, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The model's window.
    pub window: Option<u64>,
    /// The most output that may be asked for.
    pub output: Option<u64>,
    /// The size of the refused prompt.
    pub prompt: Option<u64>,
}

/// What a refused request carried; rows look here before they take something out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFacts {
    /// Signed thinking blocks.
    pub signed_thinking: bool,
    /// Encrypted reasoning items.
    pub encrypted_reasoning: bool,
    /// How many images.
    pub images: u32,
    /// Images inside of tool results.
    pub tool_images: bool,
    /// Tool schemas with `pattern` or `format`.
    pub schema_patterns: bool,
    /// It asked for a stream.
    pub streaming: bool,
    /// Its login is an OAuth one.
    pub oauth: bool,
    /// Estimated prompt tokens.
    pub prompt_tokens: u64,
    /// The window it was made for.
    pub window: u64,
    /// How many messages.
    pub messages: u32,
}

/// What had arrived of an answer when its stream broke.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    /// Text of the answer.
    pub text: String,
    /// Text of the thinking.
    pub reasoning: String,
    /// Names of calls that had begun.
    pub tools: Vec<String>,
    /// Tokens, if they had been told.
    pub usage: Option<Usage>,
}

impl Failure {
    /// A failure of `kind` in `phase` with these words, and nothing else known.
    pub fn new(kind: ErrorKind, phase: Phase, message: impl Into<String>) -> Self {
        Self {
            kind,
            phase,
            status: None,
            code: None,
            message: message.into(),
            body: String::new(),
            retry_after_ms: None,
            limits: Limits::default(),
            parameter: None,
            request: RequestFacts::default(),
            partial: None,
        }
    }
}
