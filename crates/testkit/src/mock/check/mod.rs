//! What every request must keep, whatever the program under test was doing: calls and results paired,
//! roles in order, arguments JSON objects, nothing private on the wire, at most four cache marks,
//! everything within its size. A finding is a short text `rule: detail`.

mod chat;
mod gemini;
mod messages;
mod prefix;
mod responses;

pub(crate) use prefix::{Prefixes, Sent};

use crate::mock::request::{Api, all_text};
use serde_json::{Value, json};

/// No single text of a request is longer; whatever is put into one has a cap of its own far below.
const LONGEST_TEXT: usize = 1_000_000;

/// The findings on a request's shape; none means that a strict provider would take it.
pub fn validate(body: Option<&Value>, api: Api) -> Vec<String> {
    let Some(body @ Value::Object(top)) = body else {
        return vec!["json: the body is not a JSON object".to_owned()];
    };
    let mut findings = Vec::new();
    let marks = cache_marks(body);
    if marks > 4 {
        findings.push(format!(
            "cache: {marks} cache_control marks, at most 4 are allowed"
        ));
    }
    for key in ["messages", "input", "contents", "system"] {
        if let Some(value) = top.get(key) {
            private_keys(value, &format!(".{key}"), &mut findings);
        }
    }
    if let Some(long) = all_text(body)
        .iter()
        .map(|text| text.len())
        .find(|length| *length > LONGEST_TEXT)
    {
        findings.push(format!("size: a text of {long} bytes"));
    }
    match api {
        Api::Chat => chat::validate(body, &mut findings),
        Api::Messages => messages::validate(body, &mut findings),
        Api::Responses => responses::validate(body, &mut findings),
        Api::Gemini => gemini::validate(body, &mut findings),
    }
    findings
}

/// Status and body of the refusal a strict provider would send for a finding.
pub(crate) fn refusal(api: Api, finding: &str) -> (u16, Value) {
    let (rule, detail) = finding.split_once(": ").unwrap_or((finding, ""));
    let message = match rule {
        "pairing" => format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. {detail}"
        ),
        "alternation" => format!(
            "After the optional system message, conversation roles must alternate user and assistant roles except \
             for tool calls and results. {detail}"
        ),
        "arguments" => format!("invalid params, invalid function arguments json string. {detail}"),
        "empty" => format!("Invalid assistant message: content or tool_calls must be set. {detail}"),
        "keys" | "private" => format!("Extra inputs are not permitted. {detail}"),
        "cache" => format!("A maximum of 4 blocks with cache_control may be provided. {detail}"),
        _ => finding.to_owned(),
    };
    let status = if rule == "alternation" && api == Api::Chat {
        500
    } else {
        400
    };
    let kind = if status == 500 {
        "server_error"
    } else {
        "invalid_request_error"
    };
    (
        status,
        crate::mock::encode::error_body(api, status, &json!({"message": message, "type": kind})),
    )
}

/// Whether these are tool arguments as the wire wants them: the text of a JSON object.
fn are_arguments(value: &Value) -> bool {
    let parsed = value.as_str().map(serde_json::from_str::<Value>);
    matches!(parsed, Some(Ok(Value::Object(_))))
}

fn cache_marks(value: &Value) -> usize {
    match value {
        Value::Object(map) => {
            let own = map.get("cache_control").is_some_and(|mark| !mark.is_null());
            usize::from(own) + map.values().map(cache_marks).sum::<usize>()
        }
        Value::Array(list) => list.iter().map(cache_marks).sum(),
        _ => 0,
    }
}

/// Keys that begin with an underscore, outside of what the model or a tool wrote.
fn private_keys(value: &Value, path: &str, findings: &mut Vec<String>) {
    const FOREIGN: &[&str] = &[
        "parameters",
        "input_schema",
        "properties",
        "arguments",
        "input",
        "args",
    ];
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                if key.starts_with('_') {
                    findings.push(format!("private: key {path}.{key} on the wire"));
                }
                if !FOREIGN.contains(&key.as_str()) {
                    private_keys(inner, &format!("{path}.{key}"), findings);
                }
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                private_keys(inner, &format!("{path}[{index}]"), findings);
            }
        }
        _ => {}
    }
}

/// Whether the text is nothing but blanks.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

#[cfg(test)]
mod tests;
