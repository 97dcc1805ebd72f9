use std::path::PathBuf;

use talaria_types::{ApiMode, Content, ImagePart, ImageSource, Reasoning};

use super::*;
use crate::catalogue::Catalogue;
use crate::testing::{SameImage, calling, request, terminal};

fn endpoint(provider: &str, model: &str) -> Endpoint {
    Endpoint {
        identity: ModelIdentity {
            provider: provider.to_owned(),
            model: model.to_owned(),
            base_url: "https://example.org/v1".to_owned(),
            api_mode: ApiMode::ChatCompletions,
        },
        api_key: None,
        pool: None,
        pool_entry: None,
        pinned_address: false,
        context_length: None,
        max_output_tokens: None,
        stale_timeout: std::time::Duration::from_secs(1),
        long_cache: false,
        window_cache: None,
        images: PathBuf::new(),
        ca_bundle: None,
        effort: None,
        cloud: None,
        debug: None,
        catalogue: Catalogue::shipped(),
    }
}

fn adapter(provider: &str, model: &str) -> ChatAdapter {
    ChatAdapter::new(&endpoint(provider, model))
}

fn body(adapter: &ChatAdapter, request: &ModelRequest) -> Value {
    serde_json::from_slice(&adapter.encode(request, &SameImage).body).unwrap()
}

fn messages(adapter: &ChatAdapter, request: &ModelRequest) -> Vec<Value> {
    body(adapter, request)["messages"].as_array().unwrap().clone()
}

fn conversation() -> ModelRequest {
    let mut request = request();
    request.messages = vec![
        Arc::new(Message::user("list \"files\"")),
        Arc::new(Message {
            reasoning: Reasoning {
                content: Some("plan".into()),
                text: Some("plan".into()),
                ..Reasoning::default()
            },
            ..calling("call_1", "{\"command\": \"ls\"}")
        }),
        Arc::new(Message::tool("call_1", "terminal", "a.txt")),
        Arc::new(Message::assistant("There is a.txt.")),
        Arc::new(Message {
            sent_as: Some("thanks\n\n[memory]".into()),
            ..Message::user("thanks")
        }),
    ];
    request.tools = Arc::from(vec![terminal()]);
    request
}

fn image() -> Part {
    Part::Image(ImagePart {
        source: ImageSource::Stored("ab".into()),
        media_type: "image/png".into(),
    })
}

#[test]
fn a_request_has_its_members_in_a_stable_order() {
    let sent = adapter("custom", "m").encode(&conversation(), &SameImage);
    let text = String::from_utf8(sent.body).unwrap();
    insta::assert_snapshot!(text.replace("},{\"role", "},\n{\"role").replace("],\"", "],\n\""), @r#"
    {"model":"m","messages":[{"role":"system","content":"Be brief."},
    {"role":"user","content":"list \"files\""},
    {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"terminal","arguments":"{\"command\": \"ls\"}"}}]},
    {"role":"tool","content":"a.txt","tool_call_id":"call_1"},
    {"role":"assistant","content":"There is a.txt."},
    {"role":"user","content":"thanks\n\n[memory]"}],
    "tools":[{"type":"function","function":{"name":"terminal","description":"Runs a command.","parameters":{"type":"object","properties":{"command":{"type":"string","pattern":"."}},"required":["command"]}}}],
    "stream":true,"stream_options":{"include_usage":true}}
    "#);
    assert_eq!(sent.path, "/chat/completions");
    assert_eq!(
        (
            sent.facts.messages,
            sent.facts.streaming,
            sent.facts.schema_patterns
        ),
        (5, true, true)
    );
}

#[test]
fn a_request_starts_with_the_bytes_of_the_one_before() {
    let adapter = adapter("custom", "m");
    let mut request = conversation();
    let prefix = |request: &ModelRequest| {
        let body = adapter.encode(request, &SameImage).body;
        let end = body
            .windows(10)
            .rposition(|bytes| bytes == b"],\"tools\":")
            .unwrap();
        body[..end].to_vec()
    };
    let mut before = prefix(&request);
    for turn in 0..20 {
        request
            .messages
            .push(Arc::new(Message::assistant(format!("answer {turn} — 漢字"))));
        request
            .messages
            .push(Arc::new(Message::user(format!("question {turn}"))));
        let now = prefix(&request);
        assert!(now.starts_with(&before), "turn {turn}");
        before = now;
    }
}

#[test]
fn servers_that_want_the_thinking_back_get_it_and_others_do_not() {
    let thinking = |provider, model| {
        messages(&adapter(provider, model), &conversation())[2]["reasoning_content"].clone()
    };
    assert_eq!(thinking("deepseek", "m"), "plan");
    assert_eq!(thinking("custom", "kimi-k2"), "plan");
    assert_eq!(thinking("custom", "m"), Value::Null);
    assert_eq!(
        messages(&adapter("deepseek", "m"), &conversation())[4]["reasoning_content"],
        " "
    );
    let mut request = conversation();
    request.rewrites = vec![Rewrite::EchoReasoning];
    assert_eq!(
        messages(&adapter("custom", "m"), &request)[2]["reasoning_content"],
        "plan"
    );
}

#[test]
fn reasoning_details_go_back_only_where_they_come_from() {
    let mut request = conversation();
    let details = json!([{"type": "reasoning.text", "text": "a"}]);
    let blocks = json!([{"type": "thinking", "thinking": "a", "signature": "c2ln"}]);
    for (value, sent) in [(details.clone(), details), (blocks, Value::Null)] {
        let mut message = calling("call_1", "{}");
        message.reasoning.details = Some(value);
        request.messages[1] = Arc::new(message);
        assert_eq!(
            messages(&adapter("openrouter", "m"), &request)[2]["reasoning_details"],
            sent
        );
        assert_eq!(
            messages(&adapter("custom", "m"), &request)[2]["reasoning_details"],
            Value::Null
        );
    }
}

#[test]
fn the_note_follows_the_system_prompt() {
    let mut request = request();
    request.note = Some(Arc::from("Compacted."));
    assert_eq!(
        messages(&adapter("custom", "m"), &request)[0]["content"],
        "Be brief.\n\nCompacted."
    );
    let marked = messages(&adapter("openrouter", "anthropic/claude-x"), &request)[0]["content"].clone();
    assert_eq!(
        marked,
        json!([
            {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": "Compacted."}
        ])
    );
}

#[test]
fn cache_marks_stand_on_the_newest_messages_that_can_carry_one() {
    let sent = messages(&adapter("openrouter", "anthropic/claude-x"), &conversation());
    let marks: Vec<bool> = sent
        .iter()
        .map(|message| message.to_string().contains("cache_control"))
        .collect();
    // The call has no text to mark; system, result, answer and question have.
    assert_eq!(marks, [true, false, false, true, true, true]);
    let plain =
        serde_json::to_string(&messages(&adapter("openrouter", "openai/gpt-5"), &conversation())).unwrap();
    assert!(!plain.contains("cache_control"));
    let endpoint = Endpoint {
        long_cache: true,
        ..endpoint("openrouter", "anthropic/claude-x")
    };
    let long = ChatAdapter::new(&endpoint)
        .encode(&conversation(), &SameImage)
        .body;
    assert!(
        String::from_utf8(long)
            .unwrap()
            .contains(r#"{"type":"ephemeral","ttl":"1h"}"#)
    );
}

#[test]
fn images_of_a_user_message_are_sent_in_their_place() {
    let mut request = request();
    let content = Content::Parts(vec![
        Part::Text { text: "look".into() },
        image(),
        Part::Text { text: "well?".into() },
    ]);
    request.messages = vec![Arc::new(Message::user(content))];
    let sent = messages(&adapter("custom", "m"), &request);
    assert_eq!(
        sent[1]["content"],
        json!([
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,eHl6"}},
            {"type": "text", "text": "well?"}
        ])
    );
    request.rewrites = vec![Rewrite::DropImages];
    let sent = messages(&adapter("custom", "m"), &request)[1].to_string();
    assert!(
        sent.contains("look") && sent.contains("takes text only") && !sent.contains("base64"),
        "{sent}"
    );
}

#[test]
fn images_of_tool_results_follow_in_a_user_message() {
    let mut request = request();
    let result = Content::Parts(vec![
        Part::Text {
            text: "a chart".into(),
        },
        image(),
    ]);
    request.messages = vec![
        Arc::new(Message::user("look")),
        Arc::new(calling("call_1", "{}")),
        Arc::new(Message::tool("call_1", "view", result)),
    ];
    let sent = messages(&adapter("custom", "m"), &request);
    assert_eq!(sent[3]["content"], "a chart");
    assert_eq!(
        (sent[4]["role"].as_str(), sent[4]["content"][1]["type"].as_str()),
        (Some("user"), Some("image_url"))
    );
    let longer = {
        let mut longer = request.clone();
        longer.messages.push(Arc::new(Message::assistant("seen")));
        messages(&adapter("custom", "m"), &longer)
    };
    assert_eq!(longer[..5], sent[..5]);
    request.rewrites = vec![Rewrite::PlainToolContent];
    assert_eq!(messages(&adapter("custom", "m"), &request).len(), 4);
}

#[test]
fn broken_arguments_and_names_are_sent_in_a_form_servers_take() {
    let mut request = conversation();
    let mut message = calling("call_1", "{\"command\": ");
    message.tool_calls[0].name = String::new();
    message.tool_calls[0]
        .extra
        .insert("extra_content".into(), json!({"google": 1}));
    message.tool_calls[0].extra.insert("_private".into(), json!(1));
    request.messages[1] = Arc::new(message);
    let call = messages(&adapter("custom", "m"), &request)[2]["tool_calls"][0].clone();
    assert_eq!(
        call,
        json!({"id": "call_1", "type": "function", "extra_content": {"google": 1},
            "function": {"name": "invalid_tool_call", "arguments": "{\"_raw\":\"{\\\"command\\\": \"}"}})
    );
}

#[test]
fn repairs_change_the_request_as_they_say() {
    let mut request = conversation();
    request.max_output_tokens = Some(9000);
    request.tool_choice = ToolChoice::None;
    request.rewrites = vec![
        Rewrite::DoNotStream,
        Rewrite::CapOutput(500),
        Rewrite::SimplifyToolSchemas,
        Rewrite::RenameParameter {
            from: "max_tokens".into(),
            to: "max_completion_tokens".into(),
        },
    ];
    let sent = body(&adapter("custom", "m"), &request);
    assert_eq!(sent["stream"], false);
    assert_eq!(sent["max_completion_tokens"], 500);
    assert_eq!((sent.get("max_tokens"), sent.get("stream_options")), (None, None));
    assert_eq!(sent["tool_choice"], "none");
    assert_eq!(
        sent["tools"][0]["function"]["parameters"]["properties"]["command"],
        json!({"type": "string"})
    );
    request.rewrites = vec![Rewrite::DropParameter("stream_options".into())];
    assert_eq!(
        body(&adapter("custom", "m"), &request).get("stream_options"),
        None
    );
}
