//! How hard a model is asked to think, in each protocol's words.

use std::str::FromStr;

/// `agent.reasoning_effort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as the model can.
    Minimal,
    /// A little.
    Low,
    /// The usual.
    Medium,
    /// Long.
    High,
    /// As long as the model can.
    Extreme,
}

/// A word that is no effort.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no reasoning effort; write none, minimal, low, medium, high or xhigh")]
pub struct ParseEffortError(String);

impl FromStr for Effort {
    type Err = ParseEffortError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().to_ascii_lowercase().as_str() {
            "none" | "off" | "false" => Ok(Self::None),
            "minimal" => Ok(Self::Minimal),
            "low" => Ok(Self::Low),
            "medium" | "" => Ok(Self::Medium),
            "high" => Ok(Self::High),
            "xhigh" | "max" => Ok(Self::Extreme),
            _ => Err(ParseEffortError(text.to_owned())),
        }
    }
}

impl Effort {
    /// The word of Chat Completions and Responses.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Extreme => "xhigh",
        }
    }

    /// Tokens of thinking, where a protocol counts them.
    pub(crate) fn budget(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Minimal => 1_024,
            Self::Low => 4_096,
            Self::Medium => 8_192,
            Self::High => 16_384,
            Self::Extreme => 32_768,
        }
    }
}

/// The model thinks before it answers, as far as its name tells.
pub(crate) fn thinks(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or_default();
    let starts = [
        "o1",
        "o3",
        "o4",
        "gpt-5",
        "grok-4",
        "gemini-2.5",
        "gemini-3",
        "gpt-oss",
    ];
    starts.iter().any(|start| name.starts_with(start)) || name.contains("codex")
}
