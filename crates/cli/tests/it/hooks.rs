//! `hooks` and `plugins`: listing, allowing, testing, importing.

use crate::program::{append, command, home, run, talking};
use serde_json::json;
use talaria_testkit::{Step, TempHome};

const ONE: &str = "hooks:\n  pre_tool_call:\n  - {command: 'sh check.sh', matcher: terminal}\n";

fn script(home: &TempHome, name: &str, text: &str) {
    std::fs::write(home.work().join(name), text).unwrap();
}

#[test]
fn a_hook_runs_once_it_is_allowed_and_not_before() {
    let touch = || Step::call("terminal", json!({"command": "touch made"}));
    let (_server, home) = talking([touch(), Step::say("one"), touch(), Step::say("two")]);
    append(&home, ONE);
    script(&home, "check.sh", "echo 'not on Fridays' >&2; exit 2");
    let ran = run(&home, &["-z", "make it"]).ok();
    assert!(
        ran.err.contains("is not run") && home.work().join("made").exists(),
        "{}",
        ran.told()
    );
    std::fs::remove_file(home.work().join("made")).unwrap();
    let listed = run(&home, &["hooks", "list", "--json"]).ok().json();
    assert_eq!(listed["hooks"][0]["standing"], "not allowed yet");
    let id = listed["hooks"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(run(&home, &["hooks", "doctor"]).code, 1);
    run(&home, &["hooks", "enable", &id]).ok();
    run(&home, &["hooks", "doctor"]).ok();
    let tested = run(&home, &["hooks", "test", "pre_tool_call", "--json"])
        .ok()
        .json();
    assert_eq!(tested["replies"][0]["block"], "not on Fridays");
    run(&home, &["--continue=", "-z", "make it"]).ok();
    assert!(!home.work().join("made").exists());
    let off = run(&home, &["hooks", "revoke", &id]).ok();
    assert!(off.out.contains("disabled"), "{}", off.told());
}

#[test]
fn a_hook_cannot_see_the_keys_of_the_program() {
    let (_server, home) = talking([Step::say("one")]);
    append(&home, "hooks:\n  pre_llm_call:\n  - {command: sh look.sh}\n");
    script(&home, "look.sh", "env > seen; cat > told");
    let mut command = command(&home, &["-z", "a", "--accept-hooks"]);
    command
        .env("ANTHROPIC_API_KEY", "sk-ant-not-for-hooks")
        .env("MY_OWN", "kept")
        .env("HERMES_X_TOKEN", "tok-not-for-hooks");
    assert!(command.output().unwrap().status.success());
    let read = |name: &str| std::fs::read_to_string(home.work().join(name)).unwrap();
    assert!(
        !read("seen").contains("not-for-hooks") && read("seen").contains("MY_OWN=kept"),
        "{}",
        read("seen")
    );
    assert!(!read("told").contains("not-for-hooks"));
}

#[test]
fn accept_hooks_is_the_consent_of_a_script() {
    let (_server, home) = talking([
        Step::call("terminal", json!({"command": "touch made"})),
        Step::say("one"),
    ]);
    append(&home, ONE);
    script(&home, "check.sh", "exit 2");
    run(&home, &["-z", "make it", "--accept-hooks"]).ok();
    assert!(!home.work().join("made").exists());
}

#[test]
fn what_came_with_a_project_is_left_out_with_the_rules() {
    let (_server, home) = talking([Step::say("one"), Step::say("two")]);
    std::fs::create_dir(home.work().join(".claude")).unwrap();
    let settings =
        json!({"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date"}]}]}});
    script(&home, ".claude/settings.json", &settings.to_string());
    assert!(run(&home, &["-z", "a"]).ok().err.contains("UserPromptSubmit"));
    assert_eq!(
        run(&home, &["--continue=", "-z", "a", "--ignore-rules"]).ok().err,
        ""
    );
}

#[test]
fn the_hooks_of_claude_code_are_imported_by_name() {
    let home = home("{}\n");
    let person = home.work().join("person");
    std::fs::create_dir_all(person.join(".claude")).unwrap();
    let settings = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}});
    std::fs::write(person.join(".claude/settings.json"), settings.to_string()).unwrap();
    let with_person = |words: &[&str]| {
        let mut command = command(&home, words);
        command.env("HOME", &person);
        command.output().unwrap()
    };
    let ran = with_person(&["hooks", "import", "claude"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let listed = with_person(&["hooks", "list"]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(text.contains("not allowed yet  Stop `true`"), "{text}");
    assert_eq!(run(&home, &["hooks", "import", "/no/such/file"]).code, 2);
    assert_eq!(run(&home, &["hooks", "enable", "nothing"]).code, 2);
    assert_eq!(run(&home, &["hooks", "test", "PreToolUse"]).code, 2);
}

#[test]
fn a_plugin_is_installed_enabled_tested_and_removed() {
    let home = home("{}\n");
    let source = home.work().join("greeter");
    std::fs::create_dir(&source).unwrap();
    let script = r#"while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"initialize"'*) r='{"protocol_version":1,"tools":[{"name":"greet"}]}' ;;
    *) r='{"content":"hello"}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done"#;
    std::fs::write(source.join("main.sh"), script).unwrap();
    std::fs::write(
        source.join("plugin.yaml"),
        "name: greeter\nversion: '1'\ncommand: sh main.sh\nprovides: [tools]\n",
    )
    .unwrap();
    let path = source.display().to_string();
    let installed = run(&home, &["plugins", "install", &path]).ok();
    assert!(installed.err.contains("sh main.sh"), "{}", installed.told());
    let state = || run(&home, &["plugins", "list", "--json"]).ok().json()["plugins"][0]["state"].clone();
    assert_eq!(state(), "not enabled");
    assert_eq!(
        run(&home, &["plugins", "install", &path]).code,
        2,
        "it is there already"
    );
    run(&home, &["plugins", "enable", "greeter"]).ok();
    assert_eq!(state(), "enabled");
    let tested = run(
        &home,
        &["plugins", "test", "greeter", "--tool", "greet", "--json"],
    )
    .ok()
    .json();
    assert_eq!(
        (&tested["tools"], &tested["result"]),
        (&json!(["greet"]), &json!("hello"))
    );
    run(&home, &["plugins", "doctor"]).ok();
    run(&home, &["plugins", "remove", "greeter"]).ok();
    run(&home, &["plugins", "doctor"]).ok();
    assert_eq!(run(&home, &["plugins", "enable", "greeter"]).code, 2);
}
