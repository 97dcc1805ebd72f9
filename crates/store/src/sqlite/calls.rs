//! The column `tool_calls`: a JSON list in the shape of chat completions.
//!
//! Members that this program does not know stay with the call. Older rows hold
//! `{name, arguments}`; some hold arguments as an object. A row whose JSON is
//! broken has no calls, as in Hermes.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use talaria_types::ToolCall;

/// The text of the column, in raw UTF-8 so that it can be searched; `None` without calls.
pub(crate) fn encode(calls: &[ToolCall]) -> Option<String> {
    if calls.is_empty() {
        return None;
    }
    serde_json::to_string(&Calls(calls)).ok()
}

struct Calls<'a>(&'a [ToolCall]);
struct Call<'a>(&'a ToolCall);
struct Function<'a>(&'a ToolCall);

impl Serialize for Calls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for call in self.0 {
            list.serialize_element(&Call(call))?;
        }
        list.end()
    }
}

impl Serialize for Call<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("id", &self.0.id)?;
        if !self.0.extra.contains_key("call_id") {
            map.serialize_entry("call_id", &self.0.id)?;
        }
        if !self.0.extra.contains_key("type") {
            map.serialize_entry("type", "function")?;
        }
        map.serialize_entry("function", &Function(self.0))?;
        for (name, value) in &self.0.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl Serialize for Function<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("name", &self.0.name)?;
        map.serialize_entry("arguments", &self.0.arguments)?;
        map.end()
    }
}

/// Reads the column.
pub(crate) fn decode(column: &[u8]) -> Vec<ToolCall> {
    let Ok(list) = serde_json::from_slice::<Vec<Map<String, Value>>>(column) else {
        return Vec::new();
    };
    list.into_iter().map(decode_one).collect()
}

fn decode_one(mut call: Map<String, Value>) -> ToolCall {
    let mut function = match call.shift_remove("function") {
        Some(Value::Object(function)) => function,
        // The older shape has the function's members on the call itself.
        _ => ["name", "arguments"]
            .iter()
            .filter_map(|key| call.shift_remove_entry(*key))
            .collect(),
    };
    let id = text(call.shift_remove("id"));
    let call_id = text(call.shift_remove("call_id"));
    let id = if id.is_empty() { call_id.clone() } else { id };
    if call.get("type").and_then(Value::as_str) == Some("function") {
        call.shift_remove("type");
    }
    if !call_id.is_empty() && call_id != id {
        call.insert("call_id".to_owned(), Value::String(call_id));
    }
    let arguments = match function.shift_remove("arguments") {
        Some(Value::String(arguments)) => arguments,
        Some(Value::Null) | None => "{}".to_owned(),
        Some(other) => other.to_string(),
    };
    ToolCall {
        id,
        name: text(function.shift_remove("name")),
        arguments,
        extra: call,
    }
}

fn text(value: Option<Value>) -> String {
    match value {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_every_age_are_read() {
        for column in [
            r#"[{"id":"c1","call_id":"c1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}]"#,
            r#"[{"id":"c1","name":"terminal","arguments":"{\"command\":\"ls\"}"}]"#,
            r#"[{"id":"c1","name":"terminal","arguments":{"command":"ls"}}]"#,
            r#"[{"call_id":"c1","function":{"name":"terminal","arguments":{"command":"ls"}}}]"#,
        ] {
            let calls = decode(column.as_bytes());
            assert_eq!(calls.len(), 1, "{column}");
            assert_eq!(
                (calls[0].id.as_str(), calls[0].name.as_str()),
                ("c1", "terminal"),
                "{column}"
            );
            assert_eq!(calls[0].arguments, r#"{"command":"ls"}"#, "{column}");
            assert!(calls[0].extra.is_empty(), "{column}");
        }
        assert!(decode(b"no json").is_empty());
    }

    #[test]
    fn unknown_members_of_a_call_come_back() {
        let column = r#"[{"id":"c1","call_id":"fc_9","type":"function","function":{"name":"n","arguments":"{}"},"extra_content":{"google":{"thought_signature":"x"}}}]"#;
        let calls = decode(column.as_bytes());
        let again = decode(encode(&calls).unwrap().as_bytes());
        assert_eq!(calls, again);
        assert!(calls[0].extra.contains_key("extra_content") && calls[0].extra.contains_key("call_id"));
    }

    #[test]
    fn arguments_are_written_in_raw_utf8() {
        let call = ToolCall {
            id: "a".into(),
            name: "t".into(),
            arguments: r#"{"q":"桂林"}"#.into(),
            extra: Map::new(),
        };
        assert!(encode(&[call]).unwrap().contains("桂林"));
    }
}
