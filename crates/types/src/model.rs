//! Which model is spoken to, and how.

use serde::{Deserialize, Serialize};

/// The wire protocol of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiMode {
    /// OpenAI's Chat Completions and everything compatible with it.
    #[default]
    ChatCompletions,
    /// Anthropic's Messages.
    AnthropicMessages,
    /// OpenAI's Responses.
    #[serde(alias = "responses")]
    CodexResponses,
    /// Google's `generateContent`.
    Gemini,
}

impl ApiMode {
    /// The word used in `config.yaml` and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat_completions",
            Self::AnthropicMessages => "anthropic_messages",
            Self::CodexResponses => "codex_responses",
            Self::Gemini => "gemini",
        }
    }
}

/// Names one model at one address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The provider's id, such as `openrouter` or `custom`.
    pub provider: String,
    /// The model's id in the provider's words.
    pub model: String,
    /// The API's base address, without a trailing slash.
    pub base_url: String,
    /// The wire protocol.
    pub api_mode: ApiMode,
}
