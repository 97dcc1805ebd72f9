//! OpenAI responses.

use super::{event, with};
use crate::mock::answer::{Answer, AnswerUsage};
use serde_json::{Map, Value, json};

fn usage(usage: AnswerUsage) -> Value {
    json!({
        "input_tokens": usage.prompt, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.completion, "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.prompt + usage.completion,
    })
}

fn items(answer: &Answer) -> Vec<Value> {
    let id = &answer.id;
    let mut items = Vec::new();
    if !answer.reasoning.is_empty() {
        items.push(json!({"id": format!("rs_{id}"), "type": "reasoning",
            "summary": [{"type": "summary_text", "text": answer.reasoning}], "encrypted_content": "bW9jaw=="}));
    }
    if !answer.text.is_empty() {
        items.push(
            json!({"id": format!("msg_{id}"), "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": answer.text, "annotations": []}]}),
        );
    }
    for (index, call) in answer.calls.iter().enumerate() {
        items.push(match &call.input {
            Some(input) => json!({"id": format!("ctc_{id}_{index}"), "type": "custom_tool_call",
                "status": "completed", "call_id": call.id, "name": call.name, "input": input}),
            None => json!({"id": format!("fc_{id}_{index}"), "type": "function_call", "status": "completed",
                "call_id": call.id, "name": call.name, "arguments": call.args}),
        });
    }
    items
}

fn base(answer: &Answer, now: u64) -> Value {
    json!({"id": format!("resp_{}", answer.id), "object": "response", "created_at": now, "model": answer.model,
           "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "error": null, "metadata": {}})
}

fn is_cut(answer: &Answer) -> bool {
    answer.finish == "length"
}

pub(super) fn object(answer: &Answer, now: u64) -> Value {
    let mut full = base(answer, now);
    full["status"] = json!(if is_cut(answer) { "incomplete" } else { "completed" });
    full["incomplete_details"] = if is_cut(answer) {
        json!({"reason": "max_output_tokens"})
    } else {
        Value::Null
    };
    full["output"] = json!(items(answer));
    full["usage"] = answer.usage.map_or(Value::Null, usage);
    with(full, &answer.extra)
}

pub(super) fn events(answer: &Answer, now: u64) -> Vec<String> {
    let mut stream = Stream { events: Vec::new() };
    let mut started = base(answer, now);
    started["status"] = json!("in_progress");
    started["output"] = json!([]);
    started["usage"] = Value::Null;
    started["incomplete_details"] = Value::Null;
    stream.say("response.created", json!({"response": started}));
    stream.say("response.in_progress", json!({"response": started}));
    for (index, item) in items(answer).iter().enumerate() {
        stream.item(answer, index, item);
    }
    if !answer.no_done {
        let end = if is_cut(answer) {
            "response.incomplete"
        } else {
            "response.completed"
        };
        stream.say(end, json!({"response": object(answer, now)}));
    }
    stream.events
}

struct Stream {
    events: Vec<String>,
}

impl Stream {
    /// An event with its type and number before its members.
    fn say(&mut self, kind: &str, members: Value) {
        let mut data = Map::new();
        data.insert("type".to_owned(), json!(kind));
        data.insert("sequence_number".to_owned(), json!(self.events.len()));
        if let Value::Object(members) = members {
            data.extend(members);
        }
        self.events.push(event(Some(kind), &Value::Object(data)));
    }

    fn item(&mut self, answer: &Answer, index: usize, item: &Value) {
        match item["type"].as_str() {
            Some("reasoning") => self.reasoning(answer, index, item),
            Some("message") => self.message(answer, index, item),
            Some("function_call") => {
                let names = ("response.function_call_arguments", "arguments");
                self.call(answer, index, item, names);
            }
            _ => self.call(answer, index, item, ("response.custom_tool_call_input", "input")),
        }
        self.say(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }

    fn reasoning(&mut self, answer: &Answer, index: usize, item: &Value) {
        let id = &item["id"];
        let place = |mut members: Value| {
            members["item_id"] = id.clone();
            members["output_index"] = json!(index);
            members["summary_index"] = json!(0);
            members
        };
        let mut opened = item.clone();
        opened["summary"] = json!([]);
        self.say(
            "response.output_item.added",
            json!({"output_index": index, "item": opened}),
        );
        let empty = json!({"type": "summary_text", "text": ""});
        self.say(
            "response.reasoning_summary_part.added",
            place(json!({"part": empty})),
        );
        for piece in answer.pieces(&answer.reasoning) {
            self.say(
                "response.reasoning_summary_text.delta",
                place(json!({"delta": piece})),
            );
        }
        self.say(
            "response.reasoning_summary_text.done",
            place(json!({"text": answer.reasoning})),
        );
        self.say(
            "response.reasoning_summary_part.done",
            place(json!({"part": item["summary"][0]})),
        );
    }

    fn message(&mut self, answer: &Answer, index: usize, item: &Value) {
        let id = &item["id"];
        let place = |mut members: Value| {
            members["item_id"] = id.clone();
            members["output_index"] = json!(index);
            members["content_index"] = json!(0);
            members
        };
        let mut opened = item.clone();
        opened["status"] = json!("in_progress");
        opened["content"] = json!([]);
        self.say(
            "response.output_item.added",
            json!({"output_index": index, "item": opened}),
        );
        let empty = json!({"type": "output_text", "text": "", "annotations": []});
        self.say("response.content_part.added", place(json!({"part": empty})));
        for piece in answer.pieces(&answer.text) {
            self.say("response.output_text.delta", place(json!({"delta": piece})));
        }
        self.say("response.output_text.done", place(json!({"text": answer.text})));
        self.say(
            "response.content_part.done",
            place(json!({"part": item["content"][0]})),
        );
    }

    fn call(&mut self, answer: &Answer, index: usize, item: &Value, (event, field): (&str, &str)) {
        let place = |mut members: Value| {
            members["item_id"] = item["id"].clone();
            members["output_index"] = json!(index);
            members
        };
        let mut opened = item.clone();
        opened["status"] = json!("in_progress");
        opened[field] = json!("");
        self.say(
            "response.output_item.added",
            json!({"output_index": index, "item": opened}),
        );
        for piece in answer.pieces(item[field].as_str().unwrap_or_default()) {
            self.say(&format!("{event}.delta"), place(json!({"delta": piece})));
        }
        let mut whole = json!({});
        whole[field] = item[field].clone();
        self.say(&format!("{event}.done"), place(whole));
    }
}
