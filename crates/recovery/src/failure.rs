//! What an adapter saw when a call failed.

use serde::{Deserialize, Serialize};
use talaria_types::{ErrorKind, TurnError, Usage};

use crate::hint;

/// One failed call, as facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What kind, by [`classify`](crate::classify()).
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
    /// The name the text says to use instead of it.
    #[serde(default)]
    pub replacement: Option<String>,
    /// What is known beyond the kind, when it changes what helps.
    #[serde(default)]
    pub symptom: Option<Symptom>,
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

/// What is known beyond the kind, when it changes what helps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symptom {
    /// A quota of a day, a month or a plan is used up: waiting seconds cannot help.
    QuotaSpent,
    /// The headers say that a bucket is empty and when it is filled again.
    BucketEmpty,
    /// An overload that is known to last minutes (Z.AI's coding plan).
    LongOverload,
    /// The stored thinking has to be sent back and was not.
    ReasoningNotEchoed,
    /// An assistant message as the last one is refused.
    PrefillRefused,
    /// Nothing came for so long that the line was cut from our side.
    Stalled,
    /// The server hung up without a word; a very large prompt is one of the causes.
    HungUp,
    /// No text says so, but the prompt is so large that an overflow is likely.
    LikelyOverflow,
    /// No model server answers at this address: nothing is served there, or something else is.
    WrongAddress,
}

/// Numbers a failure's text states, in tokens unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The model's window.
    pub window: Option<u64>,
    /// The most output that may be asked for now.
    pub output: Option<u64>,
    /// The size of the refused prompt; a lower bound when the text says "at least".
    pub prompt: Option<u64>,
    /// The most bytes a body or an image may have.
    pub bytes: Option<u64>,
}

/// What a refused request carried; rows look here before they take something out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Which kind of login it is; decides which row refreshes it.
    pub login: Login,
    /// It carried the long-context beta header.
    pub long_context_beta: bool,
    /// Output tokens it asked for at most.
    pub max_output: Option<u64>,
    /// Estimated prompt tokens.
    pub prompt_tokens: u64,
    /// The window it was made for.
    pub window: u64,
    /// How many messages.
    pub messages: u32,
}

/// Kinds of login that are refreshed in ways of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Login {
    /// A key that stays as it is.
    #[default]
    ApiKey,
    /// Anthropic's OAuth.
    Anthropic,
    /// OpenAI Codex' OAuth.
    Codex,
    /// xAI's OAuth.
    Xai,
    /// An agent key minted by Nous.
    Nous,
    /// A Copilot token exchanged for a GitHub one.
    Copilot,
    /// Another one that can be refreshed (ADC, a command, a helper of a cloud).
    Other,
}

/// What had arrived of an answer when its stream broke.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
            replacement: None,
            symptom: None,
            request: RequestFacts::default(),
            partial: None,
        }
    }
    /// The same failure as a turn's end, with what to do about it.
    ///
    /// [`Decision::turn_error`](crate::Decision::turn_error) says why nothing more was tried, too.
    pub fn to_turn_error(&self) -> TurnError {
        TurnError {
            kind: self.kind,
            message: self.message.clone(),
            status: self.status,
            hint: hint::of(self).map(str::to_owned),
        }
    }
}
