use std::sync::Arc;

use super::*;
use crate::conformance::GEMINI;
use crate::testing::{SameImage, calling, request, terminal};

fn endpoint(model: &str) -> Endpoint {
    let mut endpoint = GEMINI.endpoint();
    endpoint.identity.model = model.to_owned();
    endpoint
}

fn encoded(model: &str, request: &ModelRequest) -> Encoded {
    GeminiAdapter::new(&endpoint(model)).encode(request, &SameImage)
}

fn body(model: &str, request: &ModelRequest) -> Value {
    serde_json::from_slice(&encoded(model, request).body).unwrap()
}

fn conversation() -> ModelRequest {
    let mut request = request();
    let mut signed = calling("call_1", "{\"command\":\"ls\"}");
    signed.tool_calls[0]
        .extra
        .insert(SIGNATURE.to_owned(), "c2ln".into());
    let mut unnamed = Message::tool("call_2", "x", "b.txt");
    unnamed.tool_name = None;
    request.messages = vec![
        Arc::new(Message::user("work")),
        Arc::new(signed),
        Arc::new(Message::tool("call_1", "terminal", "a.txt")),
        Arc::new(calling("call_2", "{}")),
        Arc::new(unnamed),
        Arc::new(Message::user("more")),
    ];
    request.tools = Arc::from(vec![terminal()]);
    request
}

#[test]
fn a_request_in_the_protocols_words() {
    let sent = String::from_utf8(encoded("gemini-test-1", &conversation()).body).unwrap();
    insta::assert_snapshot!(sent.replace("},{\"role", "},\n{\"role").replace("],\"", "],\n\""), @r#"
    {"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"terminal","description":"Runs a command.","parametersJsonSchema":{"type":"object","properties":{"command":{"type":"string","pattern":"."}},"required":["command"]}}]}],
    "contents":[{"role":"user","parts":[{"text":"work"}]},
    {"role":"model","parts":[{"functionCall":{"name":"terminal","args":{"command":"ls"}},"thoughtSignature":"c2ln"}]},
    {"role":"user","parts":[{"functionResponse":{"name":"terminal","response":{"output":"a.txt"}}}]},
    {"role":"model","parts":[{"functionCall":{"name":"terminal","args":{}}}]},
    {"role":"user","parts":[{"functionResponse":{"name":"terminal","response":{"output":"b.txt"}}},{"text":"more"}]}]}
    "#);
}

#[test]
fn a_call_through_another_tool_is_answered_under_its_calls_name() {
    let mut request = conversation();
    let mut through = calling("call_3", "{}");
    through.tool_calls[0].name = "tool_call".to_owned();
    request.messages.push(Arc::new(through));
    request
        .messages
        .push(Arc::new(Message::tool("call_3", "mcp__s__t", "done")));
    let sent = String::from_utf8(encoded("gemini-test-1", &request).body).unwrap();
    assert!(
        sent.contains(r#""functionResponse":{"name":"tool_call""#) && !sent.contains("mcp__s__t"),
        "{sent}"
    );
}

#[test]
fn the_method_says_whether_it_streams() {
    let mut request = request();
    assert_eq!(
        encoded("models/g", &request).path,
        "/models/g:streamGenerateContent?alt=sse"
    );
    request.rewrites = vec![Rewrite::DoNotStream];
    assert_eq!(encoded("g", &request).path, "/models/g:generateContent");
}

#[test]
fn calls_of_other_models_are_sent_with_the_word_for_no_signature() {
    let sent = body("gemini-3-pro-preview", &conversation());
    assert_eq!(sent["contents"][1]["parts"][0][SIGNATURE], "c2ln");
    assert_eq!(sent["contents"][3]["parts"][0][SIGNATURE], NO_SIGNATURE);
}

#[test]
fn a_signature_that_came_over_the_compatible_protocol_is_sent_too() {
    let mut request = conversation();
    let mut call = calling("call_1", "{}");
    call.tool_calls[0].extra.insert(
        "extra_content".into(),
        json!({"google": {"thought_signature": "abc"}}),
    );
    request.messages[1] = Arc::new(call);
    assert_eq!(body("g", &request)["contents"][1]["parts"][0][SIGNATURE], "abc");
}

#[test]
fn the_answer_is_bounded_and_thoughts_are_asked_for() {
    let mut request = request();
    assert_eq!(body("g", &request).get("generationConfig"), None);
    request.max_output_tokens = Some(500);
    request.tools = Arc::from(vec![terminal()]);
    request.tool_choice = ToolChoice::None;
    let sent = body("gemini-2.5-pro", &request);
    assert_eq!(
        sent["generationConfig"],
        json!({"maxOutputTokens": 500, "thinkingConfig": {"includeThoughts": true}})
    );
    assert_eq!(
        sent["toolConfig"],
        json!({"functionCallingConfig": {"mode": "NONE"}})
    );
}
