use serde_json::json;

use super::*;

fn read(written: &Value) -> Result<ServerSettings, McpError> {
    let lookup = |name: &str| (name == "TOKEN").then(|| "tok-12345678".to_owned());
    ServerSettings::read("s", written, Source::Config, &lookup)
}

#[test]
fn both_shapes_are_read_and_numbers_are_texts_where_texts_are_meant() {
    let settings =
        read(&json!({"command": "node", "args": ["x.js", 8080], "env": {"PORT": 1, "A": "${TOKEN}"}}))
            .unwrap();
    let Door::Stdio { args, env, .. } = &settings.door else {
        panic!()
    };
    assert_eq!(
        (args[1].as_str(), env["PORT"].as_str(), env["A"].as_str()),
        ("8080", "1", "tok-12345678")
    );
    assert_eq!(
        (settings.timeout.as_secs(), settings.connect_timeout.as_secs()),
        (120, 60)
    );
    let settings = read(&json!({"type": "sse", "url": "https://x.example/sse?k=1", "headers": {"Authorization": "Bearer ${TOKEN}"}})).unwrap();
    assert_eq!(
        (settings.transport(), settings.shown().as_str()),
        ("sse", "https://x.example/sse")
    );
    assert_eq!(settings.secrets(), ["tok-12345678"]);
}

#[test]
fn what_makes_no_sense_is_told_with_the_servers_name() {
    for (written, part) in [
        (json!({}), "neither a command nor a url"),
        (
            json!({"command": "a", "url": "http://x"}),
            "leave one of them out",
        ),
        (json!({"url": "ftp://x"}), "ftp:"),
        (json!({"url": "http://x", "transport": "pigeon"}), "pigeon"),
        (json!({"command": "a", "args": "x"}), "invalid type"),
        (
            json!({"command": "a", "env": {"K": "${MISSING}"}}),
            "${MISSING} is not set",
        ),
        (json!({"command": "a", "timeout": -1}), "timeout"),
        (json!("text"), "invalid type"),
    ] {
        let error = read(&written).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("\"s\""), "{error}");
    }
}

#[test]
fn an_include_list_wins_over_an_exclude_list_and_an_empty_one_offers_nothing() {
    let offers = |tools: Value| {
        let settings = read(&json!({"command": "a", "tools": tools})).unwrap();
        ["x", "y"].map(|tool| settings.offers(tool))
    };
    assert_eq!(offers(json!({})), [true, true]);
    assert_eq!(offers(json!({"exclude": ["x"]})), [false, true]);
    assert_eq!(offers(json!({"include": "x", "exclude": ["x"]})), [true, false]);
    assert_eq!(offers(json!({"include": []})), [false, false]);
}

#[test]
fn a_variable_that_is_not_set_may_have_another_value() {
    let settings = read(&json!({"command": "${NONE:-node}"})).unwrap();
    assert_eq!(settings.shown(), "node");
}

#[test]
fn a_project_cannot_spare_itself_questions() {
    let written = json!({"command": "a", "trust": true});
    let trust = |source| {
        ServerSettings::read("s", &written, source, &|_| None)
            .unwrap()
            .trust
    };
    assert_eq!(
        (trust(Source::Config), trust(Source::Project)),
        (Some(true), None)
    );
}
