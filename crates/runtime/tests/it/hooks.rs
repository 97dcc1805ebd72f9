//! Hooks in whole turns.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use talaria_runtime::Open;
use talaria_types::{ApprovalAnswer, Event, ExitReason, Op};

use crate::rig::{Rig, Talk};

/// A rig with hooks in `config.yaml`, all of them allowed.
fn rig(steps: &Value, hooks: &str) -> Rig {
    Rig::with_config(steps, &format!("hooks_auto_accept: true\nhooks:\n{hooks}"))
}

fn script(rig: &Rig, name: &str, text: &str) {
    std::fs::write(rig.home.work().join(name), text).unwrap();
}

fn calls(command: &str) -> Value {
    json!([{"tool_calls": [{"name": "terminal", "args": {"command": command}}]}, {"text": "done"}])
}

/// What the model read as the result of its first call.
fn first_result(rig: &Rig) -> String {
    let requests = rig.server.main_requests();
    let messages = requests.last().unwrap().messages();
    let tool = messages.iter().find(|message| message["role"] == "tool").unwrap();
    tool["content"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_ends_with_2_blocks_the_call_and_the_model_reads_why() {
    let rig = rig(
        &calls("touch made"),
        "  pre_tool_call:\n  - {command: 'sh check.sh', matcher: terminal}\n",
    );
    script(
        &rig,
        "check.sh",
        "grep -q 'touch made' && { echo 'nothing is made on Fridays' >&2; exit 2; }",
    );
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("make it").await;
    assert!(result.completed);
    assert!(!rig.home.work().join("made").exists());
    assert_eq!(
        first_result(&rig),
        r#"{"error":"BLOCKED by a hook: nothing is made on Fridays"}"#
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_hangs_does_not_cost_the_turn_and_is_told_once() {
    let rig = rig(
        &calls("touch made"),
        "  pre_tool_call:\n  - {command: 'sleep 600', timeout: 1}\n  post_tool_call:\n  - {command: 'sh -c \"exit 7\"'}\n",
    );
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("make it").await;
    assert!(result.completed && rig.home.work().join("made").exists());
    let told: Vec<&String> = result
        .warnings
        .iter()
        .filter(|text| text.starts_with("hook "))
        .collect();
    assert_eq!(told.len(), 2, "{:?}", result.warnings);
    assert!(told[0].contains("took longer than 1 s") && told[1].contains("exited with 7"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_fails_closed_blocks_when_it_gives_no_answer() {
    let rig = rig(
        &calls("touch made"),
        "  pre_tool_call:\n  - {command: /no/such/program, on_failure: block}\n",
    );
    Talk::open(&rig.engine(), Open::New).await.turn("make it").await;
    assert!(!rig.home.work().join("made").exists());
    assert!(first_result(&rig).contains("set to refuse when it gives no answer"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewritten_arguments_go_through_approvals() {
    let rig = rig(
        &calls("echo harmless"),
        "  pre_tool_call:\n  - {command: 'sh rewrite.sh'}\n",
    );
    let path = rig.home.path().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, config.replace("mode: \"off\"", "mode: manual")).unwrap();
    std::fs::create_dir(rig.home.work().join("built")).unwrap();
    script(
        &rig,
        "rewrite.sh",
        r#"echo '{"args": {"command": "rm -rf ./built"}}'"#,
    );
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt { content: "go".into() });
    let asked = talk
        .until(|event| matches!(event, Event::ApprovalRequested(_)))
        .await;
    let Event::ApprovalRequested(request) = asked else {
        unreachable!()
    };
    assert_eq!(request.command, "rm -rf ./built");
    talk.handle.send(Op::Approve {
        id: request.id,
        answer: ApprovalAnswer::Deny,
    });
    talk.rest().await;
    assert!(rig.home.work().join("built").exists());
    // The conversation keeps what the model said.
    assert!(
        rig.server.main_requests().last().unwrap().messages()[2]
            .to_string()
            .contains("echo harmless")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rewritten_arguments_that_make_no_sense_run_nothing() {
    let rig = rig(
        &calls("touch made"),
        "  pre_tool_call:\n  - {command: 'sh rewrite.sh'}\n",
    );
    script(&rig, "rewrite.sh", r#"echo '{"args": {"nonsense": [1]}}'"#);
    Talk::open(&rig.engine(), Open::New).await.turn("go").await;
    assert!(!rig.home.work().join("made").exists());
    assert!(first_result(&rig).contains("invalid arguments for terminal"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_may_leave_a_call_to_the_person() {
    let rig = rig(
        &calls("touch made"),
        "  pre_tool_call:\n  - {command: 'sh ask.sh'}\n",
    );
    let path = rig.home.path().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, config.replace("mode: \"off\"", "mode: manual")).unwrap();
    script(
        &rig,
        "ask.sh",
        r#"echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it is late"}}'"#,
    );
    // Nobody is there to decide.
    Talk::open(&rig.engine(), Open::New).await.turn("go").await;
    assert!(!rig.home.work().join("made").exists());
    assert!(first_result(&rig).contains("it is late"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_hook_adds_is_sent_with_the_prompt_and_again_byte_for_byte() {
    let rig = rig(
        &json!([{"text": "one"}, {"text": "two"}]),
        "  pre_llm_call:\n  - {command: 'sh context.sh'}\n",
    );
    script(
        &rig,
        "context.sh",
        r#"echo "{\"context\": \"it is turn $(date +%N)\"}""#,
    );
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let (_, result) = talk.turn("first").await;
    talk.turn("second").await;
    let requests = rig.server.main_requests();
    let sent = |request: usize| {
        requests[request].messages()[1]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(sent(0).starts_with("first\n\nit is turn "), "{}", sent(0));
    assert_eq!(sent(0), sent(1));
    let rows = engine.store().live(&result.session_id).unwrap();
    assert_eq!(rows[0].message.content.text(), "first");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_are_changed_before_they_are_stored_and_stay_the_same() {
    let rig = rig(
        &json!([{"tool_calls": [{"name": "terminal", "args": {"command": "echo secret-plan"}}]}, {"text": "a"}, {"text": "b"}]),
        "  transform_terminal_output:\n  - {command: 'sh cut.sh'}\n  post_tool_call:\n  - {command: 'sh note.sh'}\n  \
         transform_llm_output:\n  - {command: 'sh shout.sh'}\n",
    );
    script(&rig, "cut.sh", r#"echo '{"output": "[cut]"}'"#);
    script(&rig, "note.sh", r#"echo '{"context": "formatted"}'"#);
    script(&rig, "shout.sh", r#"echo '{"response_text": "LOUD"}'"#);
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let (events, result) = talk.turn("go").await;
    assert_eq!(result.final_response.as_deref(), Some("LOUD"));
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::MessageDelta { .. })),
        "what was replaced was not shown before"
    );
    talk.turn("on").await;
    let text = first_result(&rig);
    assert!(
        text.contains("[cut]") && text.ends_with("[hook] formatted") && !text.contains("secret-plan"),
        "{text}"
    );
    let rows = engine.store().live(&result.session_id).unwrap();
    assert_eq!(rows[2].message.content.text(), text);
    assert_eq!(
        rows[3].message.content.text(),
        "a",
        "the history keeps what the model said"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_prompt_is_not_sent_and_not_kept() {
    let rig = rig(
        &json!([{"text": "never"}]),
        "  pre_llm_call:\n  - {command: 'sh -c \"echo no keys here >&2; exit 2\"'}\n",
    );
    let engine = rig.engine();
    let (_, result) = Talk::open(&engine, Open::New).await.turn("my key is…").await;
    assert_eq!(result.exit_reason, ExitReason::Refused);
    assert_eq!(
        result.error.unwrap().message,
        "a hook refused this prompt: no keys here"
    );
    assert!(rig.server.main_requests().is_empty());
    assert!(engine.store().live(&result.session_id).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claude_code_s_project_hooks_ask_once_and_then_work() {
    let rig = Rig::with_config(
        &json!([
            {"tool_calls": [{"name": "write_file", "args": {"path": "a.py", "content": "x"}}]},
            {"text": "done"}, {"text": "fixed"},
        ]),
        "",
    );
    let folder = rig.home.work().join(".claude/hooks");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = json!({"hooks": {
        "PreToolUse": [{"matcher": "Edit|Write", "hooks": [
            {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh", "timeout": 20},
        ]}],
        "Stop": [{"hooks": [{"type": "command", "command": "sh \"$CLAUDE_PROJECT_DIR\"/.claude/hooks/stop.sh"}]}],
    }});
    std::fs::write(
        rig.home.work().join(".claude/settings.json"),
        settings.to_string(),
    )
    .unwrap();
    let guard = "#!/bin/sh\ntold=$(cat)\ncase \"$told\" in *'\"tool_name\":\"Write\"'*'\"file_path\":\"a.py\"'*) \
                 echo 'no python' >&2; exit 2;; esac\n";
    std::fs::write(folder.join("guard.sh"), guard).unwrap();
    std::fs::write(
        folder.join("stop.sh"),
        "grep -q '\"stop_hook_active\":true' || { echo 'tests fail' >&2; exit 2; }\n",
    )
    .unwrap();
    std::fs::set_permissions(folder.join("guard.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt {
        content: "write it".into(),
    });
    let Event::QuestionAsked(question) = talk.until(|event| matches!(event, Event::QuestionAsked(_))).await
    else {
        unreachable!()
    };
    assert!(
        question.text.contains("settings.json") && question.text.contains("guard.sh"),
        "{}",
        question.text
    );
    talk.handle.send(Op::Reply {
        id: question.id,
        text: Some("allow".to_owned()),
    });
    let (events, result) = talk.rest().await;
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::QuestionAsked(_))),
        "one question for both"
    );
    assert!(!rig.home.work().join("a.py").exists());
    assert!(first_result(&rig).contains("no python"));
    assert_eq!(
        (result.final_response.as_deref(), result.api_calls),
        (Some("fixed"), 3)
    );
    let last = rig
        .server
        .main_requests()
        .last()
        .unwrap()
        .messages()
        .last()
        .unwrap()
        .clone();
    assert!(
        last["content"].as_str().unwrap().ends_with("tests fail"),
        "{last}"
    );
    // Another process asks nobody, and nobody is there to be asked.
    drop(talk);
    let again = rig.engine();
    let mut talk = Talk::open(&again, Open::New).await;
    talk.handle.send(Op::Shutdown);
    talk.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_s_hook_is_not_run_where_nobody_can_be_asked_and_says_so() {
    let rig = Rig::with_config(&calls("touch made"), "hooks_auto_accept: true\n");
    std::fs::create_dir(rig.home.work().join(".claude")).unwrap();
    let settings =
        json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch ran; exit 2"}]}]}});
    std::fs::write(
        rig.home.work().join(".claude/settings.json"),
        settings.to_string(),
    )
    .unwrap();
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("go").await;
    assert!(rig.home.work().join("made").exists() && !rig.home.work().join("ran").exists());
    assert!(
        result.warnings.iter().any(|text| text.contains("is not run")),
        "{:?}",
        result.warnings
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_is_sent_back_to_work_three_times_at_most() {
    let steps: Vec<Value> = (0..6).map(|_| json!({"text": "done"})).collect();
    let rig = rig(
        &json!(steps),
        "  pre_verify:\n  - {command: 'sh -c \"echo more >&2; exit 2\"'}\n",
    );
    let (_, result) = Talk::open(&rig.engine(), Open::New).await.turn("go").await;
    assert_eq!((result.api_calls, result.completed), (4, true));
    assert!(
        result.warnings.iter().any(|text| text.contains("the turn ends")),
        "{:?}",
        result.warnings
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_life_of_a_session_is_told_in_order() {
    let events = [
        "on_session_start",
        "pre_llm_call",
        "pre_api_request",
        "post_api_request",
        "pre_tool_call",
        "post_tool_call",
        "post_llm_call",
        "on_session_end",
        "on_session_reset",
        "on_session_finalize",
    ];
    let hooks: String = events
        .iter()
        .map(|event| format!("  {event}:\n  - {{command: 'sh log.sh {event}'}}\n"))
        .collect();
    let rig = rig(&calls("true"), &hooks);
    script(&rig, "log.sh", "cat > told.$1; echo $1 >> log");
    let mut talk = Talk::open(&rig.engine(), Open::New).await;
    talk.turn("go").await;
    let done = talk.handle.hooks_done();
    talk.handle.send(Op::Command {
        name: "new".to_owned(),
        args: String::new(),
    });
    talk.handle.send(Op::Shutdown);
    talk.ended().await;
    done.await;
    let log = std::fs::read_to_string(rig.home.work().join("log")).unwrap();
    let mut lines: Vec<&str> = log.lines().collect();
    assert_eq!(
        lines
            .iter()
            .filter(|line| **line == "on_session_finalize")
            .count(),
        2
    );
    assert_eq!(&lines[..2], ["on_session_start", "pre_llm_call"]);
    lines.sort_unstable();
    lines.dedup();
    let mut all = events.to_vec();
    all.sort_unstable();
    assert_eq!(lines, all);
    let told: Value = serde_json::from_str(
        &std::fs::read_to_string(rig.home.work().join("told.post_api_request")).unwrap(),
    )
    .unwrap();
    assert_eq!(told["extra"]["finish_reason"], "stop");
}
