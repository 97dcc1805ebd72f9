//! Every pattern through the whole classifier, every envelope, and the known mistakes.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use super::*;

fn request() -> RequestFacts {
    RequestFacts {
        signed_thinking: true,
        encrypted_reasoning: true,
        images: 2,
        tool_images: true,
        streaming: true,
        prompt_tokens: 20_000,
        window: 200_000,
        messages: 12,
        ..RequestFacts::default()
    }
}

fn refused(status: u16, body: &str) -> Failure {
    classify(&RawFailure {
        request: request(),
        ..RawFailure::status(status, Vec::new(), body)
    })
}

fn said(status: u16, text: &str) -> Failure {
    refused(
        status,
        &json!({"error": {"message": text, "type": null, "param": null, "code": null}}).to_string(),
    )
}

fn in_stream(text: &str) -> Failure {
    classify(&RawFailure {
        request: request(),
        ..RawFailure::in_body(json!({"error": {"message": text}}).to_string())
    })
}

#[test]
fn every_sample_holds_its_pattern_and_is_given_its_kind() {
    let mut wrong = Vec::new();
    for pattern in patterns::PATTERNS {
        if !pattern.fits(&pattern.sample.to_lowercase()) {
            wrong.push(format!("{:?} does not hold {:?}", pattern.sample, pattern.text));
        }
        let failure = match pattern.status {
            0 => classify(&RawFailure {
                request: request(),
                ..RawFailure::transport(Phase::Connect, Transport::Other, pattern.sample)
            }),
            200 => in_stream(pattern.sample),
            status => said(status, pattern.sample),
        };
        if (failure.kind, failure.symptom) != (pattern.kind, pattern.symptom) {
            let got = (failure.kind, failure.symptom);
            wrong.push(format!(
                "{} {:?}: {got:?}, not {:?}",
                pattern.status, pattern.sample, pattern.kind
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_pattern_is_lower_case() {
    let upper = patterns::PATTERNS
        .iter()
        .find(|pattern| pattern.text != pattern.text.to_lowercase());
    assert!(upper.is_none(), "{upper:?}");
}

#[rstest]
#[case::parameter(
    "Unsupported parameter: 'max_tokens' is not supported with this model.",
    ErrorKind::UnsupportedParameter
)]
#[case::quota("You have a quota of 20 files per folder", ErrorKind::Unknown)]
#[case::forbidden("the word forbidden appears in your file", ErrorKind::Unknown)]
#[case::authentication("see the chapter on authentication", ErrorKind::Unknown)]
#[case::advisory(
    "Provider returned an empty response. This may happen when max_tokens is too low.",
    ErrorKind::ServerError
)]
#[case::limit_exceeded("rate limit exceeded", ErrorKind::RateLimit)]
#[case::token("invalid token at line 3", ErrorKind::Unknown)]
#[case::throttle("Too many tokens, please wait before trying again.", ErrorKind::RateLimit)]
fn words_without_a_status_are_not_taken_for_something_worse(#[case] text: &str, #[case] kind: ErrorKind) {
    assert_eq!(in_stream(text).kind, kind);
}

#[test]
fn a_short_refusal_in_a_long_session_is_no_overflow_unless_the_prompt_is_near_its_window() {
    let mut raw = RawFailure::status(400, Vec::new(), r#"{"error":{"message":"Bad request"}}"#);
    raw.request = RequestFacts {
        messages: 200,
        prompt_tokens: 90_000,
        window: 200_000,
        ..request()
    };
    assert_eq!(classify(&raw).kind, ErrorKind::FormatError);
    raw.request.prompt_tokens = 150_000;
    let failure = classify(&raw);
    assert_eq!(
        (failure.kind, failure.symptom),
        (ErrorKind::ContextOverflow, Some(Symptom::LikelyOverflow))
    );
}

#[test]
fn the_message_of_every_envelope_is_found() {
    let text = "the frobnicator rejected field zeta";
    for body in [
        json!({"error": {"message": text, "type": "invalid_request_error", "param": null, "code": null}}),
        json!({"code": "Client specified an invalid argument", "error": text}),
        json!({"object": "error", "message": text, "type": "BadRequestError", "param": null, "code": 400}),
        json!({"message": text}),
        json!([{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]),
        json!({"detail": text}),
        json!({"detail": {"error": {"message": text}}}),
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": text}, "request_id": "req_x"}),
        json!({"errors": [{"message": text}]}),
        json!({"statusCode": 400, "message": text, "error": "Bad Request"}),
        json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "x", "message": text}}}),
        json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {
            "raw": json!({"error": {"message": text}}).to_string(), "provider_name": "Other"}}}),
        json!({"error": {"code": 400, "message": json!({"type": "error", "error": {"message": text}}).to_string()}}),
        json!({"error": {"message": format!("litellm.BadRequestError: XException - {{'error': {{'message': '{text}'}}}}")}}),
        json!({"error": {"message": format!("OpenAIException - b'{{\"error\": {{\"message\": \"{text}\"}}}}'")}}),
        json!({"base_resp": {"status_code": 2013, "status_msg": text}}),
        json!(text),
    ] {
        assert_eq!(refused(400, &body.to_string()).message, text, "{body}");
    }
    assert_eq!(refused(400, text).message, text);
    let pydantic = json!({"detail": [{"loc": ["body", "messages", 0], "msg": text, "type": "value_error"}]});
    assert_eq!(
        refused(400, &pydantic.to_string()).message,
        format!("messages.0: {text}")
    );
    assert_eq!(refused(502, "").message, "the server answered 502 without a text");
    let page = format!(
        "<html><head><title>502 Bad Gateway</title></head><body>{}</body></html>",
        "<p>x</p>".repeat(3_000)
    );
    assert_eq!(refused(502, &page).message, "502 Bad Gateway");
    assert_eq!(refused(429, "余额不足").message, "余额不足");
}

#[test]
fn what_a_refusal_echoes_of_the_request_decides_nothing() {
    let body = json!({"detail": [{"loc": ["body", "messages", 3], "msg": "field required", "type": "missing",
        "input": {"content": "my rate limit exceeded, insufficient_quota, prompt is too long"}}]});
    assert_eq!(refused(422, &body.to_string()).kind, ErrorKind::FormatError);
    let answer = json!({"id": "x", "choices": [], "note": "rate limit exceeded"}).to_string();
    assert_eq!(
        classify(&RawFailure::invalid("no choices", answer)).kind,
        ErrorKind::InvalidResponse
    );
}

#[test]
fn an_error_inside_of_a_successful_answer_is_of_its_class() {
    let of = |body: &str| {
        let failure = classify(&RawFailure::in_body(body));
        (failure.kind, failure.status)
    };
    let worker =
        r#"{"choices":[],"error":{"code":502,"message":"Worker local total request limit reached (33/32)"}}"#;
    assert_eq!(of(worker), (ErrorKind::ServerError, Some(502)));
    let busy =
        r#"{"type":"error","code":"server_is_overloaded","message":"Our servers are currently overloaded."}"#;
    assert_eq!(of(busy), (ErrorKind::Overloaded, None));
    let gemini = "{\"error\": {\n  \"code\": 503,\n  \"message\": \"The model is overloaded.\"}}";
    assert_eq!(of(gemini), (ErrorKind::Overloaded, Some(503)));
    assert_eq!(
        of(r#"{"error":{"message":"rate limit exceeded","type":"error"}}"#),
        (ErrorKind::RateLimit, None)
    );
    let invalid = RawFailure::invalid("no choices", r#"{"error":{"message":"Overloaded"}}"#);
    assert_eq!(classify(&invalid).kind, ErrorKind::Overloaded);
    assert_eq!(
        classify(&RawFailure::invalid("no JSON", "this is not an answer")).kind,
        ErrorKind::InvalidResponse
    );
}

#[test]
fn an_answer_that_is_none_says_what_is_wrong_with_it() {
    let failure = classify(&RawFailure::invalid(
        "the answer is no JSON",
        "this is not an answer",
    ));
    assert_eq!(failure.message, "the answer is no JSON: this is not an answer");
    assert_eq!(
        classify(&RawFailure::invalid("the answer is empty", "")).message,
        "the answer is empty"
    );
}

#[rstest]
#[case(Phase::Connect, Transport::Connect, ErrorKind::Timeout)]
#[case(Phase::Connect, Transport::Dns, ErrorKind::Timeout)]
#[case(Phase::Connect, Transport::Closed, ErrorKind::Timeout)]
#[case(Phase::Body, Transport::Closed, ErrorKind::IncompleteStream)]
#[case(Phase::Body, Transport::Cut, ErrorKind::IncompleteStream)]
#[case(Phase::Body, Transport::Stalled, ErrorKind::Timeout)]
#[case(Phase::Connect, Transport::Certificate, ErrorKind::SslCertVerification)]
#[case(Phase::Build, Transport::HeaderNotAscii, ErrorKind::NonAsciiCredential)]
#[case(Phase::Build, Transport::BodyNotUnicode, ErrorKind::Surrogates)]
#[case(Phase::Body, Transport::Cancelled, ErrorKind::Interrupted)]
#[case(Phase::Connect, Transport::ReadTimeout, ErrorKind::Timeout)]
fn the_transport_alone_is_enough(
    #[case] phase: Phase,
    #[case] transport: Transport,
    #[case] kind: ErrorKind,
) {
    assert_eq!(
        classify(&RawFailure::transport(phase, transport, "it broke")).kind,
        kind
    );
}

#[test]
fn the_words_of_a_transport_that_says_no_more_are_read() {
    let broke = |text: &str| classify(&RawFailure::transport(Phase::Body, Transport::Other, text)).kind;
    assert_eq!(
        broke("error reading a body: connection reset by peer"),
        ErrorKind::IncompleteStream
    );
    assert_eq!(broke("operation timed out"), ErrorKind::Timeout);
    assert_eq!(
        broke("invalid peer certificate: UnknownIssuer"),
        ErrorKind::SslCertVerification
    );
    assert_eq!(broke("the moon is full"), ErrorKind::Unknown);
}

#[test]
fn a_refused_parameter_is_named_with_its_replacement() {
    let body = json!({"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
        'max_completion_tokens' instead.", "type": "invalid_request_error", "param": "max_tokens",
        "code": "unsupported_parameter"}});
    let failure = refused(400, &body.to_string());
    assert_eq!(failure.kind, ErrorKind::UnsupportedParameter);
    assert_eq!(failure.parameter.as_deref(), Some("max_tokens"));
    assert_eq!(failure.replacement.as_deref(), Some("max_completion_tokens"));
}

#[test]
fn a_quota_of_a_day_has_no_wait_even_if_the_body_names_one() {
    let body = json!([{"error": {"code": 429, "message": "You exceeded the limit", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}]);
    let failure = refused(429, &body.to_string());
    assert_eq!(failure.symptom, Some(Symptom::QuotaSpent));
    assert_eq!(failure.retry_after_ms, None);
}

#[test]
fn an_empty_bucket_that_stays_empty_is_a_symptom() {
    let headers = [
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "4m"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let failure = classify(&RawFailure::status(429, headers.to_vec(), "{}"));
    assert_eq!(
        (failure.kind, failure.symptom),
        (ErrorKind::RateLimit, Some(Symptom::BucketEmpty))
    );
    assert_eq!(failure.retry_after_ms, Some(240_000));
}

proptest! {
    #[test]
    fn any_body_is_classified_without_a_panic(status in proptest::option::of(0u16..700), body in "\\PC{0,400}") {
        let mut raw = RawFailure::in_body(body);
        raw.status = status;
        let failure = classify(&raw);
        prop_assert!(!failure.message.is_empty());
    }

    #[test]
    fn any_nesting_of_brackets_and_quotes_is_survived(body in "[\\[\\]{}'\":,a-zNTFb0-9\\\\ ]{0,200}") {
        classify(&RawFailure::status(400, Vec::new(), body));
    }

    #[test]
    fn any_numbers_in_a_sentence_are_survived(w in any::<u64>(), p in any::<u64>(), o in any::<u64>()) {
        let text = format!("This model's maximum context length is {w} tokens. However, you requested {p}{o} tokens ({p} in the \
            messages, {o} in the completion). try again in {p}{w}s");
        let failure = said(400, &text);
        prop_assert!(failure.limits.window.is_none_or(|window| (2_000..=20_000_000).contains(&window)));
    }
}

#[test]
fn a_429_stays_a_rate_limit_when_its_type_is_only_api_error() {
    let body = r#"{"error":{"message":"Rate limit exceeded","type":"api_error","param":null,"code":null}}"#;
    let failure = classify(&RawFailure::status(429, Vec::new(), body));
    assert_eq!(failure.kind, ErrorKind::RateLimit);
}
