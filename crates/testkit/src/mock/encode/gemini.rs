//! Gemini `generateContent`.

use super::event;
use crate::mock::answer::Answer;
use serde_json::{Value, json};

fn usage(answer: &Answer) -> Option<Value> {
    let usage = answer.usage?;
    Some(json!({
        "promptTokenCount": usage.prompt, "candidatesTokenCount": usage.completion,
        "totalTokenCount": usage.prompt + usage.completion, "cachedContentTokenCount": usage.cached,
        "thoughtsTokenCount": usage.reasoning,
    }))
}

fn finish(answer: &Answer) -> &str {
    match answer.finish.as_str() {
        "stop" | "tool_calls" => "STOP",
        "length" => "MAX_TOKENS",
        "content_filter" => "SAFETY",
        other => other,
    }
}

fn parts(answer: &Answer, pieces: impl Fn(&str) -> Vec<String>) -> Vec<Value> {
    let thoughts = pieces(&answer.reasoning)
        .into_iter()
        .map(|piece| json!({"text": piece, "thought": true}));
    let texts = pieces(&answer.text)
        .into_iter()
        .map(|piece| json!({"text": piece}));
    let calls = answer.calls.iter().map(|call| {
        json!({"functionCall": {"id": call.id, "name": call.name, "args": call.object()}, "thoughtSignature": "c2ln"})
    });
    thoughts.chain(texts).chain(calls).collect()
}

fn candidate(answer: &Answer, parts: &[Value], last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}});
    if last {
        candidate["finishReason"] = json!(finish(answer));
    }
    candidate["index"] = json!(0);
    let mut object =
        json!({"candidates": [candidate], "modelVersion": answer.model, "responseId": answer.id});
    if let (true, Some(usage)) = (last, usage(answer)) {
        object["usageMetadata"] = usage;
    }
    object
}

pub(super) fn object(answer: &Answer) -> Value {
    let whole = |text: &str| {
        if text.is_empty() {
            Vec::new()
        } else {
            vec![text.to_owned()]
        }
    };
    candidate(answer, &parts(answer, whole), true)
}

pub(super) fn events(answer: &Answer) -> Vec<String> {
    let parts = parts(answer, |text| answer.pieces(text));
    let (last, before) = parts.split_last().map_or((&[][..], &[][..]), |(last, before)| {
        (std::slice::from_ref(last), before)
    });
    let mut events: Vec<String> = before
        .iter()
        .map(|part| event(None, &candidate(answer, std::slice::from_ref(part), false)))
        .collect();
    events.push(event(None, &candidate(answer, last, true)));
    events
}
