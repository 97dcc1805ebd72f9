//! What the tests of all adapters share.

use std::sync::Arc;

use talaria_llm::sse::Framer;
use talaria_types::{
    Completion, Delta, ImagePart, Message, ModelRequest, Task, ToolCall, ToolChoice, ToolSpec,
};

use crate::wire::{Decoder, Images, WireError};

/// A home without images.
pub(crate) struct NoImages;

impl Images for NoImages {
    fn base64(&self, _: &ImagePart) -> Option<String> {
        None
    }
}

/// A home in which every image has the same bytes.
pub(crate) struct SameImage;

impl Images for SameImage {
    fn base64(&self, _: &ImagePart) -> Option<String> {
        Some("eHl6".to_owned())
    }
}

/// A request with one user message.
pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        task: Task::Main,
        system: Arc::from("Be brief."),
        note: None,
        messages: vec![Arc::new(Message::user("hi"))],
        tools: Arc::from(Vec::new()),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    }
}

/// A tool named `terminal`.
pub(crate) fn terminal() -> ToolSpec {
    ToolSpec {
        name: "terminal".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters: serde_json::json!({
            "type": "object", "properties": {"command": {"type": "string", "pattern": "."}}, "required": ["command"],
        }),
    }
}

/// An assistant message that calls `terminal`.
pub(crate) fn calling(id: &str, arguments: &str) -> Message {
    Message {
        tool_calls: vec![ToolCall {
            id: id.to_owned(),
            name: "terminal".to_owned(),
            arguments: arguments.to_owned(),
            extra: serde_json::Map::new(),
        }],
        ..Message::assistant("")
    }
}

/// Reads a whole stream; the deltas, and the answer or why there is none.
pub(crate) fn replay(
    decoder: &mut dyn Decoder,
    stream: &[u8],
) -> (Vec<Delta>, Result<Completion, WireError>) {
    let mut framer = Framer::default();
    let mut deltas = Vec::new();
    let mut failed = None;
    let mut take = |event: talaria_llm::sse::Event<'_>| {
        if failed.is_none() {
            failed = decoder.event(event, &mut deltas).err();
        }
    };
    framer.push(stream, &mut take);
    framer.finish(&mut take);
    let answer = match failed {
        Some(error) => Err(error),
        None => decoder.finish(&mut deltas),
    };
    (deltas, answer)
}

/// Lines of a stream from the data of its events.
pub(crate) fn stream(events: &[&str]) -> Vec<u8> {
    events
        .iter()
        .map(|data| format!("data: {data}\n\n"))
        .collect::<String>()
        .into_bytes()
}
