//! Anthropic messages.

use super::{event, with};
use crate::mock::answer::{Answer, AnswerUsage};
use serde_json::{Value, json};

fn usage(answer: &Answer) -> Value {
    let AnswerUsage {
        prompt,
        completion,
        cached,
        cache_write,
        ..
    } = answer.usage.unwrap_or_default();
    let fresh = if prompt > cached { prompt - cached } else { prompt };
    json!({"input_tokens": fresh, "cache_creation_input_tokens": cache_write, "cache_read_input_tokens": cached,
           "output_tokens": completion})
}

fn stop_reason(answer: &Answer) -> &str {
    match answer.finish.as_str() {
        "stop" => "end_turn",
        "tool_calls" => "tool_use",
        "length" => "max_tokens",
        "content_filter" => "refusal",
        other => other,
    }
}

/// The content blocks, with the deltas that stream each of them.
fn blocks(answer: &Answer) -> Vec<(Value, Value, Vec<Value>)> {
    let mut blocks = Vec::new();
    if !answer.reasoning.is_empty() {
        let mut deltas: Vec<Value> = answer
            .pieces(&answer.reasoning)
            .iter()
            .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
            .collect();
        deltas.push(json!({"type": "signature_delta", "signature": "c2ln"}));
        let whole = json!({"type": "thinking", "thinking": answer.reasoning, "signature": "c2ln"});
        blocks.push((
            whole,
            json!({"type": "thinking", "thinking": "", "signature": ""}),
            deltas,
        ));
    }
    if !answer.text.is_empty() {
        let deltas = answer
            .pieces(&answer.text)
            .iter()
            .map(|piece| json!({"type": "text_delta", "text": piece}))
            .collect();
        blocks.push((
            json!({"type": "text", "text": answer.text}),
            json!({"type": "text", "text": ""}),
            deltas,
        ));
    }
    for call in &answer.calls {
        let id = call.id.replace("call", "toolu");
        let block = |input: Value| json!({"type": "tool_use", "id": id, "name": call.name, "input": input});
        let deltas = answer
            .pieces(&call.args)
            .iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect();
        blocks.push((block(call.object()), block(json!({})), deltas));
    }
    blocks
}

fn envelope(answer: &Answer, content: &[Value], stop: Option<&str>, usage: &Value) -> Value {
    json!({"id": format!("msg_{}", answer.id), "type": "message", "role": "assistant", "model": answer.model,
           "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage})
}

pub(super) fn object(answer: &Answer) -> Value {
    let content: Vec<Value> = blocks(answer).into_iter().map(|(whole, _, _)| whole).collect();
    with(
        envelope(answer, &content, Some(stop_reason(answer)), &usage(answer)),
        &answer.extra,
    )
}

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let say = |mut data: Value, name: &str| {
        data["type"] = json!(name);
        event(Some(name), &data)
    };
    let mut opening = usage(answer);
    opening["output_tokens"] = json!(1);
    let started = envelope(answer, &[], None, &opening);
    let mut events = vec![say(json!({"type": "", "message": started}), "message_start")];
    for (index, (_, empty, deltas)) in blocks(answer).into_iter().enumerate() {
        events.push(say(
            json!({"type": "", "index": index, "content_block": empty}),
            "content_block_start",
        ));
        for delta in deltas {
            events.push(say(
                json!({"type": "", "index": index, "delta": delta}),
                "content_block_delta",
            ));
        }
        events.push(say(json!({"type": "", "index": index}), "content_block_stop"));
    }
    let stop = json!({"stop_reason": stop_reason(answer), "stop_sequence": null});
    events.push(say(
        json!({"type": "", "delta": stop, "usage": usage(answer)}),
        "message_delta",
    ));
    if !answer.no_done {
        events.push(say(json!({"type": ""}), "message_stop"));
    }
    events
}
