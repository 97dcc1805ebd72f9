//! The JSON shapes of stored things, as other programs read them. Secrets are masked.

use serde_json::{Value, json};
use talaria_redact::redact_own as redact;
use talaria_store::{SessionRow, SessionStore};
use talaria_types::{Content, ImageSource, Message, Part, SessionId, StoredMessage, ToolCall};

use crate::exit::Failure;

/// One message.
pub(crate) fn message(stored: &StoredMessage) -> Value {
    let message = &*stored.message;
    json!({
        "id": stored.id,
        "session_id": stored.session_id,
        "role": message.role,
        "content": content(&message.content),
        "tool_calls": tool_calls(message),
        "tool_call_id": message.tool_call_id,
        "tool_name": message.tool_name,
        "timestamp": stored.timestamp,
        "active": stored.active,
        "compacted": stored.compacted,
    })
}

/// A session with its lineage and its messages.
pub(crate) fn session(
    row: &SessionRow,
    lineage: &[SessionId],
    messages: &[StoredMessage],
) -> Result<Value, Failure> {
    let mut row = serde_json::to_value(row).map_err(|error| Failure::failed(error.to_string()))?;
    mask_text(&mut row, "system_prompt");
    let messages: Vec<Value> = messages.iter().map(message).collect();
    Ok(json!({"session": row, "lineage": lineage, "messages": messages}))
}

/// What `show` and `export` print of a session: its own messages, or with `full` the whole lineage's originals.
pub(crate) fn gather(store: &dyn SessionStore, id: &SessionId, full: bool) -> Result<Gathered, Failure> {
    let row = store
        .session(id)?
        .ok_or_else(|| talaria_store::StoreError::UnknownSession { name: id.to_string() })?;
    let lineage = store.lineage(id)?;
    let messages = if full { store.full(id)? } else { store.live(id)? };
    Ok(Gathered {
        row,
        lineage,
        messages,
    })
}

/// A session read whole.
pub(crate) struct Gathered {
    /// Its row.
    pub(crate) row: SessionRow,
    /// Its lineage, from the root.
    pub(crate) lineage: Vec<SessionId>,
    /// Its messages.
    pub(crate) messages: Vec<StoredMessage>,
}

/// Text as it is, parts as a list.
fn content(content: &Content) -> Value {
    match content {
        Content::Text(text) => Value::String(redact(text).into_owned()),
        Content::Parts(parts) => parts.iter().map(part).collect(),
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text { text } => json!({"type": "text", "text": redact(text)}),
        Part::Image(image) => {
            let source = match &image.source {
                ImageSource::Stored(digest) => json!({"sha256": digest}),
                ImageSource::Url(url) => json!({"url": redact(url)}),
                // Bytes of a row that another program wrote: their size says enough.
                ImageSource::Inline(base64) => json!({"inline_bytes": base64.len() / 4 * 3}),
            };
            json!({"type": "image", "media_type": image.media_type, "source": source})
        }
    }
}

/// The calls in the shape every chat API has; null when there are none.
fn tool_calls(message: &Message) -> Value {
    let call = |call: &ToolCall| {
        json!({
            "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": redact(&call.arguments)},
        })
    };
    if message.tool_calls.is_empty() {
        Value::Null
    } else {
        message.tool_calls.iter().map(call).collect()
    }
}

fn mask_text(object: &mut Value, key: &str) {
    if let Some(Value::String(text)) = object.get_mut(key) {
        *text = redact(text).into_owned();
    }
}
