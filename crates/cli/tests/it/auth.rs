//! `auth`: keys are kept, listed, removed and reset, and never shown.

use crate::program::{home, run, run_with_input, talking};
use talaria_testkit::Step;

const KEY: &str = "sk-made-up-000000000000";

#[test]
fn a_key_is_added_listed_and_removed_without_being_shown() {
    let home = home("{}\n");
    let added = run_with_input(&home, &["auth", "add", "deepseek", "--label", "work"], KEY).ok();
    assert!(!added.told().contains(KEY));
    let listed = run(&home, &["auth", "list", "--json"]).ok();
    assert!(!listed.out.contains(KEY));
    let entry = &listed.json()["credentials"][0];
    assert_eq!(
        (entry["provider"].as_str(), entry["label"].as_str()),
        (Some("deepseek"), Some("work"))
    );
    assert_eq!(entry["status"], "ok");
    assert!(run(&home, &["auth", "list"]).ok().out.contains("work"));
    run(&home, &["auth", "remove", "deepseek", "work"]).ok();
    assert_eq!(
        run(&home, &["auth", "list", "--json"]).ok().json()["credentials"],
        serde_json::json!([])
    );
    assert_eq!(run(&home, &["auth", "remove", "deepseek", "work"]).code, 2);
}

#[test]
fn a_provider_that_does_not_exist_has_no_keys() {
    let home = home("{}\n");
    let ran = run(&home, &["auth", "add", "nowhere", "--api-key", KEY]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("nowhere") && !ran.err.contains(KEY),
        "{}",
        ran.err
    );
    assert_eq!(
        run(&home, &["auth", "add", "deepseek", "--api-key", "sk with space"]).code,
        2
    );
    assert_eq!(run(&home, &["auth", "status", "deepseek"]).code, 1);
}

#[test]
fn a_refused_key_is_left_for_the_next_and_rests_until_it_is_reset() {
    let (server, home) = talking([
        Step::refuse(402, "Insufficient credits"),
        Step::say("paid"),
        Step::say("again"),
        Step::say("reset"),
    ]);
    let config = format!(
        "model:\n  provider: deepseek\n  default: m\n  base_url: {}\n",
        server.base_url()
    );
    std::fs::write(home.path().join("config.yaml"), config).unwrap();
    for (label, key) in [("one", "sk-first-00000000000"), ("two", "sk-second-0000000000")] {
        run(
            &home,
            &["auth", "add", "deepseek", "--label", label, "--api-key", key],
        )
        .ok();
    }
    assert_eq!(run(&home, &["-z", "first"]).ok().out, "paid\n");
    let listed = run(&home, &["auth", "list", "--json"]).ok().json();
    assert_eq!(listed["credentials"][0]["status"], "exhausted");
    assert!(
        listed["credentials"][0]["why"]
            .as_str()
            .unwrap()
            .contains("Insufficient credits")
    );
    run(&home, &["-z", "second"]).ok();
    run(&home, &["auth", "reset", "deepseek"]).ok();
    run(&home, &["-z", "third"]).ok();
    let keys: Vec<String> = server
        .main_requests()
        .iter()
        .filter_map(|request| request.header("authorization").map(str::to_owned))
        .map(|value| {
            value
                .trim_start_matches("Bearer sk-")
                .split('-')
                .next()
                .unwrap_or_default()
                .to_owned()
        })
        .collect();
    assert_eq!(keys, ["first", "second", "second", "first"]);
}
