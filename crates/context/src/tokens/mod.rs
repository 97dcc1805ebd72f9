//! Counts tokens: exactly where the family is known, by script elsewhere.
//!
//! Loading a family's tables takes longer and more memory than a short turn, so
//! nothing here touches them before a decision hangs on the exact number:
//! [`CountedHistory`] first asks [`quick`], which is within some fifteen per cent.
//! What a provider really counts differs by its own templates; [`Counter::observe`]
//! learns that ratio from each answer.

mod counted;
mod family;
mod quick;

use std::borrow::Cow;

use talaria_types::{Message, ToolSpec};

pub use counted::CountedHistory;
pub use quick::quick;

use family::Family;

/// Tokens of one image, whatever its size.
pub const IMAGE_TOKENS: u64 = 1_500;
/// Role, separators and end of one message.
const MESSAGE_TOKENS: u64 = 4;
/// The frame of one call around its name and arguments.
const CALL_TOKENS: u64 = 8;
/// The frame of one tool schema.
const TOOL_TOKENS: u64 = 8;
/// Below this many counted tokens a provider's fixed additions hide the ratio.
const SMALLEST_OBSERVATION: u64 = 500;
/// How far a ratio is believed; beyond it the report is about something else.
const BELIEVABLE: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// Counts for one model.
#[derive(Clone, Debug)]
pub struct Counter {
    /// What the provider counted over what was counted here, learned as answers
    /// come in. The counts below are without it; [`Counter::calibrated`] applies it.
    pub calibration: f64,
    family: Family,
}

impl Counter {
    /// The counter for a model's id. The tables of a family are loaded at the first count.
    pub fn for_model(model: &str) -> Self {
        Self {
            calibration: 1.0,
            family: Family::of(model),
        }
    }

    /// Whether this model's counts are exact.
    pub fn is_exact(&self) -> bool {
        self.family != Family::Other
    }

    /// Tokens of a text.
    pub fn text(&self, text: &str) -> u64 {
        self.family.count(text)
    }

    /// Tokens of one message as it is sent, its calls included, an image at a flat rate.
    pub fn message(&self, message: &Message) -> u64 {
        message_tokens(message, |text| self.text(text))
    }

    /// Tokens of one message, estimated: no tables are loaded.
    pub fn quick_message(message: &Message) -> u64 {
        message_tokens(message, quick)
    }

    /// Tokens of the tool schemas.
    pub fn tools(&self, tools: &[ToolSpec]) -> u64 {
        tools_tokens(tools, |text| self.text(text))
    }

    /// Tokens of the tool schemas, estimated: no tables are loaded.
    pub fn quick_tools(tools: &[ToolSpec]) -> u64 {
        tools_tokens(tools, quick)
    }

    /// What the provider will count for what is counted here as `counted`.
    pub fn calibrated(&self, counted: u64) -> u64 {
        // Token counts are far below 2^52.
        (counted as f64 * self.calibration).round() as u64
    }

    /// Learns from what the provider counted for a request that was counted as
    /// `estimated` here, before calibration.
    pub fn observe(&mut self, estimated: u64, reported: u64) {
        if estimated < SMALLEST_OBSERVATION || reported == 0 {
            return;
        }
        let ratio = (reported as f64 / estimated as f64).clamp(*BELIEVABLE.start(), *BELIEVABLE.end());
        self.calibration = (self.calibration + ratio) / 2.0;
    }
}

fn message_tokens(message: &Message, count: impl Fn(&str) -> u64) -> u64 {
    let said: Cow<'_, str> = match &message.sent_as {
        Some(sent) => Cow::Borrowed(sent),
        None => message.content.text(),
    };
    let images = message.content.images().count() as u64;
    let calls: u64 = message
        .tool_calls
        .iter()
        .map(|call| CALL_TOKENS + count(&call.name) + count(&call.arguments))
        .sum();
    // Of the forms of thinking an adapter sends one back; readable text alone is not sent.
    let reasoning = &message.reasoning;
    let thought = match (&reasoning.details, &reasoning.response_items, &reasoning.content) {
        (Some(blocks), _, _) | (None, Some(blocks), _) => count(&blocks.to_string()),
        (None, None, Some(text)) => count(text),
        (None, None, None) => 0,
    };
    MESSAGE_TOKENS + count(&said) + images * IMAGE_TOKENS + calls + thought
}

fn tools_tokens(tools: &[ToolSpec], count: impl Fn(&str) -> u64) -> u64 {
    let one = |tool: &ToolSpec| {
        TOOL_TOKENS + count(&tool.name) + count(&tool.description) + count(&tool.parameters.to_string())
    };
    tools.iter().map(one).sum()
}

#[cfg(test)]
mod tests;
