//! The messages of JSON-RPC 2.0, one a line.

use crate::Refusal;
use serde_json::{Value, json};

/// A message of the program.
#[derive(Debug, PartialEq)]
pub(crate) enum Message {
    /// It calls us; `id` is repeated in the answer as it came.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    /// It tells us.
    Notification { method: String, params: Value },
    /// It answers the call `id` of ours.
    Answer {
        id: u64,
        outcome: Result<Value, Refusal>,
    },
}

/// Reads a line; `None` when it is no message, which is a stray print.
pub(crate) fn read(line: &[u8]) -> Option<Message> {
    let Value::Object(mut fields) = serde_json::from_slice(line).ok()? else {
        return None;
    };
    let id = fields.remove("id").filter(|id| !id.is_null());
    if let Some(Value::String(method)) = fields.remove("method") {
        let params = fields.remove("params").unwrap_or(Value::Null);
        return Some(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    // Some libraries answer with the id as text.
    let id = id?;
    let id = id.as_u64().or_else(|| id.as_str()?.parse().ok())?;
    let outcome = match fields.remove("error").filter(|error| !error.is_null()) {
        Some(error) => Err(refusal(&error)),
        None => Ok(fields.remove("result").unwrap_or(Value::Null)),
    };
    Some(Message::Answer { id, outcome })
}

fn refusal(error: &Value) -> Refusal {
    let message = error["message"]
        .as_str()
        .map_or_else(|| error.to_string(), str::to_owned);
    Refusal {
        code: error["code"].as_i64().unwrap_or(-32000),
        message,
    }
}

/// A call of ours. The id comes early, so that a shell script can cut it out.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// What we tell.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "method": method, "params": params}))
}

/// Our answer to a call of the program.
pub(crate) fn answer(id: &Value, outcome: Result<Value, Refusal>) -> String {
    line(&match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(Refusal { code, message }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    })
}

/// JSON has no bare line ends, so a message is one line.
fn line(message: &Value) -> String {
    format!("{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_of_messages_are_told_apart_and_prints_are_none() {
        let read = |line: &str| read(line.as_bytes());
        assert!(matches!(
            read(r#"{"id": "a", "method": "m"}"#),
            Some(Message::Request {
                params: Value::Null,
                ..
            })
        ));
        assert!(matches!(
            read(r#"{"id": null, "method": "m", "params": [1]}"#),
            Some(Message::Notification { .. })
        ));
        let answered = |line| match read(line) {
            Some(Message::Answer { id: 7, outcome }) => outcome,
            other => panic!("{other:?}"),
        };
        assert_eq!(answered(r#"{"id": "7", "result": 1}"#), Ok(json!(1)));
        assert_eq!(answered(r#"{"id": 7, "error": null}"#), Ok(Value::Null));
        assert_eq!(
            answered(r#"{"id": 7, "error": {"message": "no"}}"#)
                .unwrap_err()
                .code,
            -32000
        );
        for stray in [
            "loading model",
            "[]",
            "7",
            "{}",
            r#"{"id": 7.5, "result": 1}"#,
            "",
            "{\"id\": 1,",
        ] {
            assert_eq!(read(stray), None, "{stray}");
        }
    }

    #[test]
    fn a_text_with_line_ends_stays_one_line() {
        let sent = request(1, "say", &json!({"text": "a\nb\u{2028}"}));
        assert_eq!(sent.matches('\n').count(), 1);
        assert!(sent.starts_with(r#"{"jsonrpc":"2.0","id":1,"method":"say""#));
    }
}
