//! Phase 3: what a model is asked to write a summary of.
//!
//! The hidden rows become a record: one block a row, each within limits, secrets
//! masked before anything is cut. A record that does not fit the summariser is told
//! in slices, each summary being the checkpoint that the next one updates.

use talaria_types::{ImageSource, Message, MessageId, Part, Role};

use super::Guidance;
use super::rows::Row;
use crate::tokens::quick;

const SECTIONS: &str = include_str!("prompts/sections.md");
const FIRST: &str = include_str!("prompts/summary.md");
const UPDATE: &str = include_str!("prompts/update.md");
const PREFIX_INSTRUCTION: &str = include_str!("prompts/prefix_instruction.md");

/// Characters of a memory provider's text: the whole, its head, its tail.
const MEMORY: Cut = Cut {
    longest: 6_000,
    head: 4_000,
    tail: 1_500,
};

/// How a long text is cut, in characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    longest: usize,
    head: usize,
    tail: usize,
}

/// How much of each row is told; a later level tells less.
pub(super) const LEVELS: [(Cut, Cut); 4] = [
    (
        Cut {
            longest: 6_000,
            head: 4_000,
            tail: 1_500,
        },
        Cut {
            longest: 1_500,
            head: 1_200,
            tail: 0,
        },
    ),
    (
        Cut {
            longest: 2_400,
            head: 1_500,
            tail: 750,
        },
        Cut {
            longest: 800,
            head: 600,
            tail: 0,
        },
    ),
    (
        Cut {
            longest: 1_000,
            head: 600,
            tail: 300,
        },
        Cut {
            longest: 400,
            head: 300,
            tail: 0,
        },
    ),
    (
        Cut {
            longest: 400,
            head: 240,
            tail: 120,
        },
        Cut {
            longest: 160,
            head: 120,
            tail: 0,
        },
    ),
];

impl Cut {
    fn apply(self, text: &str) -> std::borrow::Cow<'_, str> {
        if text.len() <= self.longest {
            return text.into();
        }
        let length = text.chars().count();
        if length <= self.longest {
            return text.into();
        }
        let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
        let tail = if self.tail == 0 {
            ""
        } else {
            &text[at(length - self.tail)..]
        };
        let mark = if tail.is_empty() {
            "..."
        } else {
            "\n...[truncated]...\n"
        };
        format!("{}{mark}{tail}", &text[..at(self.head)]).into()
    }
}

/// One hidden row, masked.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) id: MessageId,
    pub(super) role: Role,
    /// What was said.
    pub(super) text: String,
    pub(super) calls: Vec<CallRecord>,
    /// For a result: its call and its tool.
    pub(super) answers: Option<String>,
    pub(super) tool: Option<String>,
    /// The result's own one line.
    pub(super) brief: Option<String>,
    bytes: usize,
    tokens: u64,
}

/// One call, its arguments masked.
#[derive(Clone, Debug)]
pub(super) struct CallRecord {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Record {
    pub(super) fn of(row: &Row) -> Self {
        // A repeated result is told once; anything else in full, however short it
        // is for the model by now.
        let repeated = super::rows::text_of(&row.message.content) == super::strings::DUPLICATE_OUTPUT;
        let told = if repeated { &row.message } else { &row.original };
        let mut text = said(told);
        if row.role() == Role::Assistant {
            text = super::reply::without_thinking(&text);
        }
        let masked = |call: &talaria_types::ToolCall| CallRecord {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: talaria_redact::redact(&call.arguments).into_owned(),
        };
        let calls: Vec<CallRecord> = row.original.tool_calls.iter().map(masked).collect();
        Self {
            id: row.origin,
            role: row.role(),
            bytes: text.len() + calls.iter().map(|call| call.arguments.len()).sum::<usize>(),
            tokens: if repeated { row.tokens } else { row.original_tokens },
            answers: row.original.tool_call_id.clone(),
            tool: row.original.tool_name.clone(),
            brief: row
                .original
                .brief
                .as_deref()
                .map(|brief| talaria_redact::redact(brief).into_owned()),
            text,
            calls,
        }
    }

    /// Tokens of its block at a level, counted the larger of two ways: a summariser
    /// that refuses the request costs more than a slice.
    pub(super) fn size(&self, level: usize) -> u64 {
        let (text, arguments) = LEVELS[level];
        let text = self.text.len().min(text.longest);
        let calls: usize = self
            .calls
            .iter()
            .map(|call| call.name.len() + call.arguments.len().min(arguments.longest))
            .sum();
        let told = (text + calls) as u64;
        let estimated = self.tokens * told.min(self.bytes as u64) / (self.bytes as u64).max(1);
        estimated.max(told / 4) + 14
    }

    pub(super) fn write(&self, level: usize, out: &mut String) {
        let (cut, arguments) = LEVELS[level];
        let id = self.id;
        let label = match self.role {
            Role::Tool => format!("[TOOL RESULT {} {id}]", self.answers.as_deref().unwrap_or("?")),
            Role::User | Role::Assistant | Role::System => {
                format!("[{} {id}]", self.role.as_str().to_ascii_uppercase())
            }
        };
        out.push_str(&label);
        out.push_str(": ");
        out.push_str(&cut.apply(&self.text));
        if !self.calls.is_empty() {
            out.push_str("\n[Tool calls:\n");
            for call in &self.calls {
                out.push_str(&format!(
                    "  {}({})\n",
                    call.name,
                    arguments.apply(&call.arguments)
                ));
            }
            out.push(']');
        }
        out.push_str("\n\n");
    }
}

/// A row's words as a record tells them, masked: images by name, media directives
/// made harmless.
fn said(message: &Message) -> String {
    let text = match &message.content {
        talaria_types::Content::Text(text) => text.as_str().into(),
        talaria_types::Content::Parts(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| match part {
                    Part::Text { text } => text.clone(),
                    Part::Image(image) => match &image.source {
                        ImageSource::Url(url) => format!("[image: {url}]"),
                        ImageSource::Stored(_) | ImageSource::Inline(_) => "[image]".to_owned(),
                    },
                })
                .collect();
            std::borrow::Cow::Owned(parts.join("\n"))
        }
    };
    let masked = talaria_redact::redact(&text);
    let harmless = without_media(&masked);
    if harmless.contains("</record>") {
        harmless.replace("</record>", "</ record>")
    } else {
        harmless.into_owned()
    }
}

/// `MEDIA:<path>` makes a gateway send a file; in a summary it would do so again.
pub(super) fn without_media(text: &str) -> std::borrow::Cow<'_, str> {
    const DIRECTIVE: &str = "MEDIA:";
    if !text.contains(DIRECTIVE) {
        return text.into();
    }
    let mut harmless = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(DIRECTIVE) {
        let after = &rest[at + DIRECTIVE.len()..];
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        harmless.push_str(&rest[..at]);
        harmless.push_str(if end == 0 { DIRECTIVE } else { "[media attachment]" });
        rest = &after[end..];
    }
    harmless.push_str(rest);
    harmless.into()
}

/// Whether a message says anything that must be masked.
pub(super) fn holds_secret(message: &Message) -> bool {
    talaria_redact::finds(&super::rows::text_of(&message.content))
        || message.sent_as.as_deref().is_some_and(talaria_redact::finds)
        || message
            .tool_calls
            .iter()
            .any(|call| talaria_redact::finds(&call.arguments))
}

/// What a request is written from, beside the record.
#[derive(Clone, Debug)]
pub(super) struct PromptParts<'a> {
    pub(super) previous: Option<String>,
    pub(super) tokens: u64,
    pub(super) guidance: &'a Guidance,
}

/// The whole prompt for a slice of the record.
pub(super) fn prompt(slice: &str, parts: &PromptParts<'_>) -> String {
    let template = if parts.previous.is_some() { UPDATE } else { FIRST };
    fill(template, parts, slice)
}

/// The instruction that follows a session's own prefix.
pub(super) fn prefix_instruction(parts: &PromptParts<'_>) -> String {
    fill(PREFIX_INSTRUCTION, parts, "")
}

/// Tokens of a prompt without its record.
pub(super) fn fixed_tokens(parts: &PromptParts<'_>) -> u64 {
    let text = prompt("", parts);
    quick(&text).max(text.len() as u64 / 4)
}

fn fill(template: &str, parts: &PromptParts<'_>, record: &str) -> String {
    let tokens = parts.tokens.to_string();
    let today = parts.guidance.today.as_deref().map_or_else(String::new, |today| {
        format!("Today is {today}: tell what was done as past, with its date where that matters.\n")
    });
    let extra = extra(parts.guidance);
    let previous = parts.previous.as_deref().unwrap_or_default();
    let values = [
        ("{budget}", tokens.as_str()),
        ("{sections}", SECTIONS),
        ("{today}", today.as_str()),
        ("{previous}", previous.trim()),
        ("{record}", record.trim_end()),
        ("{extra}", extra.as_str()),
    ];
    substitute(template, &values)
}

/// One pass over the template, so that a value that looks like a placeholder stays.
fn substitute(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled =
        String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

fn extra(guidance: &Guidance) -> String {
    let mut extra = String::new();
    if let Some(memory) = guidance
        .memory
        .as_deref()
        .filter(|memory| !memory.trim().is_empty())
    {
        let masked = talaria_redact::redact(memory);
        let quoted = serde_json::Value::from(MEMORY.apply(&masked).into_owned()).to_string();
        let quoted = quoted
            .replace('&', "\\u0026")
            .replace('<', "\\u003c")
            .replace('>', "\\u003e");
        extra.push_str(&format!(
            "What the user's memory says about this, as background:\n<memory_context>{quoted}</memory_context>\n"
        ));
    }
    if let Some(focus) = guidance
        .focus
        .as_deref()
        .map(str::trim)
        .filter(|focus| !focus.is_empty())
    {
        let focus = talaria_redact::redact(focus);
        extra.push_str(&format!(
            "Focus topic: \"{focus}\". Give 60–70 % of the length to what belongs to it, in full detail; keep the rest short.\n"
        ));
    }
    extra
}
