//! One golden trace for each way a turn can go. [`ARROWS`] is the list.

use serde_json::json;

use crate::rig::{Rig, trace};

/// Every arrow of the turn's diagram that leaves `CallModel` or `RunTools`, and the trace that shows it.
pub(crate) const ARROWS: &[(&str, &str)] = &[
    ("text → done", "a_text_ends_the_turn"),
    (
        "tool calls → run tools → call",
        "calls_run_and_their_results_go_back",
    ),
    ("cut at length → more room → call", "a_cut_answer_is_continued"),
    ("empty → nudge → call", "nothing_after_a_tool_is_nudged"),
    ("empty → retry → explain", "nothing_again_and_again_is_explained"),
    ("failure → wait → call", "a_server_error_is_waited_out"),
    ("failure → rewrite → call", "a_refused_parameter_is_left_out"),
    ("failure → switch → call", "a_rate_limit_goes_to_the_fallback"),
    ("failure → give up", "a_wrong_request_is_sent_once"),
    ("401 → give up", "a_refused_key_is_not_tried_again"),
    (
        "cut stream → call",
        "a_stream_that_dies_before_any_text_is_repeated",
    ),
    ("calls spent → closing call → done", "a_spent_turn_is_summarised"),
    (
        "invalid calls → answered → call",
        "a_call_that_cannot_be_understood_is_answered",
    ),
];

async fn traced(steps: serde_json::Value) -> String {
    trace(&Rig::new(steps), "go").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_text_ends_the_turn() {
    insta::assert_snapshot!(traced(json!([{"text": "hello"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_run_and_their_results_go_back() {
    let call = json!({"name": "terminal", "args": {"command": "echo out-$((1+1))"}, "id": "call_1"});
    insta::assert_snapshot!(traced(json!([{"tool_calls": [call]}, {"text": "so"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_answer_is_continued() {
    let cut = json!({"text": "1 2 3 ", "finish_reason": "length"});
    insta::assert_snapshot!(traced(json!([cut, {"text": "4 5"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_after_a_tool_is_nudged() {
    let call = json!({"name": "todo", "args": {}, "id": "call_1"});
    insta::assert_snapshot!(traced(json!([{"tool_calls": [call]}, {"text": ""}, {"text": "so"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_again_and_again_is_explained() {
    let nothing = vec![json!({"text": ""}); 12];
    insta::assert_snapshot!(traced(json!(nothing)).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_error_is_waited_out() {
    let error = json!({"status": 503, "error": "overloaded", "headers": {"retry-after": "0"}});
    insta::assert_snapshot!(traced(json!([error, {"text": "back"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_parameter_is_left_out() {
    let message = "Unsupported parameter: 'stream_options' is not supported with this model.";
    let error = json!({"status": 400, "error": {"message": message, "type": "invalid_request_error",
        "param": "stream_options", "code": "unsupported_parameter"}});
    insta::assert_snapshot!(traced(json!([error, {"text": "fine"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_goes_to_the_fallback() {
    let limited = json!({"status": 429, "error": "Rate limit exceeded"});
    let other = Rig::new(json!([{"text": "from the other one"}]));
    let fallback = format!(
        "fallback_providers:\n  - provider: custom\n    model: other-model\n    base_url: {}\n    api_key: k\n    context_length: 200000\n",
        other.server.base_url()
    );
    let rig = Rig::with_config(&json!([limited]), &fallback);
    insta::assert_snapshot!(trace(&rig, "go").await);
    assert_eq!(other.server.main_requests().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_request_is_sent_once() {
    let error =
        json!({"status": 400, "error": {"message": "messages: nonsense", "type": "invalid_request_error"}});
    insta::assert_snapshot!(traced(json!([error, {"text": "never"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_key_is_not_tried_again() {
    let error =
        json!({"status": 401, "error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}});
    insta::assert_snapshot!(traced(json!([error, {"text": "never"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_dies_before_any_text_is_repeated() {
    insta::assert_snapshot!(traced(json!([{"text": "abc", "drop_after": 0}, {"text": "whole"}])).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spent_turn_is_summarised() {
    let call =
        |number: u32| json!({"tool_calls": [{"name": "todo", "args": {}, "id": format!("call_{number}")}]});
    let scenario = json!([call(1), call(2), call(3), {"text": "never"}]);
    let rig = Rig::with_config(&scenario, "agent:\n  max_turns: 2\n");
    insta::assert_snapshot!(trace(&rig, "go").await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_cannot_be_understood_is_answered() {
    let call = json!({"name": "no_such_tool", "args": {}, "id": "call_1"});
    insta::assert_snapshot!(traced(json!([{"tool_calls": [call]}, {"text": "sorry"}])).await);
}

/// The list names traces that exist.
#[test]
fn every_arrow_has_its_trace() {
    let tests = include_str!("arrows.rs");
    for (arrow, test) in ARROWS {
        assert!(tests.contains(&format!("async fn {test}()")), "{arrow}: {test}");
    }
}
