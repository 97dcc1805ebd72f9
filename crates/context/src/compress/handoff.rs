//! Reads the summary that an earlier compression left in a message.
//!
//! A resumed session has nothing else: the summary is found in the message
//! itself, whichever version of Hermes wrote it. Early versions put it in front of
//! a message that had words of its own, 0.19 behind them; both are taken apart.

use talaria_types::{Content, Message, Part};

use crate::tokens::Counter;

use super::anchors::{self, Anchor};
use super::strings::{
    ANCHORS_HEADING, ANY_SUMMARY_TAG, END_MARKER, LEGACY_SUMMARY_TAG, PRIOR_CLOSE, PRIOR_OPEN, TODO_HEADER,
};

/// What an earlier compression left.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Handoff {
    /// The sections the model wrote.
    pub(super) body: String,
    /// The facts the program appended.
    pub(super) anchors: Vec<Anchor>,
    /// What it weighed in its message.
    pub(super) tokens: u64,
}

/// The summary in a message, and the message without it when it also says something else.
pub(super) fn take(message: &Message) -> Option<(Handoff, Option<Message>)> {
    let (handoff, content) = match &message.content {
        Content::Text(text) => {
            let (handoff, rest) = split(text)?;
            (handoff, Content::Text(rest))
        }
        Content::Parts(parts) => {
            let at = parts
                .iter()
                .position(|part| part.as_text().is_some_and(holds_summary))?;
            let (handoff, rest) = parts.get(at).and_then(Part::as_text).and_then(split)?;
            let mut left: Vec<Part> = parts.iter().filter(|part| !is_frame(part)).cloned().collect();
            left.retain(|part| !part.as_text().is_some_and(holds_summary));
            if !rest.is_empty() {
                left.insert(at.min(left.len()), Part::Text { text: rest });
            }
            (handoff, Content::Parts(left))
        }
    };
    let says_more = !content.is_blank() || !message.tool_calls.is_empty();
    let rest = says_more.then(|| Message {
        content,
        sent_as: None,
        ..message.clone()
    });
    let kept = rest.as_ref().map_or(0, Counter::quick_message);
    let tokens = Counter::quick_message(message).saturating_sub(kept);
    let handoff = Handoff { tokens, ..handoff };
    Some((handoff, rest))
}

fn holds_summary(text: &str) -> bool {
    let text = text.trim_start();
    [ANY_SUMMARY_TAG, LEGACY_SUMMARY_TAG, PRIOR_OPEN]
        .iter()
        .any(|tag| text.starts_with(tag))
}

/// A part that only frames the older words of a row.
fn is_frame(part: &Part) -> bool {
    part.as_text().is_some_and(|text| {
        let text = text.trim();
        text == PRIOR_OPEN || text == PRIOR_CLOSE || text == END_MARKER
    })
}

/// The summary in a text and the other words of it.
fn split(text: &str) -> Option<(Handoff, String)> {
    let text = text.trim_start();
    if let Some(inner) = text.strip_prefix(PRIOR_OPEN) {
        let (before, summary) = inner.split_once(PRIOR_CLOSE)?;
        let (handoff, after) = split(summary)?;
        let words: Vec<&str> = [before.trim(), after.as_str()]
            .into_iter()
            .filter(|words| !words.is_empty())
            .collect();
        return Some((handoff, words.join("\n\n")));
    }
    let inner = if let Some(inner) = text.strip_prefix(LEGACY_SUMMARY_TAG) {
        inner
    } else if text.starts_with(ANY_SUMMARY_TAG) {
        // The prefix is one line, whatever its wording.
        text.split_once('\n').map_or("", |(_, inner)| inner)
    } else {
        return None;
    };
    let (inner, rest) = inner.split_once(END_MARKER).unwrap_or((inner, ""));
    Some((read_body(inner), rest.trim().to_owned()))
}

fn read_body(inner: &str) -> Handoff {
    let inner = inner.split(TODO_HEADER).next().unwrap_or(inner);
    let at = inner.find(&format!("\n{ANCHORS_HEADING}\n"));
    let (body, listed) = at.map_or((inner, ""), |at| inner.split_at(at));
    Handoff {
        body: body.trim().to_owned(),
        anchors: anchors::read_index(listed),
        tokens: 0,
    }
}
