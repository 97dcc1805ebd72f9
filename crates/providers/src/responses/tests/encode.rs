use std::sync::Arc;

use talaria_types::Reasoning;

use super::*;
use crate::conformance::RESPONSES;
use crate::testing::{SameImage, calling, request, terminal};

fn endpoint(model: &str) -> Endpoint {
    let mut endpoint = RESPONSES.endpoint();
    endpoint.identity.model = model.to_owned();
    endpoint
}

fn body(endpoint: &Endpoint, request: &ModelRequest) -> Value {
    serde_json::from_slice(&ResponsesAdapter::new(endpoint).encode(request, &SameImage).body).unwrap()
}

fn conversation() -> ModelRequest {
    let mut request = request();
    let reasoning = Reasoning {
        response_items: Some(json!([
            {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "bW9jaw=="},
            {"id": "rs_2", "type": "reasoning", "summary": []}
        ])),
        message_items: Some(
            json!([{"id": "msg_1", "type": "message", "role": "assistant", "phase": "commentary",
            "content": [{"type": "output_text", "text": "Step.", "annotations": []}]}]),
        ),
        ..Reasoning::default()
    };
    request.messages = vec![
        Arc::new(Message::user("work")),
        Arc::new(Message {
            content: "Step.".into(),
            reasoning,
            ..calling("call_1", "{\"command\":\"ls\"}")
        }),
        Arc::new(Message::tool("call_1", "terminal", "a.txt")),
        Arc::new(Message::assistant("Done.")),
        Arc::new(Message::user("more")),
    ];
    request.tools = Arc::from(vec![terminal()]);
    request
}

#[test]
fn a_request_in_the_protocols_words() {
    let sent = ResponsesAdapter::new(&endpoint("m"))
        .encode(&conversation(), &SameImage)
        .body;
    let sent = String::from_utf8(sent).unwrap();
    insta::assert_snapshot!(sent.replace("},{\"type", "},\n{\"type").replace("],\"", "],\n\""), @r#"
    {"model":"m","instructions":"Be brief.","tools":[{"type":"function","name":"terminal","description":"Runs a command.","parameters":{"type":"object","properties":{"command":{"type":"string","pattern":"."}},"required":["command"]},"strict":false}],
    "input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"work"}]},
    {"type":"reasoning","summary":[],
    "encrypted_content":"bW9jaw=="},
    {"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"Step.","annotations":[]}]},
    {"type":"function_call","call_id":"call_1","name":"terminal","arguments":"{\"command\":\"ls\"}"},
    {"type":"function_call_output","call_id":"call_1","output":"a.txt"},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"more"}]}],
    "stream":true,"store":false,"tool_choice":"auto"}
    "#);
}

#[test]
fn encrypted_reasoning_is_dropped_when_it_was_refused() {
    let mut request = conversation();
    request.rewrites = vec![Rewrite::DropEncryptedReasoning];
    let adapter = ResponsesAdapter::new(&endpoint("m"));
    let sent = adapter.encode(&request, &SameImage);
    assert!(!String::from_utf8(sent.body).unwrap().contains("bW9jaw"));
    assert!(!sent.facts.encrypted_reasoning);
    assert!(
        adapter
            .encode(&conversation(), &SameImage)
            .facts
            .encrypted_reasoning
    );
}

#[test]
fn only_models_that_think_are_asked_for_their_reasoning() {
    let sent = body(&endpoint("gpt-5.1"), &conversation());
    assert_eq!(sent["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(sent["reasoning"], json!({"summary": "auto"}));
    let hard = Endpoint {
        effort: Some(Effort::High),
        ..endpoint("gpt-5.1")
    };
    assert_eq!(body(&hard, &conversation())["reasoning"]["effort"], "high");
    assert_eq!(body(&endpoint("gpt-4o"), &conversation()).get("include"), None);
}

#[test]
fn the_subscriptions_server_is_given_no_bound() {
    let mut endpoint = Endpoint {
        max_output_tokens: Some(1_000),
        ..endpoint("m")
    };
    assert_eq!(body(&endpoint, &request())["max_output_tokens"], 1_000);
    endpoint.identity.base_url = "https://chatgpt.com/backend-api/codex".to_owned();
    assert_eq!(body(&endpoint, &request()).get("max_output_tokens"), None);
}

#[test]
fn a_stored_item_whose_text_has_changed_is_not_sent() {
    let mut request = conversation();
    let mut message = (*request.messages[1]).clone();
    message.content = "Shortened.".into();
    request.messages[1] = Arc::new(message);
    let sent = body(&endpoint("m"), &request).to_string();
    assert!(
        sent.contains("Shortened.") && !sent.contains("commentary"),
        "{sent}"
    );
}
