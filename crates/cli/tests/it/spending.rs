//! What was used, what it has cost, and the limits on it.

use serde_json::json;
use talaria_testkit::{MockServer, Scenario, TempHome};

use crate::program::run;

/// A home whose model has a listed price: a moved address of a known provider.
fn priced(steps: &serde_json::Value, more: &str) -> (MockServer, TempHome) {
    let server = MockServer::start(Scenario::from_value(json!({"steps": steps})).unwrap()).unwrap();
    let home = TempHome::pointing_at(&server).unwrap();
    let config = format!(
        "model:\n  provider: openai\n  default: gpt-4o\n  base_url: {}\n  api_mode: chat_completions\n  api_key: sk-made-up\n{more}",
        server.base_url()
    );
    std::fs::write(home.path().join("config.yaml"), config).unwrap();
    (server, home)
}

#[test]
fn what_was_used_is_told_by_model_tool_and_day() {
    let call =
        json!({"tool_calls": [{"name": "todo", "args": {}}], "usage": {"prompt": 1000, "completion": 10}});
    let (_server, home) = priced(
        &json!([call, {"text": "x", "usage": {"prompt": 2000, "completion": 20}}]),
        "",
    );
    run(&home, &["-z", "hi"]).ok();
    let told = run(&home, &["insights", "--json", "--days", "2"]).ok().json();
    assert_eq!(
        (told["sessions"].as_u64(), told["api_calls"].as_u64()),
        (Some(1), Some(2))
    );
    assert_eq!(told["usage"]["prompt_tokens"], 3000);
    assert_eq!(told["cost_status"], "known");
    let cost = told["estimated_cost_usd"].as_f64().unwrap();
    assert!((cost - 0.0078).abs() < 1e-9, "{cost}");
    assert!((told["by_day"][0]["known_cost_usd"].as_f64().unwrap() - cost).abs() < 1e-9);
    assert_eq!(told["tools"], json!([{"name": "todo", "calls": 1}]));
    assert_eq!(told["models"][0]["model"], "gpt-4o");
    assert!(run(&home, &["insights"]).ok().out.contains("0.0078 USD"));
}

#[test]
fn nothing_used_is_told_as_nothing() {
    let (_server, home) = priced(&json!([]), "");
    assert_eq!(run(&home, &["insights", "--json"]).ok().json()["api_calls"], 0);
}

#[test]
fn a_day_that_has_cost_enough_makes_no_further_call() {
    let dear = json!({"text": "x", "usage": {"prompt": 40000, "completion": 1000}});
    let (server, home) = priced(&json!([dear, dear]), "budget:\n  per_day_usd: 0.11\n");
    run(&home, &["-z", "one"]).ok();
    let ran = run(&home, &["-z", "two", "--json"]);
    assert_eq!(ran.code, 5, "{}", ran.told());
    assert!(ran.err.contains("this day has cost 0.11"), "{}", ran.err);
    assert_eq!(server.main_requests().len(), 1);
}

#[test]
fn a_limit_with_an_unknown_price_is_refused_with_the_reason() {
    let (server, home) = priced(&json!([{"text": "x"}]), "");
    let ran = run(&home, &["-z", "hi", "-m", "nobodys-model", "--max-cost", "1"]);
    assert_eq!(ran.code, 5, "{}", ran.told());
    assert!(
        ran.err
            .contains("the price of nobodys-model at openai is not known"),
        "{}",
        ran.err
    );
    assert!(server.main_requests().is_empty());
}

#[test]
fn a_subagent_spends_what_its_parent_has_left_and_is_stopped_before_it_spends_more() {
    let hands_out = json!({
        "tool_calls": [{"name": "delegate_task", "args": {"goal": "alpha"}}],
        "usage": {"prompt": 40000, "completion": 1000},
    });
    let (server, home) = priced(
        &json!([hands_out, {"text": "x"}]),
        "budget:\n  per_turn_usd: 0.12\n",
    );
    let ran = run(&home, &["-z", "go", "--json", "--messages"]);
    assert_eq!(ran.code, 5, "{}", ran.told());
    assert_eq!(server.main_requests().len(), 1);
    let told = ran.json();
    let messages = told["messages"].to_string();
    assert!(
        messages.contains("spend_limit") && messages.contains("this turn has cost 0.11"),
        "{messages}"
    );
}

#[test]
fn what_a_subagent_has_cost_is_in_its_parents_price_and_counted_once_in_a_day() {
    let dear = |text: &str| json!({"text": text, "usage": {"prompt": 40000, "completion": 1000}});
    let hands_out = json!({
        "tool_calls": [{"name": "delegate_task", "args": {"goal": "alpha"}}],
        "usage": {"prompt": 40000, "completion": 1000},
    });
    let (_server, home) = priced(&json!([hands_out, dear("alpha is done"), dear("x")]), "");
    let told = run(&home, &["-z", "go", "--json"]).ok().json();
    let cost = told["estimated_cost_usd"].as_f64().unwrap();
    assert!((cost - 0.33).abs() < 1e-9, "{told}");
    let insights = run(&home, &["insights", "--json", "--days", "2"]).ok().json();
    let day = insights["by_day"][0]["known_cost_usd"].as_f64().unwrap();
    assert!((day - 0.33).abs() < 1e-9, "{insights}");
    assert!((insights["estimated_cost_usd"].as_f64().unwrap() - 0.33).abs() < 1e-9);
}
