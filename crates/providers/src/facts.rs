//! What a request carries, for the rows that may want to take something out of it.

use serde_json::Value;
use talaria_recovery::RequestFacts;
use talaria_types::{Message, ModelRequest, Rewrite, Role};

/// Tokens an image is counted as; its bytes say nothing about them.
const IMAGE_TOKENS: u64 = 1_500;

/// The facts every protocol shares; an adapter overrides what it sends differently.
pub(crate) fn of(request: &ModelRequest, streaming: bool, max_output: Option<u64>) -> RequestFacts {
    let has = |rewrite: &Rewrite| request.rewrites.contains(rewrite);
    let count = |wanted: &dyn Fn(&Message) -> bool| -> u32 {
        let images = request.messages.iter().filter(|message| wanted(message));
        images
            .map(|message| u32::try_from(message.content.images().count()).unwrap_or(u32::MAX))
            .sum()
    };
    let images = if has(&Rewrite::DropImages) {
        0
    } else {
        count(&|_| true)
    };
    let in_results =
        images > 0 && !has(&Rewrite::PlainToolContent) && count(&|message| message.role == Role::Tool) > 0;
    RequestFacts {
        signed_thinking: !has(&Rewrite::DropSignedThinking)
            && request
                .messages
                .iter()
                .filter_map(|message| message.reasoning.details.as_ref())
                .any(is_signed),
        encrypted_reasoning: !has(&Rewrite::DropEncryptedReasoning)
            && request
                .messages
                .iter()
                .any(|message| message.reasoning.response_items.is_some()),
        images,
        tool_images: in_results,
        schema_patterns: !has(&Rewrite::SimplifyToolSchemas)
            && request.tools.iter().any(|tool| has_patterns(&tool.parameters)),
        streaming,
        max_output,
        prompt_tokens: text_bytes(request).div_ceil(4) + u64::from(images) * IMAGE_TOKENS,
        messages: u32::try_from(request.messages.len()).unwrap_or(u32::MAX),
        ..RequestFacts::default()
    }
}

fn is_signed(details: &Value) -> bool {
    match details {
        Value::Array(blocks) => blocks.iter().any(is_signed),
        Value::Object(block) => block.contains_key("signature") || block.contains_key("data"),
        _ => false,
    }
}

fn text_bytes(request: &ModelRequest) -> u64 {
    let mut bytes = request.system.len() + request.note.as_ref().map_or(0, |note| note.len());
    for message in &request.messages {
        bytes += message
            .sent_as
            .as_ref()
            .map_or_else(|| message.content.text().len(), String::len);
        bytes += message
            .tool_calls
            .iter()
            .map(|call| call.name.len() + call.arguments.len())
            .sum::<usize>();
    }
    for tool in request.tools.iter() {
        bytes += tool.name.len() + tool.description.len() + value_bytes(&tool.parameters);
    }
    bytes as u64
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(value_bytes).sum::<usize>() + 2,
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| name.len() + 4 + value_bytes(value))
            .sum(),
    }
}

/// A schema uses the keywords some grammar builders choke on.
fn has_patterns(schema: &Value) -> bool {
    let mut copy = schema.clone();
    simplify(&mut copy);
    copy != *schema
}

/// Removes the keywords `pattern` and `format` from a schema; properties that
/// happen to have these names stay.
pub(crate) fn simplify(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(simplify),
        Value::Object(members) => {
            members.shift_remove("pattern");
            members.shift_remove("format");
            for (keyword, value) in members.iter_mut() {
                match (keyword.as_str(), value) {
                    ("properties" | "$defs" | "definitions" | "patternProperties", Value::Object(named)) => {
                        named.values_mut().for_each(simplify);
                    }
                    // Data, not schemas.
                    ("enum" | "const" | "default" | "examples", _) => {}
                    (_, value) => simplify(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_are_removed_but_not_properties_of_that_name() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "pattern": "^a"},
                "day": {"type": "string", "format": "date"},
            },
            "default": {"format": "x"},
        });
        assert!(has_patterns(&schema));
        simplify(&mut schema);
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {"pattern": {"type": "string"}, "day": {"type": "string"}},
                "default": {"format": "x"},
            })
        );
        assert!(!has_patterns(&schema));
    }
}
