use super::*;
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
};

struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The data of the events of a stream.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}

/// Sends one request on a connection of its own and reads to the end.
fn send(server: &MockServer, method: &str, path: &str, body: &str) -> Reply {
    let mut socket = TcpStream::connect(server.address).unwrap();
    let length = body.len();
    write!(
        socket,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer secret-0123456789\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut bytes = Vec::new();
    // A reset is one of the things a scenario does.
    let _ = socket.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or(0);
    let body = if head.contains("chunked") {
        unchunked(body)
    } else {
        body.to_owned()
    };
    Reply {
        status,
        head: head.to_owned(),
        body,
    }
}

fn unchunked(mut text: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let Ok(size) = usize::from_str_radix(size, 16) else {
            break;
        };
        let size = size.min(rest.len());
        body.push_str(rest.get(..size).unwrap_or_default());
        text = rest.get(size + 2..).unwrap_or_default();
    }
    body
}

fn ask(server: &MockServer, body: &Value) -> Reply {
    send(server, "POST", "/v1/chat/completions", &body.to_string())
}

fn chat(text: &str, stream: bool) -> Value {
    json!({"model": "m", "stream": stream, "stream_options": {"include_usage": true},
           "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": text}],
           "tools": [{"type": "function", "function": {"name": "read_file", "parameters": {"properties": {"path": {}}}}}]})
}

fn scenario(value: Value) -> MockServer {
    MockServer::start(Scenario::from_value(value).unwrap()).unwrap()
}

#[test]
fn steps_are_answered_in_order_and_done_follows_the_last() {
    let server = scenario(json!({"steps": [{"text": "one"}, {"text": "two"}]}));
    let text = |reply: Reply| reply.json()["choices"][0]["message"]["content"].clone();
    let texts: Vec<Value> = (0..3).map(|_| text(ask(&server, &chat("hi", false)))).collect();
    assert_eq!(texts, ["one", "two", "done"]);
    let records = server.main_requests();
    assert_eq!(records.len(), 3);
    assert_eq!(records[2].status, Some(200));
    assert_eq!(
        records[0].header("authorization"),
        Some("Bearer secret-0123456789")
    );
}

#[test]
fn a_stream_carries_text_calls_usage_and_its_end_mark() {
    let call = json!({"any_of": [{"name": "other", "args": {}}, {"name": "read_file", "fit": true,
                      "args": {"path": "f{i:03d}", "file_path": "x"}}]});
    let server = scenario(
        json!({"steps": [{"text": "ünïcode 漢字", "reasoning": "hm", "tool_calls": [call],
                                            "usage": {"prompt": 9, "cached": 4}}]}),
    );
    let reply = ask(&server, &chat("hi", true));
    assert!(reply.head.contains("text/event-stream"));
    assert!(reply.body.ends_with("data: [DONE]\n\n"));
    let events = reply.events();
    let joined = |path: &str| -> String {
        events
            .iter()
            .filter_map(|event| event.pointer(path)?.as_str())
            .collect()
    };
    assert_eq!(joined("/choices/0/delta/content"), "ünïcode 漢字");
    assert_eq!(joined("/choices/0/delta/reasoning_content"), "hm");
    assert_eq!(joined("/choices/0/delta/tool_calls/0/function/name"), "read_file");
    assert_eq!(
        joined("/choices/0/delta/tool_calls/0/function/arguments"),
        r#"{"path":"f000"}"#
    );
    assert_eq!(joined("/choices/0/finish_reason"), "tool_calls");
    assert_eq!(
        events.last().unwrap()["usage"]["prompt_tokens_details"]["cached_tokens"],
        4
    );
}

#[test]
fn the_other_protocols_answer_in_their_own_words() {
    let server = scenario(
        json!({"cursor": "stateless", "steps": [{"text": "t", "reasoning": "r",
                                 "tool_calls": [{"name": "f", "args": {"a": 1}}]}]}),
    );
    let post = |path: &str, body: Value| send(&server, "POST", path, &body.to_string());
    let user = json!([{"role": "user", "content": "u"}]);
    let tool = json!([{"name": "f", "input_schema": {}}]);
    let body = post(
        "/v1/messages",
        json!({"model": "m", "messages": user, "tools": tool}),
    )
    .json();
    assert_eq!(body["content"][2]["input"], json!({"a": 1}));
    assert_eq!(body["stop_reason"], "tool_use");
    let stream = post(
        "/v1/messages",
        json!({"model": "m", "messages": user, "tools": tool, "stream": true}),
    );
    assert!(stream.body.contains("event: content_block_delta") && stream.body.contains("message_stop"));
    let tool = json!([{"type": "function", "name": "f"}]);
    let body = post(
        "/v1/responses",
        json!({"model": "m", "input": "u", "tools": tool}),
    )
    .json();
    assert_eq!(body["output"][2]["arguments"], r#"{"a":1}"#);
    let stream = post(
        "/v1/responses",
        json!({"model": "m", "input": "u", "tools": tool, "stream": true}),
    );
    let kinds: Vec<Value> = stream
        .events()
        .iter()
        .map(|event| event["type"].clone())
        .collect();
    assert!(kinds.contains(&json!("response.function_call_arguments.delta")));
    assert_eq!(kinds.last(), Some(&json!("response.completed")));
    let contents = json!({"contents": [{"role": "user", "parts": [{"text": "u"}]}],
                          "tools": [{"functionDeclarations": [{"name": "f"}]}]});
    let body = post("/v1beta/models/g:generateContent", contents.clone()).json();
    assert_eq!(
        body["candidates"][0]["content"]["parts"][2]["functionCall"]["args"],
        json!({"a": 1})
    );
    let stream = post("/v1beta/models/g:streamGenerateContent?alt=sse", contents);
    assert_eq!(
        stream.events().last().unwrap()["candidates"][0]["finishReason"],
        "STOP"
    );
    assert_eq!(server.requests().last().unwrap().model, "g");
}

#[test]
fn a_loop_calls_by_the_number_of_results_when_it_is_stateless() {
    let server = scenario(
        json!({"cursor": "stateless", "loop": {"n": 2, "call": {"name": "read_file",
                                 "args": {"path": "f{i}"}}, "final": {"text": "all read"}}}),
    );
    let first = ask(&server, &chat("go", false)).json();
    let call = &first["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], r#"{"path":"f0"}"#);
    let mut body = chat("go", false);
    let messages = body["messages"].as_array_mut().unwrap();
    for id in ["a", "b"] {
        let mut made = call.clone();
        made["id"] = json!(id);
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [made]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": "r"}));
    }
    assert_eq!(
        ask(&server, &body).json()["choices"][0]["message"]["content"],
        "all read"
    );
}

#[test]
fn rules_and_side_tasks_answer_before_the_steps() {
    let server = scenario(json!({
        "steps": [{"text": "step"}], "tasks": {"title": [{"text": "T1"}, {"text": "T2"}]},
        "match": [{"name": "boom", "when": {"last_user": "boom"}, "times": 1, "respond": {"status": 429,
                   "headers": {"retry-after": 2}, "error": {"message": "slow down", "code": "c"}}}]}));
    let refused = ask(&server, &chat("boom", true));
    assert_eq!(
        (refused.status, refused.json()["error"]["code"].clone()),
        (429, json!("c"))
    );
    assert!(refused.head.contains("retry-after: 2"));
    let mut title = chat("write a title", false);
    title.as_object_mut().unwrap().remove("tools");
    let titles: Vec<Value> = (0..3)
        .map(|_| ask(&server, &title).json()["choices"][0]["message"]["content"].clone())
        .collect();
    assert_eq!(titles, ["T1", "T2", "T2"]);
    assert_eq!(
        ask(&server, &chat("boom", false)).json()["choices"][0]["message"]["content"],
        "step"
    );
}

#[test]
fn a_limit_is_enforced_in_the_words_of_the_named_provider() {
    for (shape, words) in [
        ("openai", "maximum context length is 10"),
        ("commas", "context size is 10"),
        ("anthropic", "> 10 maximum"),
        ("llamacpp", "(10 tokens)"),
        ("empty", ""),
    ] {
        let server = scenario(json!({"enforce": {"limit": 10, "shape": shape, "times": 1}}));
        let reply = ask(&server, &chat("a long question", false));
        assert_eq!(reply.status, 400, "{shape}");
        assert!(reply.body.contains(words), "{shape}: {}", reply.body);
        assert_eq!(
            ask(&server, &chat("a long question", false)).status,
            200,
            "{shape}"
        );
    }
}

#[test]
fn a_strict_server_refuses_what_a_provider_would() {
    let server = scenario(json!({"strict": true})).allowing("alternation");
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]});
    let reply = ask(&server, &body);
    assert_eq!(reply.status, 500);
    assert!(reply.body.contains("must alternate"));
}

#[test]
#[should_panic(expected = "requests broke the rules")]
fn a_broken_request_fails_the_test_that_sent_it() {
    let server = scenario(json!({}));
    ask(&server, &json!({"model": "m", "messages": []}));
}

#[test]
fn streams_are_cut_stalled_and_fragmented_as_told() {
    let server = scenario(json!({"steps": [
        {"text": "a long answer that is cut in the middle of it all", "drop_after": 2},
        {"text": "x", "drop_after": 0}, {"text": "x", "drop_after": 1, "drop": "rst"},
        {"text": "漢字漢字", "fragment": 3, "ping_ms": 1, "first_ms": 2},
        {"text": "x", "error_after": 1, "error": "broke"}, {"raw": ["data: {bad", ""]}, {"empty": true}]}));
    let reply = ask(&server, &chat("hi", true));
    assert!(reply.body.contains("a long answer") && !reply.body.contains("[DONE]"));
    assert_eq!(ask(&server, &chat("hi", true)).status, 0);
    assert!(!ask(&server, &chat("hi", true)).body.contains("[DONE]"));
    let reply = ask(&server, &chat("hi", true));
    assert!(reply.body.contains(":ping") && reply.body.contains("漢字漢字"));
    assert!(ask(&server, &chat("hi", true)).body.contains("broke"));
    assert_eq!(ask(&server, &chat("hi", true)).body, "data: {bad\n\n");
    assert_eq!(ask(&server, &chat("hi", true)).body, "");
}

#[test]
fn a_client_that_leaves_is_recorded_as_gone() {
    let server = scenario(json!({"steps": [{"hang": true}]}));
    let body = chat("hi", true).to_string();
    let mut socket = TcpStream::connect(server.address).unwrap();
    write!(
        socket,
        "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    while server.requests().is_empty() {
        std::thread::yield_now();
    }
    drop(socket);
    while !server.requests()[0].gone {
        std::thread::yield_now();
    }
    assert_eq!(server.requests()[0].status, None);
}

#[test]
fn the_control_paths_tell_and_set_and_are_no_traffic() {
    let server = scenario(json!({"steps": [{"text": "one"}]}));
    let control =
        |method: &str, path: &str, body: &str| send(&server, method, &format!("/__mock/{path}"), body);
    ask(&server, &chat("hi", false));
    assert_eq!(control("GET", "state", "").json()["tasks"], json!({"main": 1}));
    control("POST", "reset", "");
    assert_eq!(
        ask(&server, &chat("hi", false)).json()["choices"][0]["message"]["content"],
        "one"
    );
    control("POST", "mark/late", "");
    assert_eq!(
        control("POST", "scenario", r#"{"steps": [{"text": "new"}]}"#).json()["steps"],
        1
    );
    assert_eq!(control("POST", "scenario", "nonsense").status, 400);
    assert_eq!(
        ask(&server, &chat("hi", false)).json()["choices"][0]["message"]["content"],
        "new"
    );
    assert_eq!(server.requests().last().unwrap().mark, "late");
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn models_are_listed_for_each_reader() {
    let server = scenario(json!({"models": ["a", {"id": "b", "context_length": 5}], "context_length": 9}));
    let get = |path: &str| send(&server, "GET", path, "");
    assert_eq!(get("/v1/models").json()["data"][0]["context_length"], 9);
    assert_eq!(get("/v1/models/b").json()["max_model_len"], 5);
    assert_eq!(get("/v1beta/models").json()["models"][0]["name"], "models/a");
    assert_eq!(get("/api/v1/models").status, 404);
    assert_eq!(get("/v1/models/none").status, 404);
}

#[test]
fn the_log_holds_bodies_byte_for_byte_and_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let server = MockServer::start_with_log(Scenario::of([Step::say("x")]), Some(&path)).unwrap();
    let body = r#"{"model": "m",  "messages": [{"role":"user","content":"\u00fc"}]}"#;
    send(&server, "POST", "/v1/chat/completions", body);
    drop(server);
    let log = std::fs::read_to_string(&path).unwrap();
    assert!(log.ends_with(&format!(", \"body\": {body}}}\n")), "{log}");
    assert!(
        log.contains("Bearer secr…(17:") && !log.contains("secret-0123"),
        "{log}"
    );
}

#[test]
fn a_scenario_that_is_none_says_why() {
    let error = Scenario::from_json("{\"steps\": [{\"text\": 5}]}").unwrap_err();
    assert!(error.to_string().contains("invalid type"), "{error}");
    assert!(Scenario::from_json("{\"match\": [{\"when\": {\"any\": \"(\"}}]}").is_err());
}
