//! One turn from outside: streams, exit codes, events, signals.

use std::io::Read;

use serde_json::{Value, json};
use talaria_testkit::{MockServer, Scenario, Step};

use crate::program::{command, finish, home, run, run_with_input, settled, talking};

fn step(value: Value) -> Step {
    serde_json::from_value(value).unwrap()
}

fn calls(command: &str) -> Step {
    step(json!({"text": "Looking.", "tool_calls": [{"name": "terminal", "args": {"command": command}}]}))
}

#[test]
fn stdout_is_the_answer_and_nothing_else() {
    let answer = r#"{"a": 1, "b": [true, null]}"#;
    for args in [&["-z", "go", "--yolo"][..], &["chat", "-q", "go", "--yolo"]] {
        let (_server, home) = talking([calls("echo noise"), Step::say(answer)]);
        let ran = run(&home, args).ok();
        assert_eq!(ran.out, format!("{answer}\n"), "{args:?}");
        assert!(!ran.err.contains('\x1b'), "{}", ran.err);
    }
}

#[test]
fn chat_tells_tools_and_the_session_on_stderr() {
    let (_server, home) = talking([calls("echo noise"), Step::say("done")]);
    let ran = run(&home, &["chat", "-q", "go", "--yolo"]).ok();
    settled(&home, || {
        insta::assert_snapshot!(ran.told(), @r"
        done
        stderr: ┊ terminal: ran `echo noise` -> exit 0, 1 lines output  [duration]
        stderr: session [session]  (go on with: talaria -r [session])
        exit 0
        ");
    });
}

#[test]
fn a_oneshot_says_nothing_on_stderr_when_all_is_well() {
    let (_server, home) = talking([calls("echo noise"), Step::say("done")]);
    assert_eq!(run(&home, &["-z", "go", "--yolo"]).ok().told(), "done\nexit 0");
}

#[test]
fn the_prompt_comes_from_a_pipe_whole_or_after_the_typed_one() {
    let (server, home) = talking([Step::say("read"), Step::say("both")]);
    let ran = run_with_input(&home, &[], "A question\nwith two lines\n").ok();
    assert_eq!(ran.out, "read\n");
    run_with_input(&home, &["-z", "Summarise:"], "piped text\n").ok();
    let bodies: Vec<String> = server
        .main_requests()
        .iter()
        .map(|request| request.body.to_string())
        .collect();
    assert!(bodies[0].contains(r"A question\nwith two lines"), "{}", bodies[0]);
    assert!(bodies[1].contains(r"Summarise:\n\npiped text"), "{}", bodies[1]);
}

#[test]
fn a_failed_turn_exits_1_with_the_servers_words_on_both_streams() {
    let refusal = step(json!({"status": 401, "error": {"message": "Incorrect API key provided"}}));
    let (_server, home) = talking(vec![refusal; 8]);
    let ran = run(&home, &["chat", "-q", "go", "--json"]);
    assert_eq!(ran.code, 1);
    let result = ran.json();
    assert_eq!(result["failed"], true);
    assert!(
        result["error"]["message"]
            .as_str()
            .unwrap()
            .contains("Incorrect API key provided")
    );
    assert!(ran.err.contains("Incorrect API key provided"), "{}", ran.err);
}

#[test]
fn the_turn_limit_exits_4() {
    let (_server, home) = talking([calls("echo 1"), Step::say("a summary of it")]);
    let ran = run(&home, &["-z", "go", "--yolo", "--json", "--max-turns", "1"]);
    assert_eq!(ran.code, 4, "{}", ran.told());
    let result = ran.json();
    assert_eq!(
        (&result["completed"], &result["partial"]),
        (&json!(false), &json!(true))
    );
}

#[test]
fn an_unknown_session_title_toolset_folder_or_image_is_bad_usage_and_sends_nothing() {
    let (server, home) = talking([]);
    let wrong: [&[&str]; 7] = [
        &["-r", "20200101_000000_ffffff"],
        &["-c", "No such title"],
        &["-c"],
        &["-t", "no-such-toolset"],
        &["--cwd", "/no/such/folder"],
        &["--cwd", "/etc/passwd"],
        &["--image", "/no/such/picture.png"],
    ];
    for flags in wrong {
        let args: Vec<&str> = ["chat", "-q", "hi"].iter().chain(flags).copied().collect();
        let ran = run(&home, &args);
        assert!(ran.code == 2 && ran.out.is_empty(), "{flags:?}: {}", ran.told());
        let named = flags.last().unwrap().trim_start_matches('-');
        assert!(
            ran.err.contains(named) || *flags == ["-c"],
            "{flags:?}: {}",
            ran.err
        );
    }
    assert!(server.main_requests().is_empty());
}

#[test]
fn a_text_file_is_no_picture() {
    let (_server, home) = talking([]);
    let file = home.work().join("x.png");
    std::fs::write(&file, "text").unwrap();
    let ran = run(&home, &["-z", "look", "--image", file.to_str().unwrap()]);
    assert!(
        ran.code == 2 && ran.err.contains("is no PNG, JPEG, GIF or WebP"),
        "{}",
        ran.told()
    );
}

#[test]
fn events_are_numbered_objects_that_begin_and_end_with_the_turn() {
    let (_server, home) = talking([calls("echo 1"), Step::say("line one\nline two")]);
    let ran = run(&home, &["chat", "-q", "go", "--yolo", "--stream-json"]).ok();
    let events: Vec<Value> = ran
        .out
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let types: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(types.first(), Some(&"turn_started"));
    assert_eq!(types.last(), Some(&"turn_finished"));
    assert!(
        types.contains(&"tool_started")
            && types.contains(&"tool_finished")
            && types.contains(&"message_delta")
    );
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    assert_eq!(
        events.last().unwrap()["result"]["final_response"],
        "line one\nline two"
    );
}

#[test]
fn messages_are_what_the_next_request_would_start_from() {
    let (_server, home) = talking([Step::say("one")]);
    let result = run(&home, &["-z", "first", "--json", "--messages"]).ok().json();
    let told: Vec<(&str, &str)> = result["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            (
                message["role"].as_str().unwrap(),
                message["content"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [("user", "first"), ("assistant", "one")]);
}

#[test]
fn continue_takes_the_newest_session_and_resume_a_title() {
    let (server, home) = talking([
        Step::say("a"),
        Step::say("b"),
        Step::say("c"),
        Step::say("d"),
        Step::say("e"),
    ]);
    let id = |args: &[&str]| {
        run(&home, args).ok().json()["session_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let first = id(&["-z", "first session", "--json"]);
    run(&home, &["sessions", "rename", &first, "Alpha"]).ok();
    assert_eq!(id(&["-c", "-z", "more", "--json"]), first);
    assert_eq!(
        id(&["-c", "chat", "-q", "and more", "--json"]),
        first,
        "a command's name is no title"
    );
    let second = id(&["-z", "second session", "--json"]);
    assert_ne!(second, first);
    assert_eq!(id(&["--resume", "Alpha", "-z", "and more", "--json"]), first);
    let last = server.main_requests().last().unwrap().body.to_string();
    assert!(last.contains("first session") && !last.contains("second session"));
}

#[test]
fn an_interrupt_ends_the_turn_and_its_child_with_130() {
    let (server, home) = talking([calls("touch started; exec sleep 60")]);
    let child = command(&home, &["chat", "-q", "go", "--yolo", "--json"])
        .spawn()
        .unwrap();
    wait_until("the tool runs", || home.work().join("started").exists());
    interrupt(&child);
    let ran = finish(child);
    assert_eq!(ran.code, 130, "{}", ran.told());
    let result = ran.json();
    assert_eq!(
        (&result["interrupted"], &result["exit_reason"]),
        (&json!(true), &json!("interrupted"))
    );
    assert_eq!(server.main_requests().len(), 1);
}

#[test]
fn an_interrupt_before_the_first_byte_still_prints_a_result() {
    let (server, home) = talking([step(json!({"hang": true}))]);
    let child = command(&home, &["chat", "-q", "go", "--json"]).spawn().unwrap();
    wait_until("the request is there", || {
        !server.main_requests().is_empty() || !server.requests().is_empty()
    });
    interrupt(&child);
    let ran = finish(child);
    assert_eq!(ran.code, 130, "{}", ran.told());
    assert_eq!(ran.json()["interrupted"], true);
}

#[test]
fn a_reader_that_goes_away_early_is_no_crash() {
    let (_server, home) = talking([Step::say("long answer ".repeat(20_000))]);
    let mut child = command(&home, &["-z", "hi"]).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let ran = finish(child);
    assert!(ran.code == 0 && !ran.err.contains("panicked"), "{}", ran.told());
}

fn interrupt(child: &std::process::Child) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

/// Looks until it is so; the test's own limit is the runner's.
fn wait_until(what: &str, so: impl Fn() -> bool) {
    for _ in 0..3_000 {
        if so() {
            return;
        }
        std::thread::park_timeout(std::time::Duration::from_millis(10));
    }
    panic!("never: {what}");
}

#[test]
fn a_subscription_without_the_long_context_beta_is_asked_again_without_it() {
    // The beta is only asked for at Anthropic's own address; a proxy brings the request to the scripted server.
    let refusal = json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "The long context beta is not yet available for this subscription."}});
    let scenario = json!({"steps": [{"status": 400, "body": refusal}, {"text": "done"}]});
    let server = MockServer::start(Scenario::from_value(scenario).unwrap()).unwrap();
    let home = home(
        "model:\n  default: claude-opus-4-5\n  provider: anthropic\n  base_url: http://api.anthropic.com\n  \
         api_key: test-key-0000\n  context_length: 1000000\nauxiliary:\n  title_generation:\n    enabled: false\n",
    );
    let output = command(&home, &["-z", "hi", "--json"])
        .env("http_proxy", server.origin())
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["final_response"], "done", "{told}");
    assert_eq!(told["recoveries"][0]["row"], "oauth_long_context_beta");
    let requests = server.main_requests();
    let beta = |at: usize| {
        requests[at]
            .header("anthropic-beta")
            .unwrap_or_default()
            .to_owned()
    };
    assert!(
        beta(0).contains("context-1m") && !beta(1).contains("context-1m"),
        "{} {}",
        beta(0),
        beta(1)
    );
}
