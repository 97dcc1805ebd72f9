//! `auth`: keys are kept, listed, removed and reset, and never shown.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

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

/// A login server that gives these answers, one a connection; what was asked of it.
fn login_server(answers: &'static [&'static str]) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let serve = |answer: &&str| {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut chunk = [0; 4096];
            while !asked.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
                let count = stream.read(&mut chunk).unwrap();
                asked.extend_from_slice(&chunk[..count]);
            }
            let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
            write!(stream, "{head}content-length: {}\r\n\r\n{answer}", answer.len()).unwrap();
            String::from_utf8_lossy(&asked)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        answers.iter().map(serve).collect()
    });
    (origin, served)
}

#[test]
fn a_login_with_a_code_is_kept_and_used() {
    let (model, home) = talking([Step::say("logged in")]);
    let (origin, served) = login_server(&[
        r#"{"device_code": "d", "user_code": "ABCD-EFGH", "verification_uri": "https://x.example/device", "interval": 0}"#,
        r#"{"access_token": "token-made-up-0000", "refresh_token": "refresh-made-up-0000", "expires_in": 3600}"#,
    ]);
    let ran = run(
        &home,
        &[
            "auth",
            "add",
            "xai-oauth",
            "--no-browser",
            "--portal-url",
            &origin,
        ],
    )
    .ok();
    assert!(
        ran.err.contains("ABCD-EFGH") && ran.err.contains("https://x.example/device"),
        "{}",
        ran.err
    );
    assert!(!ran.told().contains("made-up"), "{}", ran.told());
    assert_eq!(
        served.join().unwrap(),
        ["POST /oauth2/device/code HTTP/1.1", "POST /oauth2/token HTTP/1.1"]
    );
    let config = format!(
        "model:\n  provider: xai-oauth\n  default: m\n  api_mode: chat_completions\n  base_url: {}\n",
        model.base_url()
    );
    std::fs::write(home.path().join("config.yaml"), config).unwrap();
    assert_eq!(run(&home, &["-z", "hi"]).ok().out, "logged in\n");
    assert_eq!(
        model.main_requests()[0].header("authorization"),
        Some("Bearer token-made-up-0000")
    );
    assert_eq!(run(&home, &["auth", "add", "deepseek", "--oauth"]).code, 2);
}

#[test]
fn a_refused_login_is_renewed_once_and_then_left_for_the_next() {
    let steps = [
        Step::refuse(401, "expired"),
        Step::refuse(401, "expired"),
        Step::say("by the second"),
    ];
    let (model, home) = talking(steps);
    let (origin, served) = login_server(&[r#"{"access_token": "renewed-made-up", "expires_in": 3600}"#]);
    let login = |id: &str, token: &str, priority: u32| {
        json!({"id": id, "label": id, "auth_type": "oauth", "source": "manual:device_code", "priority": priority,
            "access_token": token, "refresh_token": format!("refresh-{id}"), "portal_base_url": origin})
    };
    let pool = json!({"credential_pool": {"xai-oauth": [login("a", "first", 0), login("b", "second", 1)]}});
    std::fs::write(home.path().join("auth.json"), pool.to_string()).unwrap();
    let config = format!(
        "model:\n  provider: xai-oauth\n  default: m\n  api_mode: chat_completions\n  base_url: {}\n",
        model.base_url()
    );
    std::fs::write(home.path().join("config.yaml"), config).unwrap();
    let ran = run(&home, &["-z", "hi", "--json"]).ok().json();
    assert_eq!(ran["final_response"], "by the second");
    assert_eq!(served.join().unwrap().len(), 1);
    let keys: Vec<String> = model
        .main_requests()
        .iter()
        .filter_map(|request| request.header("authorization").map(str::to_owned))
        .collect();
    assert_eq!(keys, ["Bearer first", "Bearer renewed-made-up", "Bearer second"]);
    let rows: Vec<&str> = ran["recoveries"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["row"].as_str())
        .collect();
    assert_eq!(rows, ["codex_login", "credential_pool"]);
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
