use super::*;
use crate::testing::{replay, stream};

fn answer(events: &[&str]) -> Result<Completion, WireError> {
    replay(&mut MessagesDecoder::new(1), &stream(events)).1
}

const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","model":"c","usage":{"input_tokens":700,"cache_creation_input_tokens":50,"cache_read_input_tokens":300,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn end(reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":40}}}}"#
    )
}

#[test]
fn signed_thinking_is_kept_verbatim_and_in_order() {
    let seen = answer(&[
        START,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"plan "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"A"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Hi"}}"#,
        &end("end_turn"),
        STOP,
    ])
    .unwrap();
    assert_eq!(
        seen.reasoning.details.unwrap(),
        json!([
            {"type": "thinking", "thinking": "plan A", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "xyz"}
        ])
    );
    assert_eq!((seen.text.as_str(), seen.finish), ("Hi", FinishReason::Stop));
}

#[test]
fn cached_tokens_count_as_sent() {
    let seen = answer(&[START, &end("end_turn"), STOP]).unwrap();
    let usage = seen.usage.unwrap();
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens
        ),
        (1050, 300, 50)
    );
    assert_eq!(usage.completion_tokens, 40);
}

#[test]
fn stop_reasons_are_understood() {
    for (word, reason) in [
        ("max_tokens", FinishReason::Length),
        ("refusal", FinishReason::Refused),
        ("model_context_window_exceeded", FinishReason::WindowExceeded),
        ("pause_turn", FinishReason::Other("pause_turn".to_owned())),
    ] {
        assert_eq!(
            answer(&[START, &end(word), STOP]).unwrap().finish,
            reason,
            "{word}"
        );
    }
}

#[test]
fn half_a_tool_call_before_an_error_is_never_a_call() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"write_file","input":{}}}"#;
    let piece = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"pa"}}"#;
    let over = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert!(
        matches!(answer(&[START, call, piece, over]), Err(WireError::Refused { body }) if body.contains("overloaded"))
    );
    assert_eq!(answer(&[START, call, piece]), Err(WireError::Cut));
}

#[test]
fn a_call_without_arguments_has_an_empty_object() {
    let call = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"t","input":{}}}"#;
    let seen = answer(&[
        START,
        call,
        r#"{"type":"content_block_stop","index":0}"#,
        &end("tool_use"),
        STOP,
    ])
    .unwrap();
    assert_eq!(seen.tool_calls[0].arguments, "{}");
}

#[test]
fn an_answer_with_nothing_in_it_is_an_empty_answer() {
    let mut decoder = MessagesDecoder::new(1);
    let mut out = Vec::new();
    decoder
        .document(
            r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":null}"#,
            &mut out,
        )
        .unwrap();
    let seen = decoder.finish(&mut out).unwrap();
    assert_eq!((seen.text.as_str(), seen.finish), ("", FinishReason::Stop));
    let error = MessagesDecoder::new(1).document(r#"{"type":"message"}"#, &mut out);
    assert!(matches!(error, Err(WireError::Invalid { .. })));
}
