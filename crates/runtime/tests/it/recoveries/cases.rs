//! The rows, in the order of the chain's documentation.

use serde_json::{Value, json};

use super::{Case, FALLBACK, History, Seen};

/// Rows whose failure is no answer of a model server, and the test that plays it.
pub(super) const ELSEWHERE: &[(&str, &str)] = &[
    (
        "anthropic_login",
        "a_refused_login_is_renewed_and_the_call_succeeds",
    ),
    ("codex_login", "a_refused_login_is_renewed_and_the_call_succeeds"),
    (
        "copilot_token",
        "a_refused_login_is_renewed_and_the_call_succeeds",
    ),
    ("nous_key", "a_refused_login_is_renewed_and_the_call_succeeds"),
    (
        "oauth_long_context_beta",
        "a_subscription_without_the_long_context_beta_is_asked_again_without_it",
    ),
    (
        "certificate",
        "a_server_with_an_unknown_certificate_is_asked_once_and_given_no_key",
    ),
    (
        "stall_breaker",
        "the_fifth_stall_in_a_row_ends_the_turn_over_turns_too",
    ),
];

/// A server whose one tool has a pattern in its schema.
const STAMPS: &str = r#"mcp_servers:
  stamps:
    command: sh
    trust: true
    args:
      - -c
      - |
        while read -r line; do
          id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
          case $line in
            *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"stamps","version":"1"}}';;
            *'"tools/list"'*) r='{"tools":[{"name":"stamp","description":"Stamps.","inputSchema":{"type":"object","properties":{"date":{"type":"string","pattern":"^[0-9]{4}$"}}}}]}';;
            *) r='{}';;
          esac
          [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
        done
"#;

const LONG_TURNS: fn() -> Vec<Value> = || {
    let answer = "The log tells of herons and of the tide. ".repeat(200);
    (0..8).map(|_| json!({"text": answer})).collect()
};

const THOUGHTFUL: fn() -> Vec<Value> = || vec![json!({"reasoning": "herons wade", "text": "They wade."})];

/// The same request once more.
fn same_again(seen: &Seen) {
    seen.cured();
    assert_eq!(seen.refused.body, seen.next().body);
}

/// The same conversation, asked of the fallback.
fn elsewhere(seen: &Seen) {
    seen.cured();
    assert_eq!(
        (seen.refused.model.as_str(), seen.next().model.as_str()),
        ("mock-model", "other-model")
    );
    assert_eq!(seen.refused.messages(), seen.next().messages());
}

/// A shorter conversation with a summary.
fn compressed(seen: &Seen) {
    seen.cured();
    assert_eq!(seen.result.compressions, 1);
    assert!(seen.next().raw.len() < seen.refused.raw.len());
    assert!(seen.next().says("## Active Task") && !seen.refused.says("## Active Task"));
    assert!(seen.next().says("go on"));
}

pub(super) const CASES: &[Case] = &[
    Case::new("surrogates", "python", same_again),
    Case {
        config: FALLBACK,
        model: "  api_key: test–key\n",
        ..Case::new("non_ascii_credential", "key", |seen| {
            // The first model is not even asked: its key cannot stand in a header.
            seen.cured();
            assert_eq!(seen.refused.model, "other-model");
        })
    },
    Case {
        config: FALLBACK,
        ..Case::new("eager_fallback", "rate_limit", elsewhere)
    },
    Case::new("rate_limited", "zhipu_concurrency", same_again),
    Case {
        config: FALLBACK,
        ..Case::new("upstream_rate_limit", "openrouter", elsewhere)
    },
    Case {
        patient: false,
        ..Case::new("spent_bucket", "codex_plan", |seen| seen.ended("rate_limit"))
    },
    Case::new("client_error", "anthropic_credit", |seen| seen.ended("billing")),
    Case::new("content_policy", "azure", |seen| {
        seen.ended("content_policy_blocked");
    }),
    Case {
        history: History::Picture,
        ..Case::new("image_rejected", "deepseek", |seen| {
            seen.cured();
            assert!(seen.refused.body["messages"].to_string().contains("image_url"));
            assert!(!seen.next().body["messages"].to_string().contains("image_url"));
            assert!(seen.next().says("what is this?"));
        })
    },
    Case {
        history: History::Picture,
        times: 2,
        ..Case::new("image_too_large", "anthropic", |seen| {
            // Nothing of an address on the network can be made smaller; then it is left out.
            seen.cured();
            assert!(!seen.next().body["messages"].to_string().contains("heron.png"));
        })
    },
    Case {
        history: History::ToolPicture,
        ..Case::new("tool_content", "lm_studio", |seen| {
            seen.cured();
            assert!(seen.refused.body.to_string().contains("heron.png\"}"));
            assert!(!seen.next().body.to_string().contains("image_url"));
            assert!(seen.next().says("a picture"));
        })
    },
    Case {
        before: THOUGHTFUL,
        turns: 1,
        ..Case::new("reasoning_echo", "deepseek", |seen| {
            seen.cured();
            assert!(!seen.refused.body.to_string().contains("herons wade"));
            assert_eq!(seen.next().messages()[2]["reasoning_content"], "herons wade");
        })
    },
    Case {
        mode: "anthropic_messages",
        before: THOUGHTFUL,
        turns: 1,
        ..Case::new("thinking_signature", "anthropic", |seen| {
            seen.cured();
            assert!(seen.refused.body.to_string().contains("signature"));
            assert!(!seen.next().body.to_string().contains("signature"));
            assert!(seen.next().says("They wade."));
        })
    },
    Case {
        mode: "codex_responses",
        before: THOUGHTFUL,
        turns: 1,
        ..Case::new("encrypted_content", "openai", |seen| {
            seen.cured();
            assert!(
                seen.refused.body["input"]
                    .to_string()
                    .contains("encrypted_content")
            );
            assert!(
                !seen.next().body["input"]
                    .to_string()
                    .contains("encrypted_content")
            );
        })
    },
    Case {
        config: STAMPS,
        ..Case::new("grammar_pattern", "grammar", |seen| {
            seen.cured();
            let schema = |request: &talaria_testkit::Recorded| {
                let tools = request.body["tools"].as_array().unwrap();
                let named = |tool: &&Value| tool["function"]["name"] == "mcp__stamps__stamp";
                tools.iter().find(named).unwrap()["function"]["parameters"]["properties"]["date"].clone()
            };
            assert_eq!(schema(&seen.refused)["pattern"], "^[0-9]{4}$");
            assert_eq!(schema(seen.next())["type"], "string");
            assert!(schema(seen.next()).get("pattern").is_none());
        })
    },
    Case {
        model: "  max_tokens: 100000\n",
        ..Case::new("output_cap", "openai", |seen| {
            seen.cured();
            let asked = |body: &Value| body["max_tokens"].as_u64().unwrap();
            assert_eq!(asked(&seen.refused.body), 100_000);
            assert!(asked(&seen.next().body) < 100_000);
            assert_eq!(seen.refused.messages(), seen.next().messages());
        })
    },
    Case::new("unsupported_parameter", "stream_options", |seen| {
        seen.cured();
        assert!(seen.refused.body.get("stream_options").is_some());
        assert!(seen.next().body.get("stream_options").is_none());
    }),
    Case::new("streaming_unsupported", "openai_unverified", |seen| {
        seen.cured();
        assert!(seen.refused.stream && !seen.next().stream);
    }),
    Case {
        model: "  provider: ollama\n",
        before: || vec![json!({"reasoning": "herons wade", "text": ""})],
        ..Case::new("prefill_refused", "anthropic", |seen| {
            seen.cured();
            let last =
                |request: &talaria_testkit::Recorded| request.messages().last().unwrap()["role"].clone();
            assert_eq!(
                (last(&seen.refused), last(seen.next())),
                (json!("assistant"), json!("user"))
            );
        })
    },
    Case {
        model: "  context_length: 32000\n",
        before: LONG_TURNS,
        turns: 8,
        ..Case::new("context_overflow", "anthropic", compressed)
    },
    Case {
        model: "  context_length: 32000\n",
        before: LONG_TURNS,
        turns: 8,
        ..Case::new("payload_too_large", "anthropic", compressed)
    },
    Case {
        model: "  context_length: 32000\n",
        before: LONG_TURNS,
        turns: 8,
        ..Case::new("long_context_tier", "anthropic", compressed)
    },
    Case {
        config: "compression:\n  enabled: false\nfallback_providers:\n  - provider: custom\n    model: other-model\n    base_url: BASE\n    api_key: test-key-1111\n    context_length: 400000\n",
        ..Case::new("last_fallback", "overflow", elsewhere)
    },
    Case::new("back_off", "anthropic_overloaded", same_again),
    Case::new("overload_schedule", "zhipu", same_again),
    Case {
        config: FALLBACK,
        instead: || Some(json!({"status": 200, "body": {"choices": []}})),
        ..Case::new("invalid_response", "fallback", elsewhere)
    },
    Case {
        instead: || {
            Some(
                json!({"text": "", "reasoning": "herons wade in the water", "drop_after": 2, "chunk_chars": 4}),
            )
        },
        ..Case::new("stream_cut", "no_text", same_again)
    },
    Case {
        instead: || {
            Some(json!({"text": "The first half of the answer, and ", "drop_after": 4, "chunk_chars": 6}))
        },
        ..Case::new("stream_continue", "reset", |seen| {
            let told = seen.result.final_response.as_deref().unwrap();
            assert!(
                told.starts_with("The first half") && told.ends_with("done"),
                "{told}"
            );
            assert!(seen.next().says("The first half"));
        })
    },
    Case {
        instead: || {
            Some(json!({"text": "The first half of the answer, and ", "drop_after": 4, "chunk_chars": 6}))
        },
        times: 8,
        ..Case::new("keep_partial", "cut_again", |seen| {
            let told = seen.result.final_response.as_deref().unwrap();
            assert!(
                seen.result.partial && told.starts_with("The first half"),
                "{told}"
            );
        })
    },
    Case {
        config: "agent:\n  api_max_retries: 1\n",
        instead: || Some(json!({"drop_after": 0})),
        times: 2,
        ..Case::new("transport_rebuild", "after_retries", |seen| {
            seen.cured();
            assert_ne!(seen.refused.connection, seen.next().connection);
        })
    },
    Case {
        config: "agent:\n  api_max_retries: 1\n",
        times: 2,
        ..Case::new("give_up", "retries_spent", |seen| seen.ended("server_error"))
    },
    Case {
        pool: &["sk-pool-1", "sk-pool-2"],
        ..Case::new("credential_pool", "billing", |seen| {
            seen.cured();
            assert_ne!(
                seen.refused.header("authorization"),
                seen.next().header("authorization")
            );
        })
    },
];
