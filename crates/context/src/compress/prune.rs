//! Phase 1: shortens what is old, without a model.
//!
//! Old results become one line, repeated ones a note, old images a note, long
//! arguments shorter strings in the same JSON. What was shortened once is left
//! alone the next time.

use std::collections::HashMap;
use std::sync::Arc;

use talaria_types::{Content, Message, Part, Role, ToolCall};

use super::briefs::brief;
use super::rows::Row;
use super::strings::{ARGUMENT_CUT, DUPLICATE_OUTPUT, IMAGE_STRIPPED, OUTPUT_CLEARED, SCREENSHOT_REMOVED};
use crate::compose::{Damage, repair_arguments};

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
/// Text that is no JSON object stays: half of one would be refused for ever.
fn shorten_arguments(arguments: &str) -> Option<String> {
    let sound = || repair_arguments(arguments).damage == Damage::None;
    if is_long(arguments, SHORT_ARGUMENTS) && sound() {
        cut_strings(arguments)
    } else {
        None
    }
}

/// Copies sound JSON and cuts the strings that are too long, between two of their
/// characters. Names of members are copied as they are.
fn cut_strings(json: &str) -> Option<String> {
    let mut cut = String::with_capacity(json.len() / 2);
    let mut copied = 0;
    let mut from = 0;
    while let Some(open) = memchr::memchr(b'"', &json.as_bytes()[from..]).map(|at| from + at + 1) {
        let (close, cut_at) = scan_string(json, open);
        let is_name = json[(close + 1).min(json.len())..].trim_start().starts_with(':');
        if let Some(cut_at) = cut_at.filter(|_| !is_name) {
            cut.push_str(&json[copied..cut_at]);
            cut.push_str(ARGUMENT_CUT);
            copied = close;
        }
        from = (close + 1).min(json.len());
    }
    if copied == 0 {
        return None;
    }
    cut.push_str(&json[copied..]);
    Some(cut)
}

/// Where a string that begins at `open` ends, and where it is cut when it is too
/// long. An escape is one character, and so are the two of a surrogate pair.
fn scan_string(json: &str, open: usize) -> (usize, Option<usize>) {
    let bytes = json.as_bytes();
    let (mut at, mut characters, mut cut_at) = (open, 0, None);
    loop {
        if characters == ARGUMENT_STRING {
            cut_at = cut_at.or(Some(at));
        }
        match bytes.get(at) {
            None | Some(b'"') => break,
            Some(b'\\') => at += escape_length(&bytes[at..]),
            Some(byte) => at += width(*byte),
        }
        characters += 1;
    }
    // The mark must not make it longer.
    let long = characters > ARGUMENT_STRING + ARGUMENT_CUT.len();
    (at, cut_at.filter(|_| long))
}

fn escape_length(bytes: &[u8]) -> usize {
    match bytes {
        [
            b'\\',
            b'u',
            b'd' | b'D',
            b'8' | b'9' | b'a' | b'b' | b'A' | b'B',
            _,
            _,
            b'\\',
            b'u',
            ..,
        ] => 12,
        [b'\\', b'u', ..] => 6,
        _ => 2,
    }
}

/// Bytes of the UTF-8 character that begins with this one.
fn width(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0.. => 4,
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
