//! Responses input items as a strict provider reads them.

use super::{are_arguments, is_blank};
use crate::mock::request::{list, role, text_of};
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) fn validate(body: &Value, findings: &mut Vec<String>) {
    if body["input"].is_string() {
        return;
    }
    let items = list(body, "input");
    if items.is_empty() {
        findings.push("shape: no input".to_owned());
        return;
    }
    // Calls and outputs of each id.
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or("message") {
            "function_call" => {
                seen.entry(id).or_default().0 += 1;
                if !are_arguments(&item["arguments"]) {
                    findings.push(format!("arguments: input[{index}]: not a JSON object"));
                }
            }
            "function_call_output" => {
                let counts = seen.entry(id).or_default();
                counts.1 += 1;
                if counts.0 == 0 {
                    findings.push(format!(
                        "pairing: input[{index}] answers {id:?}, which was not called before"
                    ));
                }
            }
            "message" if role(item) == "assistant" && is_blank(&text_of(&item["content"])) => {
                findings.push(format!("empty: input[{index}] (assistant) is empty"));
            }
            _ => {}
        }
    }
    for (id, (calls, outputs)) in seen
        .iter()
        .filter(|(_, (calls, outputs))| *calls > 0 && calls != outputs)
    {
        findings.push(format!("pairing: call {id}: {calls} calls, {outputs} outputs"));
    }
}
