//! What is known about models, and what goes over the wire.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use talaria_testkit::Step;

use crate::program::{home, run, talking};

/// A server that answers one request with this JSON.
fn serve(body: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/api.json", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let _ = stream.read(&mut request).unwrap();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
    });
    url
}

#[test]
fn newer_facts_are_fetched_and_the_persons_own_win() {
    let home = home("{}\n");
    let served = r#"{"openai": {"models": {"gpt-99": {"limit": {"context": 777000, "output": 9}, "cost": {"input": 4, "output": 8}}}}}"#;
    run(&home, &["models", "update", "--url", &serve(served)]).ok();
    let show = |model: &str| {
        run(
            &home,
            &["models", "show", model, "--provider", "openai", "--json"],
        )
        .ok()
        .json()
    };
    assert_eq!(show("gpt-99")["limit"]["context"], 777_000);
    assert_eq!(show("gpt-99")["cost"]["output"], 8.0);
    let own = json!({"openai": {"models": {"gpt-99": {"limit": {"context": 5000}}}}});
    std::fs::write(home.path().join("models.json"), own.to_string()).unwrap();
    assert_eq!(show("gpt-99")["limit"]["context"], 5000);
    let failed = run(&home, &["models", "update", "--url", &serve("<html></html>")]);
    assert_eq!(failed.code, 1);
    assert!(failed.err.contains("no catalogue of models"), "{}", failed.err);
    assert_eq!(show("gpt-99")["limit"]["context"], 5000);
}

#[test]
fn calls_are_written_down_without_the_key() {
    let key = format!("sk-made-up-{}", "0".repeat(24));
    let (_server, home) = talking([
        Step::refuse(401, format!("no such key: {key}")),
        Step::say("hello there"),
    ]);
    std::fs::write(home.path().join(".env"), format!("OPENAI_API_KEY={key}\n")).unwrap();
    let config = std::fs::read_to_string(home.path().join("config.yaml")).unwrap();
    let keyed = config.replace("model:", &format!("model:\n  api_key: {key}"));
    std::fs::write(home.path().join("config.yaml"), keyed).unwrap();
    let file = home.path().join("calls.jsonl");
    let flag = ["--debug-http", file.to_str().unwrap()];
    run(&home, &["-z", "one", flag[0], flag[1]]);
    run(&home, &["-z", "two", flag[0], flag[1]]).ok();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains(&key), "{text}");
    let lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |what: &str| {
        lines
            .iter()
            .filter_map(|line| line.get(what).cloned())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("request")[0]["headers"]["authorization"], "***");
    assert_eq!(of("response")[0]["status"], 401);
    assert!(
        of("body").iter().any(|body| body.to_string().contains("hello")),
        "{text}"
    );
    assert_eq!(
        std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
}
