use secrecy::SecretString;
use talaria_types::Reasoning;

use super::*;
use crate::conformance::MESSAGES;
use crate::testing::{SameImage, calling, request, terminal};

fn endpoint(model: &str, base_url: &str) -> Endpoint {
    let mut endpoint = MESSAGES.endpoint();
    endpoint.identity.model = model.to_owned();
    endpoint.identity.base_url = base_url.to_owned();
    endpoint
}

fn native() -> Endpoint {
    endpoint("claude-sonnet-4-5", "https://api.anthropic.com")
}

fn body(endpoint: &Endpoint, request: &ModelRequest) -> Value {
    serde_json::from_slice(&MessagesAdapter::new(endpoint).encode(request, &SameImage).body).unwrap()
}

fn header(endpoint: &Endpoint, request: &ModelRequest, name: &str) -> Option<String> {
    let headers = MessagesAdapter::new(endpoint).encode(request, &SameImage).headers;
    headers
        .into_iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

fn thinking(signature: &str) -> Reasoning {
    Reasoning {
        details: Some(json!([{"type": "thinking", "thinking": "plan", "signature": signature}])),
        ..Reasoning::default()
    }
}

fn conversation() -> ModelRequest {
    let mut request = request();
    let first = Message {
        content: "Step.".into(),
        reasoning: thinking("c2ln"),
        ..calling("toolu_1", "{\"command\":\"ls\"}")
    };
    request.messages = vec![
        Arc::new(Message::user("work")),
        Arc::new(first),
        Arc::new(Message::tool("toolu_1", "terminal", "a.txt")),
        Arc::new(Message::assistant("Done.")),
        Arc::new(Message::user("more")),
    ];
    request.tools = Arc::from(vec![terminal()]);
    request
}

#[test]
fn a_request_in_the_protocols_words() {
    insta::assert_json_snapshot!(body(&native(), &conversation())["messages"], @r#"
    [
      {
        "role": "user",
        "content": [
          {
            "type": "text",
            "text": "work"
          }
        ]
      },
      {
        "role": "assistant",
        "content": [
          {
            "type": "thinking",
            "thinking": "plan",
            "signature": "c2ln"
          },
          {
            "type": "text",
            "text": "Step."
          },
          {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "terminal",
            "input": {
              "command": "ls"
            }
          }
        ]
      },
      {
        "role": "user",
        "content": [
          {
            "type": "tool_result",
            "tool_use_id": "toolu_1",
            "content": "a.txt",
            "cache_control": {
              "type": "ephemeral"
            }
          }
        ]
      },
      {
        "role": "assistant",
        "content": [
          {
            "type": "text",
            "text": "Done.",
            "cache_control": {
              "type": "ephemeral"
            }
          }
        ]
      },
      {
        "role": "user",
        "content": [
          {
            "type": "text",
            "text": "more",
            "cache_control": {
              "type": "ephemeral"
            }
          }
        ]
      }
    ]
    "#);
}

#[test]
fn the_address_gets_its_version_only_once() {
    let path = |url: &str| {
        MessagesAdapter::new(&endpoint("m", url))
            .encode(&request(), &SameImage)
            .path
    };
    assert_eq!(path("https://api.anthropic.com"), "/v1/messages");
    assert_eq!(path("https://example.org/v1"), "/messages");
}

#[test]
fn cache_marks_are_four_at_most_and_never_on_thoughts_or_empty_text() {
    let mut request = conversation();
    let silent = Message {
        reasoning: thinking("x"),
        ..Message::assistant("")
    };
    request.messages.push(Arc::new(silent));
    let sent = body(&native(), &request);
    assert_eq!(sent.to_string().matches("cache_control").count(), 4);
    assert_eq!(sent["system"][0]["cache_control"], json!({"type": "ephemeral"}));
    let thought = &sent["messages"][5]["content"][0];
    assert_eq!(
        (thought["type"].as_str(), thought.get("cache_control")),
        (Some("thinking"), None)
    );
}

#[test]
fn cache_marks_stand_only_where_they_are_of_use() {
    let marks = |model: &str, url: &str| {
        body(&endpoint(model, url), &conversation())
            .to_string()
            .contains("cache_control")
    };
    assert!(marks("claude-x", "https://example.org/anthropic"));
    assert!(marks("MiniMax-M2", "https://api.minimax.io/anthropic"));
    assert!(!marks("kimi-k2", "https://api.kimi.com/coding"));
    let long = Endpoint {
        long_cache: true,
        ..native()
    };
    assert_eq!(
        body(&long, &conversation())["system"][0]["cache_control"]["ttl"],
        "1h"
    );
}

#[test]
fn the_note_is_a_block_behind_the_marked_one() {
    let mut request = request();
    request.note = Some(Arc::from("Compacted."));
    let system = body(&native(), &request)["system"].clone();
    assert_eq!(system[1], json!({"type": "text", "text": "Compacted."}));
}

#[test]
fn results_and_the_next_words_are_one_message_with_results_first() {
    let mut request = conversation();
    request.messages.insert(3, Arc::new(Message::user("steer")));
    let sent = body(&native(), &request);
    let kinds: Vec<&str> = sent["messages"][2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["tool_result", "text"]);
    let roles: Vec<&str> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
}

#[test]
fn a_conversation_that_begins_with_the_model_gets_a_first_word() {
    let mut request = request();
    request.messages = vec![
        Arc::new(Message::assistant("Hello.")),
        Arc::new(Message::user("hi")),
    ];
    let sent = body(&native(), &request);
    assert_eq!(sent["messages"][0]["role"], "user");
    assert_eq!(sent["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn unsigned_and_foreign_thinking_is_not_sent_to_anthropic() {
    for (signature, url, sent) in [
        ("", "https://api.anthropic.com", false),
        ("c2ln", "https://api.anthropic.com", true),
        ("", "https://api.kimi.com/coding", true),
    ] {
        let mut request = conversation();
        let message = Message {
            reasoning: thinking(signature),
            ..Message::assistant("x")
        };
        request.messages[3] = Arc::new(message);
        let blocks = body(&endpoint("m", url), &request)["messages"][3].to_string();
        assert_eq!(blocks.contains("thinking"), sent, "{signature:?} {url}");
    }
    let mut request = conversation();
    request.rewrites = vec![Rewrite::DropSignedThinking];
    assert!(
        !body(&native(), &request)["messages"]
            .to_string()
            .contains("thinking")
    );
}

#[test]
fn logins_and_keys_are_sent_in_their_own_headers() {
    let with_key = |key: &str| Endpoint {
        api_key: Some(SecretString::from(key.to_owned())),
        ..native()
    };
    let credential = |key: &str| MessagesAdapter::new(&with_key(key)).credential(key);
    assert_eq!(
        credential("sk-ant-api03-x"),
        ("x-api-key", "sk-ant-api03-x".to_owned())
    );
    assert_eq!(
        credential("sk-ant-oat01-x"),
        ("authorization", "Bearer sk-ant-oat01-x".to_owned())
    );
    assert_eq!(header(&native(), &request(), "anthropic-beta"), None);
    assert_eq!(
        header(&native(), &request(), "anthropic-version").as_deref(),
        Some(VERSION)
    );
}

#[test]
fn the_long_context_beta_is_asked_for_only_where_it_widens_the_window_and_can_be_left_out() {
    let wide = Endpoint {
        context_length: Some(1_000_000),
        ..native()
    };
    assert_eq!(
        header(&wide, &request(), "anthropic-beta").as_deref(),
        Some(LONG_CONTEXT_BETA)
    );
    let mut request = request();
    assert!(
        MessagesAdapter::new(&wide)
            .encode(&request, &SameImage)
            .facts
            .long_context_beta
    );
    request.rewrites = vec![Rewrite::DropBetaHeader(LONG_CONTEXT_BETA.to_owned())];
    assert_eq!(header(&wide, &request, "anthropic-beta"), None);
}

#[test]
fn every_request_bounds_its_answer() {
    let bound = |endpoint: &Endpoint, request: &ModelRequest| body(endpoint, request)["max_tokens"].clone();
    assert_eq!(bound(&native(), &request()), 64_000);
    assert_eq!(
        bound(&endpoint("m", "https://example.org"), &request()),
        DEFAULT_OUTPUT
    );
    let small = Endpoint {
        context_length: Some(8_192),
        ..endpoint("m", "https://example.org")
    };
    assert_eq!(bound(&small, &request()), 4_096);
    let mut request = request();
    request.max_output_tokens = Some(100);
    assert_eq!(bound(&native(), &request), 100);
    request.max_output_tokens = None;
    request.rewrites = vec![Rewrite::CapOutput(8_192)];
    assert_eq!(bound(&native(), &request), 8_192);
}

#[test]
fn effort_becomes_a_budget_that_leaves_room_for_the_answer() {
    let asked = |effort, bound| {
        let endpoint = Endpoint {
            effort,
            max_output_tokens: bound,
            ..native()
        };
        body(&endpoint, &request())["thinking"].clone()
    };
    assert_eq!(asked(None, None), Value::Null);
    assert_eq!(
        asked(Some(Effort::High), None),
        json!({"type": "enabled", "budget_tokens": 16_384})
    );
    assert_eq!(asked(Some(Effort::High), Some(4_096))["budget_tokens"], 2_048);
    assert_eq!(asked(Some(Effort::High), Some(1_000)), Value::Null);
    assert_eq!(asked(Some(Effort::None), None), Value::Null);
}
