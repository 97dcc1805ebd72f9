//! One row of a conversation.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{MessageId, SessionId, Timestamp, ToolCall};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The system prompt; kept on the session, never a row of its own in new sessions.
    System,
    /// The person, or a text injected in the person's place.
    User,
    /// The model.
    Assistant,
    /// The result of one tool call.
    Tool,
}

impl Role {
    /// The word used in the store and in every wire protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// One message: what was said, called or returned.
///
/// The same value is stored, compressed and sent; private bookkeeping (row ids,
/// flags) is kept beside it, in [`StoredMessage`], so that it cannot reach a
/// request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; for a tool message its result.
    pub content: Content,
    /// Calls the assistant asks for, in order; empty for every other role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// For a tool message, the call it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// For a tool message, the tool that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The assistant's thinking, in the forms providers want it back.
    #[serde(default, skip_serializing_if = "Reasoning::is_empty")]
    pub reasoning: Reasoning,
    /// Why the assistant stopped, in the words of `chat_completions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// For a user message, the exact text that was sent when it differs from
    /// `content` (recalled memory and plugin context stay with the message they
    /// were sent with); column `api_content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_as: Option<String>,
    /// For a tool message, the one line that may stand in for it after a
    /// compression; at most 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
}

impl Message {
    /// A message of `role` that only says `content`.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            tool_name: None,
            reasoning: Reasoning::default(),
            finish_reason: None,
            sent_as: None,
            brief: None,
        }
    }

    /// A user message.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// An assistant message without calls.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// The result of call `id` of tool `name`.
    pub fn tool(id: impl Into<String>, name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            tool_name: Some(name.into()),
            ..Self::new(Role::Tool, content)
        }
    }
}

/// What a message says: plain text, or text and images in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Text only, by far the most common.
    Text(String),
    /// Text and images.
    Parts(Vec<Part>),
}

impl Content {
    /// No text and no image.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Parts(parts) => parts.iter().all(|part| match part {
                Part::Text { text } => text.trim().is_empty(),
                Part::Image(_) => false,
            }),
        }
    }

    /// All text, parts joined by a line break; images are left out.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Parts(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
                texts.join("\n").into()
            }
        }
    }

    /// The images, in order.
    pub fn images(&self) -> impl Iterator<Item = &ImagePart> {
        let parts: &[Part] = match self {
            Self::Text(_) => &[],
            Self::Parts(parts) => parts,
        };
        parts.iter().filter_map(|part| match part {
            Part::Text { .. } => None,
            Part::Image(image) => Some(image),
        })
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// One piece of a content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image(ImagePart),
}

impl Part {
    /// The text, when this is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Image(_) => None,
        }
    }
}

/// A picture by reference; its bytes never stand in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImagePart {
    /// Where the bytes are.
    pub source: ImageSource,
    /// The MIME type, such as `image/png`.
    pub media_type: String,
}

/// Where the bytes of a picture are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageSource {
    /// In `images/<sha256>.<ext>` of the home folder; the digest in lower-case hex.
    Stored(String),
    /// On the network; sent to the provider as the address it is.
    Url(String),
    /// Inline base64 of a row written by another program; read and resent, never written.
    Inline(String),
}

/// What the assistant thought, in each form a provider may want to see again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    /// Readable text; column `reasoning`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The provider's own `reasoning_content`, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Structured blocks (signed thinking, OpenRouter's `reasoning_details`), verbatim and in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Reasoning items of the Responses protocol, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_items: Option<Value>,
    /// Message items of the Responses protocol, verbatim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_items: Option<Value>,
}

impl Reasoning {
    /// Nothing was thought, or nothing of it was told.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A message as the store keeps it: its row beside its words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Row id.
    pub id: MessageId,
    /// The session that owns the row.
    pub session_id: SessionId,
    /// The row this one is a copy of (a rotation writes copies), or its own id.
    pub origin: MessageId,
    /// The words.
    pub message: std::sync::Arc<Message>,
    /// When it was written.
    pub timestamp: Timestamp,
    /// Sent to the model.
    pub active: bool,
    /// Hidden by a compression, still found by search and recall.
    pub compacted: bool,
}
