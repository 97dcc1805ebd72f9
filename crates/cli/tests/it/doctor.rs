//! `doctor` and `tools`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::program::{append, command, home, run, talking};
use talaria_testkit::Step;

fn finding(report: &Value, name: &str) -> Value {
    let found = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {report}")).clone()
}

#[test]
fn a_home_that_works_is_found_to_work() {
    let (_server, home) = talking([Step::say("x"), Step::say("ok")]);
    run(&home, &["-z", "hi"]).ok();
    let report = run(&home, &["doctor", "--json"]).ok().json();
    assert_eq!(report["ok"], true);
    assert_eq!(finding(&report, "database")["state"], "ok");
    assert!(
        finding(&report, "provider")["detail"]
            .as_str()
            .unwrap()
            .starts_with("mock-model of custom at http://127.0.0.1")
    );
    let version = finding(&report, "sqlite")["detail"].as_str().unwrap().to_owned();
    let parts: Vec<u32> = version
        .split([' ', '.'])
        .take(3)
        .map(|part| part.parse().unwrap())
        .collect();
    assert!(parts >= vec![3, 51, 3], "{version}");
}

#[test]
fn a_model_that_does_not_answer_is_told_with_what_to_do() {
    let (server, home) = talking([Step::refuse(401, "Invalid API key 4711"), Step::say("ok")]);
    append(
        &home,
        &format!(
            "fallback_providers:\n  - {{provider: custom, model: second, base_url: \"{}\"}}\n",
            server.base_url()
        ),
    );
    let ran = run(&home, &["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    let report = ran.json();
    let told: Vec<(&str, &str)> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["name"] == "provider")
        .map(|check| {
            (
                check["state"].as_str().unwrap(),
                check["detail"].as_str().unwrap(),
            )
        })
        .collect();
    let refused = told
        .iter()
        .find(|(_, told)| told.contains("does not answer"))
        .unwrap();
    assert!(refused.1.contains("Invalid API key 4711"), "{told:?}");
    assert!(
        told.iter()
            .any(|(state, told)| *state == "ok" && told.contains("answers (")),
        "{told:?}"
    );
    let before = server.main_requests().len();
    run(&home, &["doctor", "--offline"]).ok();
    assert_eq!(server.main_requests().len(), before);
}

#[test]
fn what_would_fail_is_found_before_it_does() {
    let home = home("{}\n");
    let ran = run(&home, &["doctor", "--json"]);
    assert_eq!(ran.code, 1);
    assert_eq!(finding(&ran.json(), "provider")["state"], "failed");
    append(&home, "agent:\n  max_turns: x\n");
    fs::write(home.path().join("config.yaml"), "agent:\n  max_turns: x\n").unwrap();
    let broken = run(&home, &["doctor", "--json"]).json();
    assert!(
        finding(&broken, "config")["detail"]
            .as_str()
            .unwrap()
            .contains("config.yaml:2")
    );
}

#[test]
fn keys_that_others_can_read_are_told() {
    let home = home("{}\n");
    let file = home.path().join(".env");
    fs::write(&file, "OPENAI_API_KEY=sk-x\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let report = run(&home, &["doctor", "--json"]).json();
    assert_eq!(finding(&report, "secrets")["state"], "warning");
}

#[test]
fn a_missing_shell_is_told() {
    let home = home("{}\n");
    let output = command(&home, &["doctor"])
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(out.contains("bash is not in $PATH"), "{out}");
}

#[test]
fn toolsets_are_listed_as_the_flag_takes_them() {
    let home = home("agent:\n  disabled_toolsets: [terminal]\n");
    let sets = run(&home, &["tools", "--json"]).ok().json();
    let file = sets["toolsets"]
        .as_array()
        .unwrap()
        .iter()
        .find(|set| set["name"] == "file")
        .unwrap()
        .clone();
    assert_eq!(file["tools"].as_array().unwrap().len(), 4);
    assert_eq!(file["enabled"], true);
    let text = run(&home, &["tools", "list"]).ok().out;
    assert!(
        text.lines()
            .any(|line| line.starts_with("terminal") && line.ends_with("(off)")),
        "{text}"
    );
}
