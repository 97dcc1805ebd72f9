use std::time::Duration;

use serde_json::{Value, json};
use talaria_types::ToolCall;

use super::*;
use crate::builtin::terminal::tests::{Desk, is_running};

impl Desk {
    async fn process(&self, args: Value) -> Value {
        let call = ToolCall {
            id: "call_2".into(),
            name: "process".into(),
            arguments: args.to_string(),
            extra: Map::new(),
        };
        let cx = ToolContext {
            call: &call,
            session: &self.session,
            host: &self.host,
            inner: None,
            cancel: &self.cancel,
        };
        let output = Process
            .run(serde_json::from_value(args).unwrap(), &cx)
            .await
            .unwrap();
        serde_json::from_str(&output.content.text()).unwrap()
    }

    async fn background(&self, command: &str) -> String {
        self.start(json!({"command": command, "background": true})).await
    }

    async fn start(&self, args: Value) -> String {
        let started = self.result(args).await;
        assert_eq!(started["output"], "Background process started", "{started}");
        let id = started["session_id"].as_str().unwrap().to_owned();
        assert!(id.len() == 17 && id.starts_with("proc_") && started["pid"].is_u64());
        id
    }
}

#[tokio::test]
async fn a_process_is_fed_waited_for_and_read() {
    let desk = Desk::new();
    let id = desk
        .background("echo ready-$((1+1)); read x; echo got-$x; exit 5")
        .await;
    let sent = desk
        .process(json!({"action": "submit", "session_id": id, "data": "hello"}))
        .await;
    assert_eq!(sent, json!({"status": "ok", "bytes_written": 6}));
    let waited = desk
        .process(json!({"action": "wait", "session_id": id, "timeout": 10}))
        .await;
    assert_eq!(
        (&waited["status"], &waited["exit_code"]),
        (&json!("exited"), &json!(5))
    );
    let log = desk.process(json!({"action": "log", "session_id": id})).await;
    assert_eq!(log["output"], "ready-2\ngot-hello");
    assert_eq!(
        (&log["total_lines"], &log["showing"]),
        (&json!(2), &json!("lines 1-2"))
    );
    let poll = desk.process(json!({"action": "poll", "session_id": id})).await;
    assert_eq!(
        (&poll["status"], &poll["exit_code"]),
        (&json!("exited"), &json!(5))
    );
    let late = desk
        .process(json!({"action": "write", "session_id": id, "data": "x"}))
        .await;
    assert_eq!(late["status"], "already_exited");
}

#[tokio::test]
async fn a_killed_process_is_gone_with_its_children() {
    let desk = Desk::new();
    let id = desk
        .background("setsid sleep 64.731 & echo $!; exec sleep 64.731")
        .await;
    let mut child = None;
    while child.is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let poll = desk.process(json!({"action": "poll", "session_id": id})).await;
        child = poll["output_preview"]
            .as_str()
            .unwrap()
            .trim()
            .parse::<u32>()
            .ok();
    }
    let killed = desk.process(json!({"action": "kill", "session_id": id})).await;
    assert_eq!(
        killed,
        json!({"session_id": id, "status": "killed", "exit_code": -15})
    );
    let poll = desk.process(json!({"action": "poll", "session_id": id})).await;
    assert_eq!(
        (&poll["status"], &poll["exit_code"]),
        (&json!("exited"), &json!(-15))
    );
    assert!(!is_running(u32::try_from(poll["pid"].as_u64().unwrap()).unwrap()));
    assert!(!is_running(child.unwrap()), "the child in a session of its own");
    let again = desk.process(json!({"action": "kill", "session_id": id})).await;
    assert_eq!(again["status"], "already_exited");
}

#[tokio::test]
async fn all_processes_are_listed_and_unknown_ones_are_not_found() {
    let desk = Desk::new();
    let first = desk.background("sleep 65.5").await;
    let second = desk.background("exit 3").await;
    desk.process(json!({"action": "wait", "session_id": second}))
        .await;
    let list = desk.process(json!({"action": "list"})).await;
    let all = list["processes"].as_array().unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(
        (&all[0]["session_id"], &all[0]["status"]),
        (&json!(first), &json!("running"))
    );
    assert_eq!(
        (&all[1]["status"], &all[1]["exit_code"]),
        (&json!("exited"), &json!(3))
    );
    assert_eq!(all[0]["cwd"], json!(desk.session.cwd().to_str().unwrap()));
    let unknown = desk
        .process(json!({"action": "poll", "session_id": "proc_0"}))
        .await;
    assert_eq!(unknown["status"], "not_found");
    let pid = u32::try_from(all[0]["pid"].as_u64().unwrap()).unwrap();
    desk.session.shutdown();
    assert!(!is_running(pid));
}

#[tokio::test]
async fn a_wait_ends_with_its_time_or_with_the_turn() {
    let desk = Desk::with(None, |settings| settings.terminal_timeout_s = 1);
    let id = desk.background("echo begun; sleep 66.5").await;
    let waited = desk
        .process(json!({"action": "wait", "session_id": id, "timeout": 500}))
        .await;
    assert_eq!(waited["status"], "timeout");
    assert!(waited["timeout_note"].as_str().unwrap().contains("at most 1"));
    desk.cancel.cancel();
    let waited = desk.process(json!({"action": "wait", "session_id": id})).await;
    assert_eq!(waited["status"], "interrupted");
}

#[tokio::test]
async fn a_closed_input_lets_a_reader_end() {
    let desk = Desk::new();
    let id = desk.background("cat; echo over").await;
    assert_eq!(
        desk.process(json!({"action": "write", "session_id": id, "data": "abc"}))
            .await["bytes_written"],
        3
    );
    assert_eq!(
        desk.process(json!({"action": "close", "session_id": id})).await["status"],
        "ok"
    );
    let waited = desk.process(json!({"action": "wait", "session_id": id})).await;
    assert_eq!(waited["output"], "abcover\n");
}

#[tokio::test]
async fn a_process_on_a_terminal_reads_what_is_typed() {
    let desk = Desk::new();
    let args = json!({"command": "[ -t 0 ] && read x && echo got-$x", "background": true, "pty": true});
    let id = desk.start(args).await;
    desk.process(json!({"action": "submit", "session_id": id, "data": "typed"}))
        .await;
    let waited = desk.process(json!({"action": "wait", "session_id": id})).await;
    assert!(
        waited["output"].as_str().unwrap().ends_with("got-typed\n"),
        "{waited}"
    );
}

#[tokio::test]
async fn what_is_sent_to_a_shell_is_judged_like_a_command() {
    let desk = Desk::new();
    let shell = desk.background("bash").await;
    let sent = desk
        .process(json!({"action": "submit", "session_id": shell, "data": "false && rm -rf /"}))
        .await;
    assert_eq!(sent["status"], "blocked");
    let other = desk.background("cat").await;
    let sent = desk
        .process(json!({"action": "submit", "session_id": other, "data": "false && rm -rf /"}))
        .await;
    assert_eq!(sent["status"], "ok");
}

#[tokio::test]
async fn the_end_of_a_process_is_announced_once_unless_the_model_saw_it() {
    let desk = Desk::new();
    let announced = json!({"command": "echo result; exit 7", "background": true, "notify_on_complete": true});
    let id = desk.start(announced.clone()).await;
    let job = desk.session.processes().find(&id).unwrap();
    job.ended().await;
    let notices = desk.session.processes().take_notices();
    let expected = format!(
        "[IMPORTANT: Background process {id} completed (exit code 7).\nCommand: echo result; exit 7\nOutput:\nresult]"
    );
    assert_eq!(notices, [expected]);
    assert_eq!(desk.session.processes().take_notices(), Vec::<String>::new());
    let seen = desk.start(announced).await;
    desk.process(json!({"action": "wait", "session_id": seen})).await;
    assert_eq!(desk.session.processes().take_notices(), Vec::<String>::new());
}

#[tokio::test]
async fn a_watched_word_is_announced() {
    let desk = Desk::new();
    let args = json!({"command": "echo server ready on 80; read x", "background": true, "watch_patterns": ["ready"]});
    let id = desk.start(args).await;
    let mut notices = Vec::new();
    while notices.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
        notices = desk.session.processes().take_notices();
    }
    assert!(notices[0].contains(&id) && notices[0].contains("server ready on 80"));
}

#[tokio::test]
async fn ended_processes_make_room_and_running_ones_do_not() {
    let desk = Desk::new();
    let first = desk.background("exit 0").await;
    desk.process(json!({"action": "wait", "session_id": first})).await;
    for _ in 0..63 {
        desk.background("read x").await;
    }
    desk.background("read x").await;
    assert!(desk.session.processes().find(&first).is_none());
    let refused = desk
        .call(json!({"command": "read x", "background": true}))
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("64 background processes"),
        "{refused}"
    );
}
