//! Joins neighbours of one role: strict chat templates take no two in a row.

use talaria_types::{Content, Message, Part, Reasoning};

/// One user row that says what both said, in order.
pub(super) fn join_users(first: &Message, second: &Message) -> Message {
    Message::user(join_contents(sent_content(first), sent_content(second)))
}

/// One assistant row that says what both said and makes both rows' calls.
pub(super) fn join_assistants(first: &Message, second: &Message) -> Message {
    let mut joined = second.clone();
    joined.content = join_contents(first.content.clone(), second.content.clone());
    joined.tool_calls = first
        .tool_calls
        .iter()
        .chain(&second.tool_calls)
        .cloned()
        .collect();
    joined.reasoning = join_reasoning(&first.reasoning, &second.reasoning);
    joined
}

/// A user row's content as it is sent: recalled memory and plugin context included.
pub(super) fn sent_content(message: &Message) -> Content {
    let Some(sent) = &message.sent_as else {
        return message.content.clone();
    };
    let images: Vec<Part> = message.content.images().cloned().map(Part::Image).collect();
    if images.is_empty() {
        return Content::Text(sent.clone());
    }
    let mut parts = vec![Part::Text { text: sent.clone() }];
    parts.extend(images);
    Content::Parts(parts)
}

fn join_contents(first: Content, second: Content) -> Content {
    if first.is_blank() {
        return second;
    }
    if second.is_blank() {
        return first;
    }
    match (first, second) {
        (Content::Text(first), Content::Text(second)) => Content::Text(format!("{first}\n\n{second}")),
        (first, second) => {
            let mut parts = into_parts(first);
            parts.extend(into_parts(second));
            Content::Parts(parts)
        }
    }
}

fn into_parts(content: Content) -> Vec<Part> {
    match content {
        Content::Text(text) => vec![Part::Text { text }],
        Content::Parts(parts) => parts,
    }
}

/// Signed blocks and items belong to the row they came with: a joined row's would be
/// refused, so only the readable thoughts stay.
fn join_reasoning(first: &Reasoning, second: &Reasoning) -> Reasoning {
    let join = |first: &Option<String>, second: &Option<String>| match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}\n\n{second}")),
        (Some(only), None) | (None, Some(only)) => Some(only.clone()),
        (None, None) => None,
    };
    Reasoning {
        text: join(&first.text, &second.text),
        content: join(&first.content, &second.content),
        ..Reasoning::default()
    }
}
