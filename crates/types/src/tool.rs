//! What the model may call, what it called, and what came back.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Content;

/// One tool as the model sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name the model calls.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the arguments, an object schema.
    pub parameters: Value,
}

/// One call the model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, unique within its message.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as JSON text, exactly as they arrived; not yet known to be valid.
    pub arguments: String,
    /// Members of the call this program does not know (Gemini's thought
    /// signatures among them), replayed as they came.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

/// How far a tool reaches; decides what may be said about a call whose end was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Reads only: repeating it is harmless.
    Read,
    /// Changes files or state of this program.
    Write,
    /// Runs something else, whose effects are unknown.
    Execute,
    /// Asks the person or another service.
    Ask,
}

impl Effect {
    /// The word written to the journal and told to the model.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Ask => "ask",
        }
    }
}

/// What one call came to. Every call has exactly one, also a refused or an interrupted one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: String,
    /// The tool's registered name (repaired, if the model misspelt it).
    pub name: String,
    /// What the model reads.
    pub content: Content,
    /// One line that may stand in for `content` after a compression; at most 200 characters.
    pub brief: String,
    /// Whether the tool did what it was asked.
    pub ok: bool,
    /// Wall-clock milliseconds it took.
    pub duration_ms: u64,
}
