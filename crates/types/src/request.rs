//! What a model is asked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Message, ToolSpec};

/// What a request is for; calls are counted and priced by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// The conversation itself, the closing summary of a spent turn included.
    Main,
    /// A summary of hidden messages.
    Compression,
    /// A session's title.
    TitleGeneration,
    /// The self-review after a turn.
    BackgroundReview,
    /// Whether a standing goal is reached.
    GoalJudge,
    /// What a web page says.
    WebExtract,
    /// Whether a command may run.
    Approval,
    /// What a picture shows.
    Vision,
    /// What an MCP server asks of the model.
    Mcp,
    /// What subagents have used, charged to the session that started them.
    Delegate,
}

impl Task {
    /// The word used in `auxiliary.<task>`, `usage_by_task` and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Compression => "compression",
            Self::TitleGeneration => "title_generation",
            Self::BackgroundReview => "background_review",
            Self::GoalJudge => "goal_judge",
            Self::WebExtract => "web_extract",
            Self::Approval => "approval",
            Self::Vision => "vision",
            Self::Mcp => "mcp",
            Self::Delegate => "delegate",
        }
    }
}

/// Whether the model may call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must answer with text.
    None,
}

/// One request, in no provider's words yet.
///
/// The messages are shared and never changed once they were sent, so an adapter
/// may keep the bytes it made of each and copy them into the next request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// What it is for.
    pub task: Task,
    /// The system prompt; byte-stable between two compressions.
    pub system: Arc<str>,
    /// The note that follows the system prompt after a compression, outside of its cached part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Arc<str>>,
    /// The conversation, already valid: calls and results paired, roles in order.
    pub messages: Vec<Arc<Message>>,
    /// The tools, sorted by name.
    pub tools: Arc<[ToolSpec]>,
    /// Whether it may call them.
    pub tool_choice: ToolChoice,
    /// Upper bound of the answer in tokens; the provider's own when absent.
    pub max_output_tokens: Option<u64>,
    /// Repairs of this session that the provider is known to need.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rewrites: Vec<Rewrite>,
}

/// A repair of the outgoing copy of a request. The stored history never changes by one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rewrite {
    /// Replace lone surrogates and other text that is no Unicode.
    ScrubSurrogates,
    /// Replace images by a note; the model sees text only.
    DropImages,
    /// Drop the oldest images until the request is small enough.
    DropOldestImages,
    /// Re-encode images below this many bytes.
    ShrinkImages(u64),
    /// Put the images of tool results into a user message, or a note.
    PlainToolContent,
    /// Drop signed thinking blocks.
    DropSignedThinking,
    /// Drop encrypted reasoning items.
    DropEncryptedReasoning,
    /// Leave this beta header out.
    DropBetaHeader(String),
    /// Remove `pattern` and `format` from tool schemas.
    SimplifyToolSchemas,
    /// Leave this request parameter out.
    DropParameter(String),
    /// Send this parameter under another name.
    RenameParameter {
        /// The name that was refused.
        from: String,
        /// The name that is accepted.
        to: String,
    },
    /// Ask for at most this many output tokens.
    CapOutput(u64),
    /// Ask without streaming.
    DoNotStream,
    /// Send the stored thinking of assistant messages back as `reasoning_content`
    /// (a single space where none is stored); some servers refuse a history without it.
    EchoReasoning,
    /// End with a user message: this model takes no assistant message as the last one.
    NoPrefill,
}
