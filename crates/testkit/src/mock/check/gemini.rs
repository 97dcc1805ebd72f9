//! Gemini contents as a strict provider reads them.

use crate::mock::request::list;
use serde_json::Value;

pub(super) fn validate(body: &Value, findings: &mut Vec<String>) {
    let contents = list(body, "contents");
    if contents.is_empty() {
        findings.push("shape: no contents".to_owned());
        return;
    }
    let mut before = "";
    let mut needed = 0;
    for (index, content) in contents.iter().enumerate() {
        let parts = list(content, "parts");
        let role = content["role"].as_str().unwrap_or("user");
        if parts.is_empty() {
            findings.push(format!("empty: contents[{index}] has no parts"));
        }
        if role == before {
            findings.push(format!(
                "alternation: contents[{}] and [{index}] are both {role}",
                index - 1
            ));
        }
        let got = count(parts, "functionResponse");
        if got != needed {
            findings.push(format!(
                "pairing: contents[{index}] has {got} function responses for {needed} calls"
            ));
        }
        needed = if role == "model" {
            count(parts, "functionCall")
        } else {
            0
        };
        before = role;
    }
    if needed > 0 {
        findings.push("pairing: function calls without responses at the end".to_owned());
    }
}

fn count(parts: &[Value], key: &str) -> usize {
    parts.iter().filter(|part| part.get(key).is_some()).count()
}
