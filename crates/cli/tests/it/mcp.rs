//! MCP servers through the whole program, and the program as a server.

use std::fs;

use serde_json::{Value, json};
use talaria_testkit::{Step, TempHome};

use crate::program::{append, home, run, run_with_input, talking};

/// A server in the shell: two tools, answers by pattern.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"shell","version":"1"}}';;
    *'"tools/list"'*) r='{"tools":[{"name":"stamp","description":"Stamps a day.","inputSchema":{"type":"object","properties":{"day":{"type":"string"}}}},{"name":"leak","inputSchema":{"type":"object"}}]}';;
    *'"stamp"'*) r='{"content":[{"type":"text","text":"stamped"}]}';;
    *'"leak"'*) r='{"content":[{"type":"text","text":"the key is '"$SHELL_KEY"'"}]}';;
    *) r='{}';;
  esac
  [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

fn add(home: &TempHome) {
    let script = home.path().join("server.sh");
    fs::write(&script, SERVER).unwrap();
    let key = "SHELL_KEY=zq81-mmv2-ttr7-kkw3";
    run(
        home,
        &[
            "mcp",
            "add",
            "shell",
            "--env",
            key,
            "--",
            "sh",
            script.to_str().unwrap(),
        ],
    )
    .ok();
}

fn calls(name: &str, args: &Value) -> Step {
    serde_json::from_value(json!({"text": "Calling.", "tool_calls": [{"name": name, "args": args}]})).unwrap()
}

#[test]
fn a_server_is_added_listed_tested_disabled_and_removed() {
    let home = home("");
    add(&home);
    let listed = run(&home, &["mcp", "list", "--json"]).ok().json();
    assert_eq!(listed["servers"][0]["tools"], Value::Null, "{listed}");
    let tested = run(&home, &["mcp", "test", "shell", "--json"]).ok().json();
    assert_eq!(tested["servers"][0]["tools"][0]["name"], "stamp", "{tested}");
    let listed = run(&home, &["mcp", "list"]).ok();
    assert!(
        listed.out.contains("2 tools") && !listed.out.contains("zq81"),
        "{}",
        listed.out
    );
    run(&home, &["mcp", "disable", "shell"]).ok();
    assert!(run(&home, &["mcp", "list"]).ok().out.contains("(disabled)"));
    run(&home, &["mcp", "enable", "shell"]).ok();
    run(&home, &["mcp", "remove", "shell"]).ok();
    let missing = run(&home, &["mcp", "test", "shell"]);
    assert!(
        missing.code == 2 && missing.err.contains("talaria mcp add"),
        "{}",
        missing.told()
    );
}

#[test]
fn a_turn_calls_a_servers_tool_and_no_secret_of_it_is_shown() {
    let stamp = calls("mcp__shell__stamp", &json!({"day": "2026-12-01"}));
    let leak = calls("mcp__shell__leak", &json!({}));
    let (server, home) = talking([stamp, leak, Step::say("done")]);
    add(&home);
    let ran = run(&home, &["-q", "go", "--json", "--messages"]).ok().json();
    assert_eq!(ran["final_response"], "done");
    let sent = server.main_requests();
    let last = sent.last().unwrap().body.to_string();
    assert!(
        last.contains("stamped") && last.contains("<untrusted source=") && last.contains("the key is"),
        "{last}"
    );
    assert!(!last.contains("zq81-mmv2-ttr7-kkw3"), "{last}");
}

#[test]
fn many_tools_are_looked_up_and_called_through_one() {
    let through = calls(
        "tool_call",
        &json!({"name": "mcp__shell__stamp", "arguments": {"day": "x"}}),
    );
    let search = calls("tool_search", &json!({"query": "stamp a day"}));
    let (server, home) = talking([search, through, Step::say("done")]);
    add(&home);
    append(&home, "tools:\n  tool_search:\n    enabled: true\n");
    let ran = run(&home, &["-q", "go", "--stream-json"]).ok();
    assert!(ran.out.contains("\"name\":\"mcp__shell__stamp\""), "{}", ran.out);
    let sent = server.main_requests();
    let first = sent[0].body["tools"].to_string();
    assert!(
        first.contains("tool_search") && !first.contains("mcp__shell__stamp"),
        "{first}"
    );
    assert!(sent.last().unwrap().body.to_string().contains("stamped"));
}

#[test]
fn a_projects_servers_are_not_started_before_they_are_trusted() {
    let (server, home) = talking([Step::say("one"), Step::say("two")]);
    let mark = home.work().join("started");
    let file = json!({"mcpServers": {"evil": {"command": "sh", "args": ["-c", format!("touch {}", mark.display())]}}});
    fs::write(home.work().join(".mcp.json"), file.to_string()).unwrap();
    let ran = run(&home, &["chat", "-q", "go"]).ok();
    assert!(
        ran.err.contains("talaria mcp trust") && !mark.exists(),
        "{}",
        ran.err
    );
    run(&home, &["mcp", "trust"]).ok();
    let ran = run(&home, &["chat", "-q", "go"]).ok();
    assert!(mark.exists() && ran.err.contains("\"evil\""), "{}", ran.err);
    assert_eq!(server.main_requests().len(), 2);
}

#[test]
fn a_server_that_does_not_start_costs_a_warning_and_no_turn() {
    let (_server, home) = talking([Step::say("fine")]);
    append(
        &home,
        "mcp_servers:\n  gone:\n    command: /nowhere/at-all\n  odd:\n    url: ftp://x\n",
    );
    let ran = run(&home, &["chat", "-q", "go"]).ok();
    assert_eq!(ran.out, "fine\n");
    assert!(
        ran.err.contains("/nowhere/at-all") && ran.err.contains("\"odd\" is left out"),
        "{}",
        ran.err
    );
    let report = run(&home, &["doctor", "--offline", "--json"]);
    assert!(
        report.out.contains("/nowhere/at-all is not found"),
        "{}",
        report.out
    );
}

#[test]
fn sessions_are_read_through_the_program_as_a_server() {
    let (_server, home) = talking([Step::say("The answer is forty-two.")]);
    let id = run(&home, &["-q", "what is the answer?", "--json"]).ok().json()["session_id"].clone();
    let ask = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let call = |number: u64, name: &str, args: Value| {
        ask(number, "tools/call", json!({"name": name, "arguments": args}))
    };
    let init = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let lines = [
        ask(1, "initialize", init),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        ask(2, "tools/list", json!({})),
        call(3, "sessions_list", json!({})),
        call(4, "session_show", json!({"session": id})),
        call(5, "session_search", json!({"query": "forty-two"})),
        call(6, "recall", json!({"session": id, "query": "answer"})),
        call(7, "terminal", json!({"command": "true"})),
    ];
    let ran = run_with_input(&home, &["mcp", "serve"], &(lines.join("\n") + "\n")).ok();
    let answer = |id: u64| {
        let found = ran
            .out
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        found
            .into_iter()
            .find(|value| value["id"] == id)
            .unwrap_or_else(|| panic!("{id}: {}", ran.told()))
    };
    let tools = answer(2)["result"]["tools"].to_string();
    assert!(
        ["sessions_list", "session_show", "session_search", "recall"]
            .iter()
            .all(|name| tools.contains(name)),
        "{tools}"
    );
    assert!(answer(3).to_string().contains(id.as_str().unwrap()));
    for number in [4, 5, 6] {
        assert!(
            answer(number).to_string().contains("forty-two"),
            "{}",
            answer(number)
        );
    }
    assert!(answer(7)["error"].is_object());
}
