//! Phase 1: shortens what is old, without a model.
//!
//! Old results become one line, repeated ones a note, old images a note, long
//! arguments shorter strings in the same JSON. What was shortened once is left
//! alone the next time.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use talaria_types::{Content, Message, Part, Role, ToolCall};

use super::briefs::brief;
use super::rows::Row;
use super::strings::{ARGUMENT_CUT, DUPLICATE_OUTPUT, IMAGE_STRIPPED, OUTPUT_CLEARED, SCREENSHOT_REMOVED};

/// Results up to this many characters stay as they are.
const SHORT_RESULT: usize = 200;
/// Arguments up to this many characters stay as they are.
const SHORT_ARGUMENTS: usize = 500;
/// Strings inside of longer arguments are cut to this many characters.
const ARGUMENT_STRING: usize = 200;

/// Replaces each result that a later one repeats by a note, in all rows.
pub(super) fn drop_duplicates(rows: &mut [Row]) {
    // Size and both ends tell most results apart; only candidates are compared whole.
    let mut seen: HashMap<(usize, [u8; 8], [u8; 8]), Vec<usize>> = HashMap::new();
    for index in (0..rows.len()).rev() {
        let Some(key) = duplicate_key(&rows[index].message) else {
            continue;
        };
        let newer = seen.entry(key).or_default();
        let repeated = newer
            .iter()
            .any(|other| rows[*other].message.content == rows[index].message.content);
        if repeated {
            let note = Message {
                content: DUPLICATE_OUTPUT.into(),
                ..Message::clone(&rows[index].message)
            };
            rows[index].replace(note);
        } else {
            newer.push(index);
        }
    }
}

fn duplicate_key(message: &Message) -> Option<(usize, [u8; 8], [u8; 8])> {
    let (Role::Tool, Content::Text(text)) = (message.role, &message.content) else {
        return None;
    };
    if text.len() < SHORT_RESULT {
        return None;
    }
    Some((
        text.len(),
        *text.as_bytes().first_chunk()?,
        *text.as_bytes().last_chunk()?,
    ))
}

/// Shortens the rows that `is_old` names.
pub(super) fn shorten(rows: &mut [Row], is_old: impl Fn(usize) -> bool) {
    // The row that asked for the results, as it was: they are told by its calls.
    let mut asking: Option<Arc<Message>> = None;
    for (index, row) in rows.iter_mut().enumerate() {
        match row.role() {
            Role::Assistant => {
                let asked = Arc::clone(&row.message);
                if let Some(calls) = is_old(index).then(|| shorten_calls(&asked.tool_calls)).flatten() {
                    row.replace(Message {
                        tool_calls: calls,
                        ..Message::clone(&asked)
                    });
                }
                asking = Some(asked);
            }
            Role::Tool if is_old(index) => {
                let round = asking.as_ref().map_or(&[][..], |asked| &asked.tool_calls);
                if let Some(content) = shorten_result(&row.message, round) {
                    row.replace(Message {
                        content,
                        ..Message::clone(&row.message)
                    });
                }
            }
            Role::System | Role::User | Role::Tool => {}
        }
    }
}

fn shorten_result(result: &Message, round: &[ToolCall]) -> Option<Content> {
    match &result.content {
        Content::Parts(parts) if result.content.images().next().is_some() => Some(Content::Parts(
            parts
                .iter()
                .map(|part| without_image(part, SCREENSHOT_REMOVED))
                .collect(),
        )),
        Content::Text(text) if is_long(text, SHORT_RESULT) && !is_note(text) => {
            let arguments = round
                .iter()
                .find(|call| result.tool_call_id.as_ref() == Some(&call.id));
            let line = brief(result, arguments.map_or("{}", |call| call.arguments.as_str()));
            // A brief of a result that is itself one line may be longer than it.
            (line.len() < text.len()).then_some(Content::Text(line))
        }
        Content::Text(_) | Content::Parts(_) => None,
    }
}

fn is_note(text: &str) -> bool {
    text == OUTPUT_CLEARED || text.starts_with("[Duplicate tool output")
}

fn is_long(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().count() > limit
}

fn shorten_calls(calls: &[ToolCall]) -> Option<Vec<ToolCall>> {
    let shorter: Vec<Option<String>> = calls
        .iter()
        .map(|call| shorten_arguments(&call.arguments))
        .collect();
    if shorter.iter().all(Option::is_none) {
        return None;
    }
    let cut = |(call, arguments): (&ToolCall, Option<String>)| match arguments {
        Some(arguments) => ToolCall {
            arguments,
            ..call.clone()
        },
        None => call.clone(),
    };
    Some(calls.iter().zip(shorter).map(cut).collect())
}

/// The same JSON with its long strings cut; nothing when there is nothing to cut.
/// Text that is no JSON stays: half an object would be refused for ever.
fn shorten_arguments(arguments: &str) -> Option<String> {
    if !is_long(arguments, SHORT_ARGUMENTS) {
        return None;
    }
    let mut value: Value = serde_json::from_str(arguments).ok()?;
    cut_strings(&mut value).then(|| value.to_string())
}

fn cut_strings(value: &mut Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => {
            if !is_long(text, ARGUMENT_STRING + ARGUMENT_CUT.len()) {
                return false;
            }
            let end = text
                .char_indices()
                .nth(ARGUMENT_STRING)
                .map_or(text.len(), |(at, _)| at);
            text.truncate(end);
            text.push_str(ARGUMENT_CUT);
            true
        }
        // All of them, not the first that is long.
        Value::Array(items) => items.iter_mut().map(cut_strings).filter(|cut| *cut).count() > 0,
        Value::Object(members) => members.values_mut().map(cut_strings).filter(|cut| *cut).count() > 0,
    }
}

/// Replaces the images of rows that stay but are older than the newest user row
/// with an image: they would be sent for ever.
pub(super) fn strip_old_images(rows: &mut [Row], stays: impl Fn(usize) -> bool) {
    let has_image = |row: &Row| row.is_plain_user() && row.message.content.images().next().is_some();
    let Some(newest) = rows.iter().rposition(has_image) else {
        return;
    };
    for index in (0..newest).filter(|index| stays(*index)) {
        let row = &rows[index];
        let Content::Parts(parts) = &row.message.content else {
            continue;
        };
        if row.message.content.images().next().is_none() {
            continue;
        }
        let note = if row.role() == Role::Tool {
            SCREENSHOT_REMOVED
        } else {
            IMAGE_STRIPPED
        };
        let parts = parts.iter().map(|part| without_image(part, note)).collect();
        let stripped = Message {
            content: Content::Parts(parts),
            ..Message::clone(&row.message)
        };
        rows[index].replace(stripped);
    }
}

fn without_image(part: &Part, note: &str) -> Part {
    match part {
        Part::Text { .. } => part.clone(),
        Part::Image(_) => Part::Text {
            text: note.to_owned(),
        },
    }
}

/// Cuts a result to about `tokens`, its beginning and its end kept.
pub(super) fn excerpt(row: &mut Row, tokens: u64) {
    let Content::Text(text) = &row.message.content else {
        return;
    };
    if row.tokens <= tokens {
        return;
    }
    let share = tokens as f64 / row.tokens as f64;
    let length = text.chars().count();
    let kept = (length as f64 * share) as usize;
    let (head, tail) = (kept * 6 / 10, kept * 3 / 10);
    let note = format!(
        "\n...[{} of {length} characters cut to save context; full text: [{}]]...\n",
        length - head - tail,
        row.origin
    );
    if head + tail + note.len() >= length {
        return;
    }
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let cut = format!("{}{note}{}", &text[..at(head)], &text[at(length - tail)..]);
    let message = Message {
        content: Content::Text(cut),
        ..Message::clone(&row.message)
    };
    row.replace(message);
}
