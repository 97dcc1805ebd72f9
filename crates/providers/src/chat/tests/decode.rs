use talaria_types::Usage;

use super::*;
use crate::testing::{replay, stream};

fn read_stream(bytes: &[u8]) -> (Vec<Delta>, Result<Completion, WireError>) {
    replay(&mut ChatDecoder::new(1), bytes)
}

fn answer(events: &[&str]) -> Completion {
    read_stream(&stream(events)).1.unwrap()
}

fn error(events: &[&str]) -> WireError {
    read_stream(&stream(events)).1.unwrap_err()
}

fn refused(body: &str) -> WireError {
    WireError::Refused {
        body: body.to_owned(),
    }
}

fn document(body: &str) -> Result<Completion, WireError> {
    let mut decoder = ChatDecoder::new(1);
    let mut out = Vec::new();
    decoder.document(body, &mut out)?;
    decoder.finish(&mut out)
}

#[test]
fn a_recorded_stream_gives_its_deltas_and_its_answer() {
    let (deltas, answer) = read_stream(include_bytes!("tools.sse"));
    insta::assert_debug_snapshot!(deltas, @r#"
    [
        Reasoning(
            "Let me look.",
        ),
        Text(
            "I will ",
        ),
        Text(
            "run it.",
        ),
        ToolCallStarted {
            name: "terminal",
        },
        ToolCallStarted {
            name: "read_file",
        },
    ]
    "#);
    insta::assert_json_snapshot!(answer.unwrap(), @r#"
    {
      "text": "I will run it.",
      "reasoning": {
        "text": "Let me look.",
        "content": "Let me look."
      },
      "tool_calls": [
        {
          "id": "call_a",
          "name": "terminal",
          "arguments": "{\"command\": \"ls\"}"
        },
        {
          "id": "call_b",
          "name": "read_file",
          "arguments": "{\"path\":\"a\"}"
        }
      ],
      "finish": "tool_calls",
      "usage": {
        "prompt_tokens": 120,
        "completion_tokens": 20,
        "cache_read_tokens": 100,
        "cache_write_tokens": 0,
        "reasoning_tokens": 8
      },
      "response_id": "chatcmpl-1",
      "model": "m-1"
    }
    "#);
}

#[test]
fn a_stream_cut_at_every_byte_is_never_believed() {
    let whole = include_bytes!("tools.sse");
    let end = whole
        .windows(15)
        .position(|bytes| bytes == b"\"finish_reason\"")
        .unwrap();
    let told = whole
        .windows(27)
        .rposition(|bytes| bytes == b"\"finish_reason\":\"tool_calls\"".get(..27).unwrap());
    assert!(end < told.unwrap());
    for cut in 0..told.unwrap() {
        let (_, answer) = read_stream(&whole[..cut]);
        assert!(answer.is_err(), "cut at {cut}");
    }
}

#[test]
fn crlf_comments_unknown_events_and_null_fields_are_no_trouble() {
    let bytes = b": comment\r\n\r\nevent: message\r\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\
        \"content\":null,\"tool_calls\":null},\"finish_reason\":null}]}\r\n\r\ndata:{\"choices\":[{\"index\":0,\"delta\":\
        {\"content\":\"Hel\"},\"finish_reason\":null}]}\r\n\r\n:ping\r\n\r\ndata: {\"object\":\"unknown.thing\"}\r\n\r\n\
        data: {\"choices\":[]}\r\n\r\ndata:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\r\n\r\n\
        data:{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n";
    assert_eq!(read_stream(bytes).1.unwrap().text, "Hello");
}

#[test]
fn a_second_choice_and_an_unknown_finish_reason_are_no_error() {
    let seen = answer(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Fine"}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"OTHER"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"weird_new_reason"}]}"#,
        "[DONE]",
    ]);
    assert_eq!(seen.text, "Fine");
    assert_eq!(seen.finish, FinishReason::Other("weird_new_reason".to_owned()));
}

#[test]
fn an_error_inside_of_a_stream_is_an_error_in_any_envelope() {
    for body in [
        r#"{"id":"g","choices":[],"error":{"code":502,"message":"Worker limit reached (33/32)"}}"#,
        r#"{"error":{"message":"rate limit exceeded","type":"error"}}"#,
        r#"{"object":"error","message":"x","code":400}"#,
        r#"[{"error":{"code":429,"message":"x"}}]"#,
        r#"{"choices":[{"index":0,"error":{"code":502,"message":"x"},"delta":{"content":""},"finish_reason":"error"}]}"#,
    ] {
        assert_eq!(error(&[body]), refused(body));
    }
    let (_, named) = read_stream(b"event: error\ndata: upstream went away\n\n");
    assert_eq!(named.unwrap_err(), refused("upstream went away"));
}

#[test]
fn a_whole_tool_call_before_done_needs_no_finish_reason() {
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"q","function":{"name":"t","arguments":"{}"}}]}}]}"#;
    assert_eq!(answer(&[call, "[DONE]"]).finish, FinishReason::ToolCalls);
    assert_eq!(error(&[call]), WireError::Cut);
    let half = call.replace("{}\"", "{\\\"a\"");
    assert_eq!(error(&[&half, "[DONE]"]), WireError::Cut);
}

#[test]
fn an_answer_without_done_is_whole_when_it_gave_a_reason() {
    let seen = answer(&[r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"length"}]}"#]);
    assert_eq!(seen.finish, FinishReason::Length);
}

#[test]
fn arguments_given_as_an_object_are_taken() {
    let seen = answer(&[
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"o","function":{"name":"t","arguments":{"a":1}}}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(seen.tool_calls[0].arguments, r#"{"a":1}"#);
}

#[test]
fn half_a_surrogate_pair_does_not_lose_the_event() {
    let seen = answer(&[
        r#"{"choices":[{"index":0,"delta":{"content":"half \ud83d pair"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"s","function":{"name":"t","arguments":"{\"a\": \"\\udc00\"}"}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(seen.text, "half \u{fffd} pair");
    assert_eq!(seen.tool_calls[0].arguments, r#"{"a": "\ufffd"}"#);
}

#[test]
fn unknown_members_of_a_call_are_kept() {
    let seen = answer(&[
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"g","type":"function","function":{"name":"t","arguments":"{}"},"extra_content":{"google":{"thought_signature":"abc"}}}]},"finish_reason":"tool_calls"}]}"#,
    ]);
    assert_eq!(
        Value::Object(seen.tool_calls[0].extra.clone()),
        json!({"extra_content": {"google": {"thought_signature": "abc"}}})
    );
}

#[test]
fn a_plain_answer_is_read_like_a_stream() {
    let seen = document(
        r#"{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning":"r"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#,
    )
    .unwrap();
    assert_eq!(
        (seen.text.as_str(), seen.reasoning.text.as_deref()),
        ("hi", Some("r"))
    );
    assert_eq!(
        seen.usage,
        Some(Usage {
            prompt_tokens: 3,
            completion_tokens: 1,
            ..Usage::default()
        })
    );
}

#[test]
fn an_answer_without_choices_or_message_is_invalid() {
    for (body, why) in [
        (
            r#"{"id":"x","choices":[],"usage":null}"#,
            "the answer has no choices",
        ),
        (r#"{"id":"x"}"#, "the answer has no choices"),
        (
            r#"{"choices":[{"index":0,"message":null,"finish_reason":"stop"}]}"#,
            "the answer's message is null",
        ),
    ] {
        assert!(
            matches!(document(body), Err(WireError::Invalid { why: said, .. }) if said == why),
            "{body}"
        );
    }
    assert!(matches!(document("{broken"), Err(WireError::Invalid { .. })));
    assert_eq!(document(r#"{"detail":"no"}"#), Err(refused(r#"{"detail":"no"}"#)));
}

#[test]
fn a_refusal_is_its_own_ending() {
    let seen = answer(&[
        r#"{"choices":[{"index":0,"delta":{"refusal":"I cannot help."}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(
        (seen.text.as_str(), seen.finish),
        ("I cannot help.", FinishReason::Refused)
    );
    let filtered = answer(&[r#"{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}"#]);
    assert_eq!(filtered.finish, FinishReason::Refused);
}

#[test]
fn a_server_that_gave_up_in_mid_answer_is_no_answer() {
    let gave_up =
        error(&[r#"{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}"#]);
    assert!(matches!(gave_up, WireError::Refused { body } if body.contains("503")));
    assert_eq!(
        error(&[r#"{"choices":[{"index":0,"delta":{},"finish_reason":"abort"}]}"#]),
        WireError::Cut
    );
}

#[test]
fn thinking_in_a_list_of_parts_is_parted() {
    let seen = answer(&[
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"plan"}]}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"go"}]},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(
        (seen.text.as_str(), seen.reasoning.text.as_deref()),
        ("go", Some("plan"))
    );
}

#[test]
fn pieces_of_reasoning_details_are_joined() {
    let seen = answer(&[
        r#"{"choices":[{"index":0,"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0,"signature":"s"}]}}]}"#,
        r#"{"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]},"finish_reason":"stop"}]}"#,
    ]);
    assert_eq!(seen.reasoning.text.as_deref(), Some("ab"));
    assert_eq!(
        seen.reasoning.details.unwrap(),
        json!([
            {"type": "reasoning.text", "text": "ab", "index": 0, "signature": "s"},
            {"type": "reasoning.encrypted", "data": "x", "index": 1}
        ])
    );
}

#[test]
fn usage_is_read_in_every_servers_words() {
    let read = |text: &str| parse::usage(&serde_json::from_str(text).unwrap());
    let all = |prompt, completion, cached| {
        Some(Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            cache_read_tokens: cached,
            ..Usage::default()
        })
    };
    assert_eq!(
        read(r#"{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":8}"#),
        all(10, 2, 8)
    );
    assert_eq!(
        read(r#"{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":8}"#),
        all(10, 2, 8)
    );
    assert_eq!(read(r#"{"input_tokens":10.0,"output_tokens":2}"#), all(10, 2, 0));
    assert_eq!(read(r#"{"prompt_tokens":0,"completion_tokens":0}"#), None);
    assert_eq!(read(r#"{"prompt_tokens":-1,"completion_tokens":null}"#), None);
}

#[test]
fn thoughts_in_tags_never_reach_the_answer() {
    let pieces = ["<th", "ink>secret", "</think>\\n\\nShown."];
    let events: Vec<String> = pieces
        .iter()
        .map(|text| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#))
        .collect();
    let mut events: Vec<&str> = events.iter().map(String::as_str).collect();
    events.push("[DONE]");
    let seen = answer(&events);
    assert_eq!(
        (seen.text.as_str(), seen.reasoning.text.as_deref()),
        ("Shown.", Some("secret"))
    );
}
