//! A list of tools in which some are malformed: the library would refuse the whole list for one of them.

use serde_json::{Value, json};

/// The message, with each tool of a listed `tools` such that it can be read: one without a usable schema
/// takes any arguments, one without a name is left out.
pub(super) fn tools(message: &[u8]) -> Option<Value> {
    // Nearly every message is none of these, and some are large.
    let text = std::str::from_utf8(message)
        .ok()
        .filter(|text| text.contains("\"tools\""))?;
    let mut message: Value = serde_json::from_str(text).ok()?;
    let tools = message.pointer_mut("/result/tools")?.as_array_mut()?;
    let before = tools.clone();
    tools.retain(|tool| tool["name"].as_str().is_some_and(|name| !name.trim().is_empty()));
    for tool in tools.iter_mut() {
        if !tool["inputSchema"].is_object() {
            tool["inputSchema"] = json!({"type": "object"});
        }
        if !tool["description"].is_string() {
            tool["description"] = json!("");
        }
    }
    let changed = *tools != before;
    changed.then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_malformed_tool_does_not_cost_the_others() {
        let listed = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
            {"name": "good", "description": "d", "inputSchema": {"type": "object"}},
            {"name": "bare"}, {"name": 5}, {"name": "odd", "inputSchema": "no"}, "nonsense",
        ]}});
        let mended = tools(listed.to_string().as_bytes()).unwrap();
        let names: Vec<&str> = mended["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["good", "bare", "odd"]);
        assert_eq!(mended["result"]["tools"][1]["inputSchema"]["type"], "object");
        assert!(
            tools(mended.to_string().as_bytes()).is_none(),
            "nothing is left to mend"
        );
        assert!(tools(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}").is_none());
    }
}
