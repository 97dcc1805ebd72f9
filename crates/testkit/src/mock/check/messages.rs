//! Anthropic messages as a strict provider reads them.

use super::is_blank;
use crate::mock::request::{list, role};
use serde_json::{Value, json};
use std::collections::HashSet;

pub(super) fn validate(body: &Value, findings: &mut Vec<String>) {
    let messages = list(body, "messages");
    let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
        findings.push("shape: no messages".to_owned());
        return;
    };
    if role(first) != "user" {
        findings.push("start: the first message is not from the user".to_owned());
    }
    if role(last) != "user" {
        findings.push("end: the last message is from the assistant (prefill)".to_owned());
    }
    let mut wanted: Vec<String> = Vec::new();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let role = role(message);
        if !matches!(role, "user" | "assistant") {
            findings.push(format!("role: messages[{index}] has role {role:?}"));
            continue;
        }
        if role == before {
            findings.push(format!(
                "alternation: messages[{}] and [{index}] are both {role}",
                index - 1
            ));
        }
        let blocks = blocks(message);
        if blocks.is_empty() || message["content"].as_str().is_some_and(is_blank) {
            findings.push(format!("empty: messages[{index}] ({role}) is empty"));
        }
        if blocks
            .iter()
            .any(|block| block["type"] == "text" && block["text"].as_str().is_none_or(is_blank))
        {
            findings.push(format!("empty: messages[{index}] has an empty text block"));
        }
        results(index, role, &blocks, &wanted, findings);
        wanted = if role == "assistant" {
            ids(&blocks, "tool_use", "id")
        } else {
            Vec::new()
        };
        if wanted.iter().collect::<HashSet<_>>().len() != wanted.len() {
            findings.push(format!("id: messages[{index}] has one id twice"));
        }
        for block in blocks
            .iter()
            .filter(|block| block["type"] == "tool_use" && !block["input"].is_object())
        {
            findings.push(format!(
                "arguments: messages[{index}] call {}: input is not an object",
                block["id"]
            ));
        }
        before = role;
    }
    if !wanted.is_empty() {
        findings.push(format!("pairing: tool_use {wanted:?} has no result at the end"));
    }
}

fn blocks(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(blocks) => blocks.clone(),
        _ => Vec::new(),
    }
}

fn ids(blocks: &[Value], kind: &str, key: &str) -> Vec<String> {
    let of_kind = blocks.iter().filter(|block| block["type"] == kind);
    of_kind
        .map(|block| block[key].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// The results of a message against the calls of the one before it.
fn results(index: usize, role: &str, blocks: &[Value], wanted: &[String], findings: &mut Vec<String>) {
    let got = ids(blocks, "tool_result", "tool_use_id");
    for id in wanted.iter().filter(|id| !got.contains(id)) {
        findings.push(format!(
            "pairing: tool_use {id} has no tool_result in messages[{index}]"
        ));
    }
    for id in got.iter().filter(|id| !wanted.contains(id)) {
        findings.push(format!(
            "pairing: messages[{index}] tool_result {id} has no tool_use before it"
        ));
    }
    if got.iter().collect::<HashSet<_>>().len() != got.len() {
        findings.push(format!("pairing: messages[{index}] answers one id twice"));
    }
    let lead = blocks
        .iter()
        .take_while(|block| block["type"] == "tool_result")
        .count();
    if role == "user" && lead < got.len() {
        findings.push(format!("order: messages[{index}] tool results must come first"));
    }
}
