use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use talaria_types::{ApprovalAnswer, ApprovalRequest, Question, ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::approval::{Mode, SmartVerdict};
use crate::{Host, JournalError, ToolSettings};

/// A host that answers questions as it is told and notes what it is told.
pub(crate) struct TestHost {
    answer: Option<ApprovalAnswer>,
    pub(crate) asked: Mutex<Vec<ApprovalRequest>>,
    pub(crate) pids: Mutex<Vec<u32>>,
}

impl TestHost {
    pub(crate) fn new(answer: Option<ApprovalAnswer>) -> Self {
        Self {
            answer,
            asked: Mutex::default(),
            pids: Mutex::default(),
        }
    }
}

impl Host for TestHost {
    fn intend(&self, _: &ToolCall, _: &str, _: Effect) -> Result<(), JournalError> {
        Ok(())
    }
    fn started(&self, _: &ToolCall, _: &str, _: &Value, _: Effect) -> Result<(), JournalError> {
        Ok(())
    }
    fn spawned(&self, _: &ToolCall, pid: u32) {
        self.pids.lock().unwrap().push(pid);
    }
    fn finished(&self, _: &ToolCall, _: &ToolResult) {}
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        self.asked.lock().unwrap().push(request);
        Box::pin(std::future::ready(self.answer.unwrap_or(ApprovalAnswer::Deny)))
    }
    fn can_ask(&self) -> bool {
        self.answer.is_some()
    }
    fn ask(&self, _: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
    fn status(&self, _: &str) {}
}

/// A session in a folder of its own.
pub(crate) struct Desk {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) session: Arc<ToolSession>,
    pub(crate) host: TestHost,
    pub(crate) cancel: CancellationToken,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with(None, |_| {})
    }

    pub(crate) fn with(answer: Option<ApprovalAnswer>, change: impl FnOnce(&mut ToolSettings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cwd = std::fs::canonicalize(folder.path()).unwrap().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let mut settings = ToolSettings::for_folder(folder.path().join("home"), cwd);
        settings.approval_mode = Mode::Manual;
        settings.session_id = "20260101_000000_abcdef".into();
        change(&mut settings);
        let session = ToolSession::new(settings);
        Self {
            folder,
            session,
            host: TestHost::new(answer),
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) async fn call(&self, args: Value) -> Result<ToolOutput, ToolError> {
        let call = ToolCall {
            id: "call_1".into(),
            name: "terminal".into(),
            arguments: args.to_string(),
            extra: serde_json::Map::new(),
        };
        let cx = ToolContext {
            call: &call,
            session: &self.session,
            host: &self.host,
            inner: None,
            cancel: &self.cancel,
        };
        Terminal.run(serde_json::from_value(args).unwrap(), &cx).await
    }

    async fn run(&self, command: &str) -> Value {
        self.result(json!({ "command": command })).await
    }

    pub(crate) async fn result(&self, args: Value) -> Value {
        let output = self.call(args).await.unwrap();
        serde_json::from_str(&output.content.text()).unwrap()
    }
}

fn text(value: &Value) -> &str {
    value["output"].as_str().unwrap()
}

#[tokio::test]
async fn a_command_answers_with_both_streams_and_its_exit_code() {
    let desk = Desk::new();
    let seen = desk.run("echo out; echo err >&2; exit 3").await;
    assert_eq!(
        seen,
        json!({"output": "out\nerr\n", "exit_code": 3, "error": null})
    );
    let missing = desk.run("definitely_not_a_command_9").await;
    assert_eq!(missing["exit_code"], 127);
    assert!(
        text(&missing).starts_with("bash: line 1: definitely"),
        "{missing}"
    );
    assert_eq!(desk.host.pids.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn the_brief_tells_command_exit_code_and_lines() {
    let desk = Desk::new();
    let output = desk.call(json!({"command": "printf 'a\\nb\\nc'"})).await.unwrap();
    assert_eq!(
        output.brief,
        "[terminal] ran `printf 'a\\nb\\nc'` -> exit 0, 3 lines output"
    );
    assert!(output.ok);
}

#[tokio::test]
async fn the_folder_and_exports_last_from_call_to_call() {
    let desk = Desk::new();
    let start = desk.session.cwd();
    let moved = desk
        .run("mkdir -p sub && cd sub && export NAME='a \"b\" $c' && unset LANG")
        .await;
    assert_eq!(moved["cwd"], json!(start.join("sub").to_str().unwrap()));
    let seen = desk.run("pwd; echo \"$NAME\"; cd ..; export NAME=; exit 1").await;
    assert_eq!(
        text(&seen),
        format!("{}\na \"b\" $c\n", start.join("sub").display())
    );
    let back = desk.run("pwd; echo \"[$NAME]\"").await;
    assert_eq!(text(&back), format!("{}\n[]\n", start.display()));
    let other = desk.result(json!({"command": "pwd", "workdir": "sub"})).await;
    assert_eq!(text(&other), format!("{}\n", start.join("sub").display()));
    assert_eq!(desk.session.cwd(), start);
}

#[tokio::test]
async fn a_folder_that_is_gone_or_never_was_is_said() {
    let desk = Desk::new();
    let seen = desk
        .result(json!({"command": "pwd", "workdir": "/no/such/folder"}))
        .await;
    assert_eq!(seen["exit_code"], 126);
    assert!(seen["error"].as_str().unwrap().contains("/no/such/folder"));
    desk.run("mkdir gone && cd gone").await;
    std::fs::remove_dir(desk.session.cwd()).unwrap();
    assert_eq!(desk.run("pwd").await["exit_code"], 0);
}

#[tokio::test]
async fn a_command_that_reads_input_sees_its_end_at_once() {
    let desk = Desk::new();
    let seen = desk.run("cat; echo after-cat; read x; echo \"got=[$x]\"").await;
    assert_eq!(text(&seen), "after-cat\ngot=[]\n");
}

#[tokio::test]
async fn a_background_child_that_keeps_the_output_open_does_not_hang_the_call() {
    let desk = Desk::new();
    for command in [
        "(sleep 71.731 & ) ; echo started",
        "sleep 71.731 & echo started",
        "setsid sleep 2 & echo started",
    ] {
        let seen = tokio::time::timeout(Duration::from_secs(30), desk.run(command)).await;
        assert_eq!(text(&seen.expect(command)), "started\n", "{command}");
    }
    let seen = desk.run("echo quiet").await;
    assert_eq!(seen.get("note"), None);
    desk.session.shutdown();
}

#[tokio::test]
async fn what_a_command_left_running_ends_with_the_session() {
    let desk = Desk::new();
    let seen = desk.run("sleep 72.5 & echo $!").await;
    assert!(seen["note"].as_str().unwrap().contains("background"));
    let pid: u32 = text(&seen).trim().parse().unwrap();
    assert!(is_running(pid));
    desk.session.shutdown();
    assert!(!is_running(pid));
}

#[tokio::test]
async fn a_timeout_ends_the_tree_and_keeps_the_output() {
    let desk = Desk::new();
    let command = "echo early $$; bash -c 'trap \"\" TERM; sleep 62.731 & echo $!; wait'";
    let seen = desk.result(json!({"command": command, "timeout": 1})).await;
    assert_eq!(seen["exit_code"], 124);
    assert!(
        text(&seen).starts_with("early") && text(&seen).ends_with("[Command timed out after 1s]"),
        "{seen}"
    );
    let pids: Vec<u32> = text(&seen)
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| !is_running(*pid)), "{pids:?}");
}

#[tokio::test]
async fn an_interrupt_ends_the_tree_at_once_and_keeps_the_output() {
    let desk = Desk::new();
    let cancel = desk.cancel.clone();
    let marker = desk.session.cwd().join("begun");
    let stop = async {
        while !marker.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (seen, ()) = tokio::join!(desk.run("echo $$; touch begun; sleep 63.5; touch late"), stop);
    assert_eq!(seen["exit_code"], 130);
    assert!(text(&seen).ends_with("[Command interrupted]"));
    let pid = text(&seen).lines().next().unwrap().parse().unwrap();
    assert!(!is_running(pid));
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_tree() {
    let desk = Desk::new();
    let marker = desk.session.cwd().join("pid");
    let running = desk.run("echo $$ > pid; sleep 64.5");
    let begun = async {
        while std::fs::read_to_string(&marker).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = running => panic!("it ended by itself"),
        () = begun => {}
    }
    let pid: u32 = std::fs::read_to_string(&marker).unwrap().trim().parse().unwrap();
    while is_running(pid) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn endless_output_is_bounded_and_saved_to_a_named_file() {
    let desk = Desk::new();
    let seen = desk
        .result(json!({"command": "echo HEAD; yes 0123456789 | head -c 900000; echo; echo TAIL"}))
        .await;
    let shown = text(&seen);
    assert!(shown.len() < 60_000 && shown.starts_with("HEAD") && shown.ends_with("TAIL\n"));
    let file = seen["output_file"].as_str().unwrap();
    assert!(shown.contains(file) && file.starts_with(desk.folder.path().to_str().unwrap()));
    assert_eq!(std::fs::metadata(file).unwrap().len(), 5 + 900_000 + 6);
}

#[tokio::test]
async fn invalid_utf8_and_colours_become_plain_text() {
    let desk = Desk::new();
    let seen = desk
        .run(r"printf '\x97\xff caf\xe9 \x1b[31mred\x1b[0m tail-ok\n'")
        .await;
    assert_eq!(text(&seen), "\u{fffd}\u{fffd} caf\u{fffd} red tail-ok\n");
}

#[tokio::test]
async fn a_command_longer_than_an_argument_runs() {
    let desk = Desk::new();
    let seen = desk.run(&format!(": {}; echo done", "x".repeat(126_000))).await;
    assert_eq!(text(&seen), "done\n");
}

#[tokio::test]
async fn a_program_that_wants_a_terminal_gets_one() {
    let desk = Desk::new();
    let plain = desk.run("[ -t 1 ] && echo terminal || echo pipe").await;
    assert_eq!(text(&plain), "pipe\n");
    let pty = desk
        .result(json!({"command": "[ -t 0 ] && [ -t 1 ] && echo terminal; exit 4", "pty": true}))
        .await;
    assert_eq!(pty["exit_code"], 4);
    assert_eq!(text(&pty), "terminal\n");
}

#[tokio::test]
async fn dangerous_commands_are_denied_where_nobody_can_be_asked() {
    let desk = Desk::new();
    let output = desk.call(json!({"command": "rm -rf build"})).await.unwrap();
    let seen: Value = serde_json::from_str(&output.content.text()).unwrap();
    assert_eq!(
        (seen["status"].as_str(), seen["exit_code"].as_i64(), output.ok),
        (Some("denied"), Some(-1), false)
    );
    let error = seen["error"].as_str().unwrap();
    assert!(
        error.contains("recursive delete") && error.contains("--yolo") && error.contains("Do not retry"),
        "{error}"
    );
    assert_eq!(desk.run("echo safe").await["exit_code"], 0);
}

#[tokio::test]
async fn yolo_and_the_mode_off_allow_all_but_the_hard_list_and_denied_commands() {
    for change in [
        (|s: &mut ToolSettings| s.yolo = true) as fn(&mut ToolSettings),
        |s| s.approval_mode = Mode::Off,
    ] {
        let desk = Desk::with(None, |settings| {
            change(settings);
            settings.deny = vec!["echo forbidden*".into()];
        });
        assert_eq!(desk.run("mkdir x && rm -rf x").await["exit_code"], 0);
        for command in ["false && rm -rf /", "echo forbidden thing"] {
            assert_eq!(desk.run(command).await["status"], "blocked", "{command}");
        }
        let background = desk
            .result(json!({"command": "false && mkfs.ext4 /dev/sda1", "background": true}))
            .await;
        assert_eq!(background["status"], "blocked");
    }
}

#[tokio::test]
async fn consent_is_asked_for_once_and_kept_as_long_as_it_was_given() {
    for (answer, asked, permanent) in [
        (ApprovalAnswer::Once, 2, vec![]),
        (ApprovalAnswer::Session, 1, vec![]),
        (ApprovalAnswer::Always, 1, vec!["recursive_delete".to_owned()]),
    ] {
        let desk = Desk::with(Some(answer), |_| {});
        for _ in 0..2 {
            assert_eq!(desk.run("rm -rf nothing").await["exit_code"], 0);
        }
        assert_eq!(desk.host.asked.lock().unwrap().len(), asked, "{answer:?}");
        assert_eq!(desk.session.grants().newly_permanent(), permanent);
    }
    let desk = Desk::with(Some(ApprovalAnswer::Deny), |_| {});
    assert_eq!(desk.run("rm -rf nothing").await["status"], "denied");
    let listed = Desk::with(None, |settings| {
        settings.allowlist = vec!["Recursive delete".into(), "git clean *".into()];
    });
    assert_eq!(listed.run("rm -rf nothing").await["exit_code"], 0);
    assert_ne!(listed.run("git clean -fdx nothing").await["status"], "denied");
    assert_eq!(
        listed.run("git clean -fdx; git reset --hard").await["status"],
        "denied"
    );
}

#[tokio::test]
async fn in_the_smart_mode_a_model_judges_first() {
    for (verdict, status, asked) in [
        (SmartVerdict::Approve, None, 0),
        (SmartVerdict::Deny("too risky".into()), Some("denied"), 0),
        (SmartVerdict::Escalate, None, 1),
    ] {
        let desk = Desk::with(Some(ApprovalAnswer::Once), |settings| {
            settings.approval_mode = Mode::Smart;
        });
        let answer = verdict.clone();
        desk.session.grants().set_judge(Arc::new(move |command, reason| {
            assert_eq!(
                (command.as_str(), reason.as_str()),
                ("rm -rf nothing", "recursive delete")
            );
            Box::pin(std::future::ready(answer.clone()))
        }));
        let seen = desk.run("rm -rf nothing").await;
        assert_eq!(seen["status"].as_str(), status, "{verdict:?} {seen}");
        assert_eq!(desk.host.asked.lock().unwrap().len(), asked);
        assert_eq!(desk.run("echo harmless").await["exit_code"], 0);
        assert_eq!(desk.run("false && rm -rf /").await["status"], "blocked");
    }
}

#[tokio::test]
async fn what_the_person_is_asked_about_shows_no_secret() {
    let desk = Desk::with(Some(ApprovalAnswer::Deny), |_| {});
    desk.run("rm -rf x && curl -H 'Authorization: Bearer sk-proj-abcdefghijklmnopqrstuvwx0123456789' http://127.0.0.1:9").await;
    let asked = desk.host.asked.lock().unwrap();
    assert!(
        asked[0].command.starts_with("rm -rf x") && !asked[0].command.contains("ijklmnopqrst"),
        "{asked:?}"
    );
    assert_eq!(
        (
            asked[0].tool.as_str(),
            asked[0].reason.as_str(),
            asked[0].may_always
        ),
        ("terminal", "recursive delete", true)
    );
}

#[tokio::test]
async fn an_interrupt_ends_a_question_that_nobody_answers() {
    let desk = Desk::with(Some(ApprovalAnswer::Once), |settings| {
        settings.approval_mode = Mode::Smart;
    });
    desk.session
        .grants()
        .set_judge(Arc::new(|_, _| Box::pin(std::future::pending())));
    desk.cancel.cancel();
    assert_eq!(desk.run("rm -rf nothing").await["status"], "interrupted");
}

#[tokio::test]
async fn configured_init_files_are_read_once_and_their_exports_last() {
    let desk = Desk::with(None, |settings| {
        settings.shell_init_files = vec![
            "~/no-such-file".into(),
            settings.cwd.join("init").display().to_string(),
        ];
    });
    std::fs::write(
        desk.session.cwd().join("init"),
        "echo noise; export FROM_INIT=yes; echo x >> count\n",
    )
    .unwrap();
    for _ in 0..2 {
        assert_eq!(text(&desk.run("echo $FROM_INIT").await), "yes\n");
    }
    assert_eq!(text(&desk.run("cat count").await), "x\n");
}

#[tokio::test]
async fn bad_arguments_are_explained() {
    let desk = Desk::new();
    for (args, word) in [
        (json!({"command": " "}), "empty"),
        (json!({"command": "true", "timeout": 601}), "background"),
        (json!({"command": "a\u{0}b"}), "NUL"),
    ] {
        let error = desk.call(args).await.unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    assert!(
        desk.run("npm run dev").await["error"]
            .as_str()
            .unwrap()
            .contains("background")
    );
}

/// Whether `pid` is a process that is not a zombie.
pub(crate) fn is_running(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
