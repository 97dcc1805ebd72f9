//! OpenAI chat completions.

use super::{event, with};
use crate::mock::answer::{Answer, AnswerUsage};
use serde_json::{Value, json};

fn usage(usage: AnswerUsage) -> Value {
    json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt + usage.completion,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

pub(super) fn object(answer: &Answer, now: u64) -> Value {
    let content = match answer.text.as_str() {
        "" if !answer.calls.is_empty() => Value::Null,
        text => json!(text),
    };
    let mut message = json!({"role": "assistant", "content": content});
    if !answer.reasoning.is_empty() {
        message[&answer.reasoning_field] = json!(answer.reasoning);
    }
    if !answer.calls.is_empty() {
        let call = |call: &crate::mock::answer::AnswerCall| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args}});
        message["tool_calls"] = answer.calls.iter().map(call).collect();
    }
    let mut object = json!({
        "id": answer.id, "object": "chat.completion", "created": now, "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": null}],
    });
    if let Some(reported) = answer.usage {
        object["usage"] = usage(reported);
    }
    with(object, &answer.extra)
}

pub(super) fn events(answer: &Answer, now: u64) -> Vec<String> {
    let head =
        json!({"id": answer.id, "object": "chat.completion.chunk", "created": now, "model": answer.model});
    let chunk = |delta: Value, finish: Option<&str>| {
        let mut object = head.clone();
        object["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        event(None, &with(object, &answer.extra))
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    for piece in answer.pieces(&answer.reasoning) {
        let mut delta = json!({});
        delta[&answer.reasoning_field] = json!(piece);
        events.push(chunk(delta, None));
    }
    events.extend(
        answer
            .pieces(&answer.text)
            .iter()
            .map(|piece| chunk(json!({"content": piece}), None)),
    );
    for (index, call) in answer.calls.iter().enumerate() {
        let opened = json!({"index": index, "id": call.id, "type": "function",
                            "function": {"name": call.name, "arguments": ""}});
        events.push(chunk(json!({"tool_calls": [opened]}), None));
        events.extend(answer.pieces(&call.args).iter().map(|piece| {
            chunk(
                json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
                None,
            )
        }));
    }
    events.push(chunk(json!({}), Some(&answer.finish)));
    if let (Some(reported), true) = (answer.usage, answer.usage_asked) {
        let mut object = head.clone();
        object["choices"] = json!([]);
        object["usage"] = usage(reported);
        events.push(event(None, &object));
    }
    if !answer.no_done {
        events.push("data: [DONE]\n\n".to_owned());
    }
    events
}
