//! What a model answered.

use serde::{Deserialize, Serialize};

use crate::{Reasoning, ToolCall};

/// One piece of a streamed answer, for showing it as it arrives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delta {
    /// Text of the answer.
    Text(String),
    /// Text of the model's thinking.
    Reasoning(String),
    /// A call has begun to arrive.
    ToolCallStarted {
        /// The tool's name.
        name: String,
    },
}

/// A whole answer, assembled from its stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// The answer's text; empty when there are only calls.
    pub text: String,
    /// The model's thinking.
    #[serde(default, skip_serializing_if = "Reasoning::is_empty")]
    pub reasoning: Reasoning,
    /// Calls, in order, with unique ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: FinishReason,
    /// Tokens, when the provider said.
    pub usage: Option<Usage>,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The model that answered, in the provider's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Why an answer ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was complete.
    #[default]
    Stop,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It was cut at the output limit.
    Length,
    /// The context window was full before the answer was complete.
    WindowExceeded,
    /// The provider's filter took it back, or the model refused.
    Refused,
    /// A word this program does not know; treated as complete.
    Other(String),
}

impl FinishReason {
    /// The word stored in `messages.finish_reason`, as `chat_completions` writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length | Self::WindowExceeded => "length",
            Self::Refused => "content_filter",
            Self::Other(word) => word,
        }
    }
}

/// Tokens of one call, or a sum of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Everything that was sent, cached parts included, counted once.
    pub prompt_tokens: u64,
    /// Everything that came back, reasoning included.
    pub completion_tokens: u64,
    /// The part of the prompt that was read from the provider's cache.
    pub cache_read_tokens: u64,
    /// The part of the prompt that was written to the provider's cache.
    pub cache_write_tokens: u64,
    /// The part of the answer that was reasoning.
    pub reasoning_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.prompt_tokens += other.prompt_tokens;
        self.completion_tokens += other.completion_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}
