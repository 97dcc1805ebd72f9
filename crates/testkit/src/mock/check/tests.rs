use super::*;
use rstest::rstest;

fn chat(messages: &Value) -> Vec<String> {
    validate(Some(&json!({"model": "m", "messages": messages})), Api::Chat)
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}]})
}

#[test]
fn a_valid_conversation_has_no_findings_in_any_protocol() {
    let messages = json!([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, call("a", "{}"),
                          {"role": "tool", "tool_call_id": "a", "content": "r"}]);
    assert_eq!(chat(&messages), Vec::<String>::new());
    let messages = json!({"messages": [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"},
                                     {"type": "text", "text": "more"}]}]});
    assert_eq!(validate(Some(&messages), Api::Messages), Vec::<String>::new());
    let responses = json!({"input": [
        {"role": "user", "content": "u"}, {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "r"}]});
    assert_eq!(validate(Some(&responses), Api::Responses), Vec::<String>::new());
    let gemini = json!({"contents": [
        {"role": "user", "parts": [{"text": "u"}]}, {"role": "model", "parts": [{"functionCall": {"name": "f"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f"}}]}]});
    assert_eq!(validate(Some(&gemini), Api::Gemini), Vec::<String>::new());
}

#[rstest]
#[case::a_call_without_its_result("pairing", json!([{"role": "user", "content": "u"}, call("a", "{}")]))]
#[case::a_result_without_its_call("pairing", json!([{"role": "user", "content": "u"}, {"role": "tool", "tool_call_id": "a", "content": "r"}]))]
#[case::a_user_between_call_and_result("pairing", json!([{"role": "user", "content": "u"}, call("a", "{}"), {"role": "user", "content": "v"}]))]
#[case::two_users("alternation", json!([{"role": "user", "content": "u"}, {"role": "user", "content": "v"}]))]
#[case::arguments_that_are_a_list("arguments", json!([{"role": "user", "content": "u"}, call("a", "[]")]))]
#[case::an_empty_assistant("empty", json!([{"role": "user", "content": "u"}, {"role": "assistant", "content": ""}, {"role": "user", "content": "v"}]))]
#[case::a_private_key("private", json!([{"role": "user", "content": "u", "_row": 1}]))]
#[case::an_unknown_key("keys", json!([{"role": "user", "content": "u", "timestamp": 1}]))]
#[case::an_assistant_at_the_end("end", json!([{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]))]
#[case::an_assistant_at_the_start("start", json!([{"role": "assistant", "content": "a"}, {"role": "user", "content": "u"}]))]
#[case::a_system_message_in_the_middle("role", json!([{"role": "user", "content": "u"}, {"role": "system", "content": "s"}]))]
#[case::one_id_twice("id", json!([{"role": "user", "content": "u"}, {"role": "assistant", "tool_calls": [
    {"id": "a", "function": {"name": "f", "arguments": "{}"}}, {"id": "a", "function": {"name": "f", "arguments": "{}"}}]}]))]
fn a_broken_chat_request_is_found(#[case] rule: &str, #[case] messages: Value) {
    let findings = chat(&messages);
    assert!(
        findings
            .iter()
            .any(|finding| finding.starts_with(&format!("{rule}: "))),
        "{findings:?}"
    );
}

#[test]
fn a_fifth_cache_mark_is_found() {
    let mark = json!({"role": "user", "content": [{"type": "text", "text": "u", "cache_control": {"type": "ephemeral"}}]});
    let with = |count: usize| {
        let body =
            json!({"messages": [{"role": "user", "content": vec![mark["content"][0].clone(); count]}]});
        validate(Some(&body), Api::Messages)
    };
    assert!(with(4).is_empty());
    assert!(with(5)[0].starts_with("cache: "));
}

#[test]
fn tool_results_that_do_not_come_first_are_found() {
    let body = json!({"messages": [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "text", "text": "x"},
                                     {"type": "tool_result", "tool_use_id": "a", "content": "r"}]}]});
    assert!(validate(Some(&body), Api::Messages)[0].starts_with("order: "));
}

#[test]
fn a_changed_old_message_is_found_and_a_longer_conversation_is_not() {
    let body = |texts: &[&str]| {
        let messages: Vec<Value> = texts
            .iter()
            .map(|text| json!({"role": "user", "content": text}))
            .collect();
        json!({"model": "m", "messages": messages})
    };
    let mut prefixes = Prefixes::default();
    let sent = |texts: &[&str]| Sent::of(Api::Chat, "", &body(texts));
    prefixes.accept(sent(&["a", "b"]));
    assert_eq!(prefixes.compare(&sent(&["a", "b", "c"])), None);
    assert_eq!(prefixes.compare(&sent(&["another conversation"])), None);
    assert!(
        prefixes
            .compare(&sent(&["a", "B", "c"]))
            .is_some_and(|found| found.contains("message 1 changed"))
    );
    assert!(
        prefixes
            .compare(&sent(&["a"]))
            .is_some_and(|found| found.contains("only 1 of 2"))
    );
    prefixes.forget_all();
    assert_eq!(prefixes.compare(&sent(&["a", "B"])), None);
}
