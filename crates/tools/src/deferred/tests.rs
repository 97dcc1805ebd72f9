use std::sync::Mutex;

use serde_json::json;
use talaria_types::{ToolCall, ToolResult};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{Deferral, Executor, Host, JournalError, ToolSession, ToolSettings};

/// A tool of a server.
struct Theirs(ToolSpec);

impl Theirs {
    fn new(name: &str, description: &str) -> Arc<Self> {
        let parameters =
            json!({"type": "object", "properties": {"text": {"type": "string", "description": "A text"}}});
        Arc::new(Self(ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
        }))
    }
}

impl AnyTool for Theirs {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }
    fn effect(&self) -> Effect {
        Effect::Execute
    }
    fn run<'a>(
        &'a self,
        args: Value,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let output = ToolOutput::json(&json!({"said": args["text"]}), format!("[{}] said", self.0.name));
        Box::pin(ready(Ok(output)))
    }
    fn parallel(&self, _: &Value) -> Parallel {
        Parallel::Never
    }
    fn idempotent(&self) -> bool {
        false
    }
    fn keeps_whole_results(&self) -> bool {
        false
    }
    fn is_outside(&self) -> bool {
        true
    }
}

fn registry(when: Option<bool>) -> Registry {
    let mut registry = Registry::builtin();
    registry.defer(Deferral {
        when,
        ..Deferral::default()
    });
    registry.add(
        "mcp-mail",
        Theirs::new("mcp__mail__send_letter", "Sends a letter to somebody."),
    );
    registry.add(
        "mcp-mail",
        Theirs::new("mcp__mail__list_folders", "Lists the folders of a mailbox."),
    );
    registry.add(
        "mcp-git",
        Theirs::new("mcp__git__log", "Shows the newest commits."),
    );
    registry
}

/// A host that remembers under which name what ran.
#[derive(Default)]
struct Names(Mutex<Vec<String>>);

impl Host for Names {
    fn intend(&self, _: &ToolCall, tool: &str, effect: Effect) -> Result<(), JournalError> {
        self.0.lock().unwrap().push(format!("intended {tool} {effect:?}"));
        Ok(())
    }
    fn started(&self, _: &ToolCall, tool: &str, args: &Value, _: Effect) -> Result<(), JournalError> {
        self.0.lock().unwrap().push(format!("started {tool} {args}"));
        Ok(())
    }
    fn spawned(&self, _: &ToolCall, _: u32) {}
    fn finished(&self, _: &ToolCall, result: &ToolResult) {
        self.0.lock().unwrap().push(format!("finished {}", result.name));
    }
    fn approve(
        &self,
        request: talaria_types::ApprovalRequest,
    ) -> BoxFuture<'_, talaria_types::ApprovalAnswer> {
        drop(request);
        Box::pin(ready(talaria_types::ApprovalAnswer::Deny))
    }
    fn can_ask(&self) -> bool {
        false
    }
    fn ask(&self, _: talaria_types::Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(ready(None))
    }
    fn status(&self, _: &str) {}
}

async fn call(registry: Arc<Registry>, name: &str, args: Value) -> (ToolResult, Vec<String>) {
    let selection = registry.select(&[], &[], 200_000).unwrap();
    let settings = ToolSettings::for_folder("/nowhere/home", "/");
    let executor = Executor::new(registry, selection, ToolSession::new(settings));
    let call = ToolCall {
        id: "c1".to_owned(),
        name: name.to_owned(),
        arguments: args.to_string(),
        extra: serde_json::Map::default(),
    };
    let host = Names::default();
    let batch = executor.run_all(&[call], &host, &CancellationToken::new()).await;
    (batch.results[0].clone(), host.0.into_inner().unwrap())
}

#[test]
fn few_tools_of_servers_are_offered_and_many_are_looked_up() {
    let few = registry(None);
    let names = few.select(&[], &[], 200_000).unwrap().names;
    assert!(names.contains(&"mcp__git__log".to_owned()) && !names.contains(&SEARCH.to_owned()));

    let mut many = registry(None);
    for number in 0..400 {
        let tool = Theirs::new(
            &format!("mcp__big__tool_{number}"),
            &"does many things. ".repeat(20),
        );
        many.add("mcp-big", tool);
    }
    let selection = many.select(&[], &[], 200_000).unwrap();
    assert!(selection.names.iter().all(|name| !name.starts_with("mcp__")));
    let specs = many.specs(&selection);
    let search = specs.iter().find(|spec| spec.name == SEARCH).unwrap();
    assert!(
        search.description.contains("big (400), git (1), mail (2)"),
        "{}",
        search.description
    );
    let three: usize = specs
        .iter()
        .filter(|spec| spec.name.starts_with("tool_"))
        .map(|spec| serde_json::to_string(spec).unwrap().len())
        .sum();
    assert!(three < 1_000, "{three} bytes");
}

#[test]
fn a_small_window_looks_up_and_keeps_its_budget() {
    let registry = registry(Some(true));
    let selection = registry.select(&[], &[], 8_192).unwrap();
    assert!(
        [SEARCH, CALL]
            .iter()
            .all(|name| selection.names.contains(&(*name).to_owned())),
        "{:?}",
        selection.names
    );
    assert_eq!(registry.specs(&selection).len(), selection.names.len());
}

#[tokio::test]
async fn a_call_through_tool_call_runs_and_is_written_down_under_the_tools_own_name() {
    let args = json!({"name": "mcp__mail__send_letter", "arguments": {"text": "hello"}});
    let (result, told) = call(Arc::new(registry(Some(true))), CALL, args).await;
    assert!(result.ok && result.name == "mcp__mail__send_letter", "{result:?}");
    assert_eq!(
        told,
        [
            "intended mcp__mail__send_letter Execute",
            "started mcp__mail__send_letter {\"text\":\"hello\"}",
            "finished mcp__mail__send_letter"
        ]
    );
}

#[tokio::test]
async fn arguments_that_were_written_as_a_text_are_understood() {
    let args = json!({"name": "mcp__mail__send_letter", "arguments": "{\"text\": \"hello\"}"});
    let (result, _) = call(Arc::new(registry(Some(true))), CALL, args).await;
    assert!(result.content.text().contains("hello"), "{result:?}");
}

#[tokio::test]
async fn a_tool_nobody_has_is_answered_with_where_to_look() {
    let (result, told) = call(Arc::new(registry(Some(true))), CALL, json!({"name": "mcp__x__y"})).await;
    assert!(!result.ok && result.content.text().contains(SEARCH), "{result:?}");
    assert!(told.iter().all(|line| !line.starts_with("started")));
}

#[tokio::test]
async fn tools_are_found_by_words_of_their_name_and_description() {
    let shared = Arc::new(registry(Some(true)));
    let (result, _) = call(shared.clone(), SEARCH, json!({"query": "send mail"})).await;
    let text = result.content.text().into_owned();
    let (first, second) = (
        text.find("send_letter").unwrap(),
        text.find("list_folders").unwrap(),
    );
    assert!(
        first < second && !text.contains("git__log") && text.starts_with("<untrusted"),
        "{text}"
    );
    let (result, _) = call(shared.clone(), SEARCH, json!({"query": "zzz"})).await;
    assert!(result.content.text().contains("mcp__git__log"), "{result:?}");
    let (result, _) = call(shared, DESCRIBE, json!({"name": "mcp__git__log"})).await;
    assert!(result.content.text().contains("\"parameters\""), "{result:?}");
}

#[tokio::test]
async fn a_tool_that_comes_meanwhile_is_found_and_the_sessions_tools_stay_the_same_bytes() {
    let registry = Arc::new(registry(Some(true)));
    let selection = registry.select(&[], &[], 200_000).unwrap();
    let before = registry.specs(&selection);
    registry.arrive(
        "mcp-mail",
        Theirs::new("mcp__mail__archive", "Archives a letter."),
    );
    assert_eq!(before, registry.specs(&selection));
    let (result, _) = call(
        registry.clone(),
        CALL,
        json!({"name": "mcp__mail__archive", "arguments": {}}),
    )
    .await;
    assert!(result.ok, "{result:?}");
    registry.leave("mcp-mail");
    let (result, _) = call(
        registry,
        CALL,
        json!({"name": "mcp__mail__archive", "arguments": {}}),
    )
    .await;
    assert!(!result.ok, "{result:?}");
}

#[test]
fn a_servers_own_name_stands_for_its_toolset_and_a_silent_server_selects_nothing() {
    let mut registry = registry(None);
    let names = registry.select(&["mail".to_owned()], &[], 200_000).unwrap().names;
    assert_eq!(names, ["mcp__mail__list_folders", "mcp__mail__send_letter"]);
    assert!(registry.select(&["late".to_owned()], &[], 200_000).is_err());
    registry.announce("mcp-late");
    assert!(
        registry
            .select(&["late".to_owned()], &[], 200_000)
            .unwrap()
            .names
            .is_empty()
    );
    let rest = registry.select(&[], &["mail".to_owned()], 200_000).unwrap().names;
    assert!(rest.contains(&"mcp__git__log".to_owned()) && !rest.iter().any(|name| name.contains("mail")));
}
