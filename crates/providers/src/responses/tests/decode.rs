use super::*;
use crate::testing::{replay, stream};

fn answer(events: &[&str]) -> Result<Completion, WireError> {
    replay(&mut ResponsesDecoder::new(1), &stream(events)).1
}

const CREATED: &str = r#"{"type":"response.created","response":{"id":"resp_1","model":"g","status":"in_progress","output":[]}}"#;

#[test]
fn failures_are_read_out_of_their_events() {
    for (event, body) in [
        (
            r#"{"type":"error","code":"server_is_overloaded","message":"Our servers are currently overloaded.","param":null,"sequence_number":1}"#,
            r#"{"error":{"code":"server_is_overloaded","message":"Our servers are currently overloaded.","param":null}}"#,
        ),
        (
            r#"{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"context_length_exceeded","message":"too long"}}}"#,
            r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
        ),
        (
            r#"{"type":"error","error":{"message":"m","code":"c"},"sequence_number":2}"#,
            r#"{"type":"error","error":{"message":"m","code":"c"},"sequence_number":2}"#,
        ),
    ] {
        assert_eq!(
            answer(&[CREATED, event]),
            Err(WireError::Refused {
                body: body.to_owned()
            })
        );
    }
}

#[test]
fn an_incomplete_answer_says_why() {
    for (reason, finish) in [
        ("max_output_tokens", FinishReason::Length),
        ("content_filter", FinishReason::Refused),
    ] {
        let event = format!(
            r#"{{"type":"response.incomplete","response":{{"status":"incomplete","incomplete_details":{{"reason":"{reason}"}},"output":[]}}}}"#
        );
        assert_eq!(answer(&[CREATED, &event]).unwrap().finish, finish);
    }
}

#[test]
fn an_answer_without_its_last_event_is_whole_only_if_the_line_says_so() {
    let added =
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","content":[]}}"#;
    let text = r#"{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}"#;
    let done = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"Hi"}]}}"#;
    assert_eq!(
        answer(&[CREATED, added, text, done, "[DONE]"]).unwrap().text,
        "Hi"
    );
    // A call may have been lost behind it.
    assert_eq!(answer(&[CREATED, added, text, done]), Err(WireError::Cut));
    assert_eq!(answer(&[CREATED, added, text, "[DONE]"]), Err(WireError::Cut));
    assert_eq!(answer(&[CREATED, added, text]), Err(WireError::Cut));
    assert_eq!(answer(&[CREATED]), Err(WireError::Cut));
}

#[test]
fn what_was_not_streamed_is_filled_in_from_the_end() {
    let end = r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"All at once"}]}]}}"#;
    assert_eq!(answer(&[CREATED, end]).unwrap().text, "All at once");
    let empty = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
    assert_eq!(answer(&[CREATED, empty]).unwrap().text, "");
}

#[test]
fn reasoning_items_are_kept_verbatim() {
    let seen = answer(&[
        CREATED,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hidden"}],"encrypted_content":"bW9jaw=="}}"#,
        r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
    ])
    .unwrap();
    assert_eq!(seen.reasoning.text.as_deref(), Some("hidden"));
    assert_eq!(
        seen.reasoning.response_items.unwrap()[0]["encrypted_content"],
        "bW9jaw=="
    );
}

#[test]
fn a_refusal_is_its_own_ending() {
    let seen = answer(&[
        CREATED,
        r#"{"type":"response.refusal.delta","output_index":0,"delta":"I cannot."}"#,
        r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#,
    ])
    .unwrap();
    assert_eq!(
        (seen.text.as_str(), seen.finish),
        ("I cannot.", FinishReason::Refused)
    );
}

#[test]
fn an_answer_without_output_is_invalid() {
    let mut out = Vec::new();
    let error = ResponsesDecoder::new(1).document(r#"{"id":"r","status":"completed"}"#, &mut out);
    assert!(matches!(error, Err(WireError::Invalid { .. })));
    let failed = r#"{"id":"r","status":"failed","output":[],"error":{"code":"server_error","message":"x"}}"#;
    let error = ResponsesDecoder::new(1).document(failed, &mut out);
    assert!(matches!(error, Err(WireError::Refused { body }) if body.contains("server_error")));
}
