//! Hooks that are run, with scripts of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::Dialect;

/// A home, a project and what hooks see.
struct Rig {
    folder: tempfile::TempDir,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn script(&self, name: &str, text: &str) -> String {
        let path = self.project().join(name);
        std::fs::write(&path, text).unwrap();
        format!("sh {}", path.display())
    }

    fn setup(&self, accept: bool) -> Arc<HookSetup> {
        Arc::new(HookSetup {
            home: self.folder.path().join("home"),
            user_home: PathBuf::from("/nobody"),
            variables: Variables::from([("PATH".into(), "/usr/bin:/bin".into())]),
            accept,
        })
    }

    fn hook(
        &self,
        (event, dialect): (&str, Dialect),
        written: Written,
        origin: Origin,
        accept: bool,
    ) -> Arc<ShellHook> {
        let spec = HookSpec::new(event, dialect, written, origin, &self.project()).unwrap();
        Arc::new(ShellHook::new(spec, &self.setup(accept)).unwrap())
    }

    /// A hook of the home before tool calls.
    fn before(&self, command: &str, change: impl FnOnce(&mut Written)) -> Arc<ShellHook> {
        let mut written = Written {
            command: command.to_owned(),
            ..Written::default()
        };
        change(&mut written);
        self.hook(("pre_tool_call", Dialect::Hermes), written, Origin::Home, true)
    }

    fn call(&self) -> Payload {
        Payload::new(Event::PreToolCall, "s1", self.project()).of_tool(
            "terminal",
            &json!({"command": "ls"}),
            "c1",
        )
    }
}

fn only(hook: Arc<ShellHook>) -> Hooks {
    Hooks::new(vec![hook], &[])
}

#[tokio::test]
async fn a_hook_is_told_of_the_call_and_refuses_it_with_exit_code_2() {
    let rig = Rig::new();
    let command = rig.script(
        "check.sh",
        "grep -q '\"tool_input\":{\"command\":\"ls\"}' && echo 'not this one' >&2 && exit 2",
    );
    let hooks = only(rig.before(&command, |_| {}));
    let fired = hooks.fire(&rig.call()).await;
    assert_eq!(fired.blocked(), Some("not this one"));
    assert!(fired.replies[0].from.starts_with("hook pre_tool_call `sh "));
    assert_eq!(hooks.take_notes(), [] as [String; 0]);
}

#[tokio::test]
async fn a_hook_that_hangs_costs_its_time_and_no_turn_unless_it_fails_closed() {
    let rig = Rig::new();
    let hang = |on_failure: Option<&str>| {
        rig.before("sleep 600", |written| {
            written.timeout = Some(1);
            written.on_failure = on_failure.map(str::to_owned);
        })
    };
    let open = only(hang(None));
    assert_eq!(open.fire(&rig.call()).await.blocked(), None);
    assert_eq!(
        open.take_notes(),
        ["hook pre_tool_call `sleep 600` took longer than 1 s and was ended"]
    );
    assert_eq!(open.fire(&rig.call()).await, Fired::default());
    assert_eq!(open.take_notes(), [] as [String; 0], "it is said once");
    let closed = only(hang(Some("block"))).fire(&rig.call()).await;
    let why = closed.blocked().unwrap();
    assert!(
        why.contains("took longer than 1 s") && why.contains("set to refuse"),
        "{why}"
    );
}

#[tokio::test]
async fn what_nobody_allowed_does_not_run_and_a_changed_script_asks_again() {
    let rig = Rig::new();
    let command = rig.script("check.sh", "echo one >&2; exit 2");
    let hook = rig.hook(
        ("pre_tool_call", Dialect::Hermes),
        Written {
            command: command.clone(),
            ..Written::default()
        },
        Origin::Home,
        false,
    );
    let hooks = only(hook.clone());
    assert_eq!(hooks.fire(&rig.call()).await, Fired::default());
    let note = hooks.take_notes().pop().unwrap();
    assert!(
        note.contains("was not allowed") && note.contains("talaria hooks enable"),
        "{note}"
    );
    assert_eq!(hooks.open().len(), 1);
    hook.decide(true).unwrap();
    assert_eq!(hooks.fire(&rig.call()).await.blocked(), Some("one"));
    rig.script("check.sh", "echo two, and longer >&2; exit 2");
    assert_eq!(hook.standing(), Standing::Open);
    assert_eq!(hooks.fire(&rig.call()).await.blocked(), None);
    hook.decide(false).unwrap();
    assert_eq!((hook.standing(), hooks.open().len()), (Standing::Refused, 0));
    // Another process knows what was said, and the old script is allowed still.
    rig.script("check.sh", "echo one >&2; exit 2");
    assert_eq!(hook.standing(), Standing::Allowed);
}

#[tokio::test]
async fn a_hook_that_writes_a_log_stays_allowed() {
    let rig = Rig::new();
    let written = Written {
        command: "cat >> log".to_owned(),
        ..Written::default()
    };
    let origin = Origin::Project(rig.project().join(".claude/settings.json"));
    let hook = rig.hook(("PreToolUse", Dialect::Claude), written, origin, false);
    hook.decide(true).unwrap();
    for _ in 0..2 {
        only(hook.clone()).fire(&rig.call()).await;
        assert_eq!(hook.standing(), Standing::Allowed);
    }
    assert!(rig.project().join("log").is_file());
}

#[tokio::test]
async fn a_project_s_hook_is_asked_about_whatever_the_home_accepts() {
    let rig = Rig::new();
    let origin = Origin::Project(rig.project().join(".claude/settings.json"));
    let written = Written {
        command: "exit 2".to_owned(),
        on_failure: Some("block".to_owned()),
        ..Written::default()
    };
    let hook = rig.hook(("PreToolUse", Dialect::Claude), written, origin, true);
    assert_eq!(hook.standing(), Standing::Open);
    assert_eq!(only(hook).fire(&rig.call()).await.blocked(), None);
}

#[tokio::test]
async fn hermes_list_of_allowed_hooks_is_honoured_and_kept() {
    let rig = Rig::new();
    let list = json!({"approvals": [
        {"event": "pre_tool_call", "command": "true", "approved_at": "2026-01-01T00:00:00Z", "script_mtime_at_approval": null},
    ], "note": "mine"});
    let path = rig.folder.path().join("home/shell-hooks-allowlist.json");
    std::fs::write(&path, list.to_string()).unwrap();
    let hook = |command: &str| {
        let written = Written {
            command: command.to_owned(),
            ..Written::default()
        };
        rig.hook(("pre_tool_call", Dialect::Hermes), written, Origin::Home, false)
    };
    assert_eq!(hook("true").standing(), Standing::Allowed);
    let other = hook("false");
    assert_eq!(other.standing(), Standing::Open);
    other.decide(true).unwrap();
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(
        (&kept["note"], kept["approvals"].as_array().unwrap().len()),
        (&json!("mine"), 2)
    );
}

#[tokio::test]
async fn claude_code_s_hook_hears_its_own_words_and_is_understood_in_them() {
    let rig = Rig::new();
    let script = r#"told=$(cat); case "$told" in *'"tool_name":"Write"'*'"file_path":"a.txt"'*) ;; *) exit 1;; esac
test -d "$CLAUDE_PROJECT_DIR" || exit 1
echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"file_path":"b.txt","content":"x"},"additionalContext":"moved"}}'"#;
    rig.script("rewrite.sh", script);
    let written = Written {
        command: "sh \"$CLAUDE_PROJECT_DIR\"/rewrite.sh".to_owned(),
        matcher: Some("Write|Edit".to_owned()),
        condition: Some("Write(*.txt)".to_owned()),
        ..Written::default()
    };
    let hook = rig.hook(
        ("PreToolUse", Dialect::Claude),
        written,
        Origin::Imported(rig.project()),
        false,
    );
    hook.decide(true).unwrap();
    let hooks = only(hook);
    let call = |path: &str| {
        Payload::new(Event::PreToolCall, "s1", rig.project()).of_tool(
            "write_file",
            &json!({"path": path, "content": "x"}),
            "c1",
        )
    };
    let fired = hooks.fire(&call("a.txt")).await;
    assert_eq!(hooks.take_notes(), [] as [String; 0]);
    assert_eq!(fired.args(), Some(&json!({"path": "b.txt", "content": "x"})));
    assert_eq!(fired.contexts(), ["moved"]);
    assert_eq!(hooks.fire(&call("a.rs")).await, Fired::default());
    assert_eq!(hooks.fire(&rig.call()).await, Fired::default());
}

#[tokio::test]
async fn answers_keep_the_order_of_the_hooks_whoever_is_faster() {
    let rig = Rig::new();
    let hooks = Hooks::new(
        vec![
            rig.before("sh -c 'sleep 0.2; echo slow >&2; exit 2'", |_| {}),
            rig.before("sh -c 'echo fast >&2; exit 2'", |_| {}),
        ],
        &[],
    );
    assert_eq!(hooks.fire(&rig.call()).await.blocked(), Some("slow"));
}

#[tokio::test]
async fn a_hook_sees_its_variables_and_nothing_else_of_ours() {
    let rig = Rig::new();
    let hooks = only(rig.before("sh -c 'env >&2; exit 2'", |_| {}));
    let fired = hooks.fire(&rig.call()).await;
    let mut names: Vec<&str> = fired
        .blocked()
        .unwrap()
        .lines()
        .filter_map(|line| line.split('=').next())
        .filter(|name| !matches!(*name, "_" | "PWD" | "OLDPWD" | "SHLVL"))
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["HERMES_SESSION_ID", "PATH", "TALARIA_SESSION_ID"]);
}

#[tokio::test]
async fn what_nobody_waits_for_is_told_in_order_and_to_the_end() {
    let rig = Rig::new();
    let log = rig.project().join("log");
    let written = Written {
        command: format!("sh -c 'grep -o turn[0-9] >> {}'", log.display()),
        ..Written::default()
    };
    let hooks = Arc::new(only(rig.hook(
        ("on_session_end", Dialect::Hermes),
        written,
        Origin::Home,
        true,
    )));
    for turn in 1..=3 {
        hooks.tell(Payload::new(
            Event::OnSessionEnd,
            format!("turn{turn}"),
            rig.project(),
        ));
    }
    hooks.drained(Duration::from_secs(60)).await;
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "turn1\nturn2\nturn3\n");
    assert!(Hooks::default().is_empty() && !hooks.hear(Event::PreToolCall));
}

#[test]
fn what_makes_no_sense_is_told() {
    let new = |event: &str, command: &str| {
        let written = Written {
            command: command.to_owned(),
            ..Written::default()
        };
        HookSpec::new(event, Dialect::Hermes, written, Origin::Home, Path::new("/"))
    };
    assert!(new("pre_tool", "x").unwrap_err().contains("\"pre_tool\""));
    assert!(new("pre_tool_call", " ").unwrap_err().contains("no command"));
    let spec = new("pre_tool_call", "sh -c 'open").unwrap();
    assert!(
        ShellHook::new(spec, &Rig::new().setup(true))
            .unwrap_err()
            .contains("quotes")
    );
}
