use super::*;
use crate::testing::{replay, stream};

fn answer(events: &[&str]) -> Result<Completion, WireError> {
    replay(&mut GeminiDecoder::new(1), &stream(events)).1
}

fn part(part: &str, finish: &str) -> String {
    format!(
        r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}},"finishReason":{finish},"index":0}}]}}"#
    )
}

#[test]
fn a_signature_stays_with_its_call() {
    let call = part(
        r#"{"functionCall":{"name":"t","args":{"a":1}},"thoughtSignature":"c2ln"}"#,
        "\"STOP\"",
    );
    let seen = answer(&[&call]).unwrap();
    assert_eq!(seen.tool_calls[0].arguments, r#"{"a":1}"#);
    assert_eq!(seen.tool_calls[0].extra["thoughtSignature"], "c2ln");
    assert!(!seen.tool_calls[0].id.is_empty());
}

#[test]
fn safety_stops_are_refusals() {
    assert_eq!(
        answer(&[&part(r#"{"text":"a"}"#, "\"SAFETY\"")]).unwrap().finish,
        FinishReason::Refused
    );
    let blocked = answer(&[r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#]).unwrap();
    assert_eq!(blocked.finish, FinishReason::Refused);
}

#[test]
fn thoughts_are_counted_as_part_of_the_answer() {
    let usage = r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":10,"thoughtsTokenCount":4,"cachedContentTokenCount":60}}"#;
    let usage = answer(&[usage]).unwrap().usage.unwrap();
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.reasoning_tokens
        ),
        (100, 14, 4)
    );
    assert_eq!(usage.cache_read_tokens, 60);
}

#[test]
fn a_call_its_own_server_cannot_read_is_asked_for_again() {
    let broken = answer(&[&part(r#"{"text":""}"#, "\"MALFORMED_FUNCTION_CALL\"")]);
    assert!(matches!(broken, Err(WireError::Invalid { .. })));
}

#[test]
fn errors_in_a_list_and_answers_in_a_list_are_told_apart() {
    let read = |body: &str| {
        let mut decoder = GeminiDecoder::new(1);
        let mut out = Vec::new();
        decoder
            .document(body, &mut out)
            .and_then(|()| decoder.finish(&mut out))
    };
    let error = read(r#"[{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}]"#);
    assert!(matches!(error, Err(WireError::Refused { .. })));
    let list = format!(
        "[{},{}]",
        part(r#"{"text":"a"}"#, "null"),
        part(r#"{"text":"b"}"#, "\"STOP\"")
    );
    assert_eq!(read(&list).unwrap().text, "ab");
    assert!(matches!(
        read(r#"{"candidates":[]}"#),
        Err(WireError::Invalid { .. })
    ));
}
