//! The provider that is a program, with the examples of the documentation.

use serde_json::{Value, json};
use talaria_memory::providers::{Exchange, Opening, ToolUse};

use crate::place::{place, provider};

/// The code of the first block of this kind in the documentation.
fn documented(kind: &str) -> String {
    let text = include_str!("../../../../docs/memory-providers.md");
    let (_, code) = text.split_once(&format!("```{kind}\n")).unwrap();
    code.split_once("```").unwrap().0.to_owned()
}

fn opening() -> Opening {
    Opening {
        session_id: "s1".to_owned(),
        platform: "cli".to_owned(),
        agent_context: "primary".to_owned(),
        ..Opening::default()
    }
}

fn turn(user: &str) -> Exchange {
    Exchange {
        session_id: "s1".to_owned(),
        user: user.to_owned(),
        assistant: "Noted.".to_owned(),
    }
}

#[tokio::test]
async fn the_documented_shell_script_remembers_and_recalls() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("remember.sh"), documented("sh")).unwrap();
    let mut place = place(home.path(), &[]);
    place.command = vec!["sh".to_owned(), "remember.sh".to_owned()];
    let process = provider("process", &place);
    process.connect().await.unwrap();
    assert!(process.system_prompt_block().contains("notebook"));
    process.initialize(&opening()).await.unwrap();
    process.sync_turn(&turn("I prefer oolong")).await.unwrap();
    // A call it does not know is no failure.
    process.queue_prefetch("tea", "s1").await.unwrap();
    let recalled = process.prefetch("oolong?", "s1").await.unwrap();
    assert!(recalled.contains("I prefer oolong"), "{recalled}");
    process.shutdown().await.unwrap();
    // Another session of this process may still begin.
    assert!(
        process
            .prefetch("oolong?", "s2")
            .await
            .unwrap()
            .contains("oolong")
    );
    process.shutdown().await.unwrap();
}

#[tokio::test]
async fn what_a_program_says_of_its_tools_is_taken_with_care() {
    let home = tempfile::tempdir().unwrap();
    let script = r#"while read -r line; do id=${line#*\"id\":}; id=${id%%,*}
        case $line in
        *'"method":"initialize"'*) result='{"tools":[{"type":"function","function":{"name":"lore_find","description":"finds","parameters":{"type":"object"}}},{"name":"bad name"},{"name":"bare","input_schema":7},3]}' ;;
        *'"method":"handle_tool_call"'*) result=$line ;;
        *) result=null ;; esac
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"; done"#;
    let mut place = place(home.path(), &[]);
    place.command = vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()];
    let process = provider("process", &place);
    process.connect().await.unwrap();
    let tools = process.tool_schemas();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["lore_find", "bare"]);
    assert_eq!(tools[1].parameters["type"], "object");
    let call = ToolUse {
        name: "lore_find".to_owned(),
        arguments: json!({"q": "tea"}),
        session_id: "s1".to_owned(),
    };
    let answer: Value = process.handle_tool_call(&call).await.unwrap();
    assert_eq!(
        answer["params"],
        json!({"name": "lore_find", "arguments": {"q": "tea"}, "session_id": "s1"})
    );
    process.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_program_that_died_hears_again_where_it_is() {
    let home = tempfile::tempdir().unwrap();
    let script = r#"while read -r line; do id=${line#*\"id\":}; id=${id%%,*}
        printf '%s\n' "$line" >> heard
        case $line in *'"method":"sync_turn"'*) exit 1 ;; esac
        printf '{"jsonrpc":"2.0","id":%s,"result":null}\n' "$id"; done"#;
    let mut place = place(home.path(), &[]);
    place.command = vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()];
    let process = provider("process", &place);
    process.connect().await.unwrap();
    process.initialize(&opening()).await.unwrap();
    let error = process.sync_turn(&turn("a")).await.unwrap_err();
    assert!(error.to_string().contains("exit status: 1"), "{error}");
    process.prefetch("b", "s1").await.unwrap();
    process.shutdown().await.unwrap();
    let heard = std::fs::read_to_string(home.path().join("heard")).unwrap();
    let heard: Vec<Value> = heard
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let methods: Vec<&str> = heard.iter().filter_map(|call| call["method"].as_str()).collect();
    assert_eq!(
        methods,
        [
            "initialize",
            "initialize",
            "sync_turn",
            "initialize",
            "prefetch",
            "shutdown"
        ]
    );
    assert_eq!(heard[3]["params"]["session_id"], "s1");
    assert_eq!(heard[0]["params"]["protocol"], 1);
}
