//! Plugins that are shell scripts.

use super::*;
use crate::Hooks;
use crate::manifest;
use std::sync::Arc;

/// A plugin whose answers to the calls after `initialize` are these lines of shell; `$id` is the call's.
async fn started(brings: &str, answers: &str) -> (tempfile::TempDir, Result<Plugin, String>) {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        r#"say() {{ printf '%s\n' "$1"; }}
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *'"method":"initialize"'*) say "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{brings}}}" ;;
    *) {answers} ;;
  esac
done
"#,
        brings = brings.replace('"', "\\\"")
    );
    std::fs::write(folder.path().join("main.sh"), script).unwrap();
    std::fs::write(
        folder.path().join("plugin.yaml"),
        "name: probe\ncommand: sh main.sh\nprovides: [tools, hooks, commands]\ntimeout: 1\n",
    )
    .unwrap();
    let found = manifest::read(folder.path(), false).unwrap();
    let plugin = Plugin::start(&found, (Path::new("/home"), folder.path()), &|_| None).await;
    (folder, plugin)
}

const ALL: &str = r#"{"protocol_version":1,"tools":[{"name":"weather","description":"d"},{"name":"bad name"}],"hooks":["pre_tool_call","nonsense"],"commands":[{"name":"hi"}],"context_engine":true}"#;

fn answer(result: &str) -> String {
    format!(
        r#"say "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}}""#,
        result.replace('"', "\\\"")
    )
}

#[tokio::test]
async fn a_plugin_says_what_it_brings_and_its_manifest_bounds_it() {
    let (folder, plugin) = started(ALL, &answer(r#"{"content":"sunny"}"#)).await;
    let plugin = plugin.unwrap();
    let names: Vec<&str> = plugin.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["weather"]);
    assert_eq!(plugin.events().iter().collect::<Vec<_>>(), [&Event::PreToolCall]);
    assert!(!plugin.has_engine(), "the manifest does not say so");
    let said = plugin
        .tool("weather", &json!({}), ("s1", "c1"), folder.path())
        .await;
    assert_eq!(said.as_deref(), Ok("sunny"));
    assert_eq!(plugin.command("hi", "", "s1").await.as_deref(), Ok("sunny"));
    plugin.stop().await;
}

#[tokio::test]
async fn a_plugin_has_a_say_in_a_call() {
    let (_folder, plugin) = started(ALL, &answer(r#"{"action":"block","message":"not today"}"#)).await;
    let hooks = Hooks::new(Vec::new(), &[Arc::new(plugin.unwrap())]);
    let call = Payload::new(Event::PreToolCall, "s1", "/").of_tool("terminal", &json!({}), "c1");
    let fired = hooks.fire(&call).await;
    assert_eq!(
        (fired.blocked(), fired.replies[0].from.as_str()),
        (Some("not today"), "plugin probe")
    );
}

#[tokio::test]
async fn a_plugin_that_dies_in_a_call_costs_that_call_and_nothing_else() {
    let (folder, plugin) = started(ALL, "echo 'out of luck' >&2; exit 3").await;
    let plugin = Arc::new(plugin.unwrap());
    let why = plugin
        .tool("weather", &json!({}), ("s1", "c1"), folder.path())
        .await
        .unwrap_err();
    assert!(
        why.starts_with("plugin probe ") && why.contains("out of luck"),
        "{why}"
    );
    let hooks = Hooks::new(Vec::new(), &[plugin]);
    let call = Payload::new(Event::PreToolCall, "s1", "/").of_tool("terminal", &json!({}), "c1");
    assert_eq!(hooks.fire(&call).await, crate::Fired::default());
    assert_eq!(hooks.take_notes().len(), 1);
}

#[tokio::test]
async fn one_that_hangs_is_left_alone_after_a_few_calls() {
    let (folder, plugin) = started(ALL, "sleep 600").await;
    let plugin = plugin.unwrap();
    for _ in 0..PATIENCE {
        let why = plugin
            .tool("weather", &json!({}), ("s1", "c1"), folder.path())
            .await
            .unwrap_err();
        assert!(why.contains("did not answer"), "{why}");
    }
    let why = plugin
        .tool("weather", &json!({}), ("s1", "c1"), folder.path())
        .await
        .unwrap_err();
    assert!(why.contains("left alone"), "{why}");
    let call = Payload::new(Event::PreToolCall, "s1", "/").of_tool("terminal", &json!({}), "c1");
    assert!(plugin.hook(&call).await.is_none());
}

#[tokio::test]
async fn garbage_and_floods_are_missing_answers() {
    let (_first, plugin) = started(ALL, "say 'Traceback (most recent call last):'").await;
    assert!(
        plugin
            .unwrap()
            .tool("weather", &json!({}), ("s", "c"), Path::new("/"))
            .await
            .is_err()
    );
    let (folder, plugin) = started(ALL, "head -c 20000000 /dev/zero | tr '\\0' x").await;
    assert!(
        plugin
            .unwrap()
            .tool("weather", &json!({}), ("s", "c"), folder.path())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn another_protocol_and_a_missing_program_are_told() {
    let (_folder, plugin) = started(r#"{"protocol_version":7}"#, ":").await;
    assert!(plugin.unwrap_err().contains("protocol 7"));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plugin.yaml"), "command: ./none\n").unwrap();
    let found = manifest::read(folder.path(), false).unwrap();
    assert!(
        Plugin::start(&found, (Path::new("/"), folder.path()), &|_| None)
            .await
            .is_err()
    );
}
