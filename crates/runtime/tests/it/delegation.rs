//! Work that is handed to subagents: what they are told, what comes back, what it costs, and what a kill leaves.

use std::sync::Arc;

use serde_json::{Value, json};
use talaria_runtime::Open;
use talaria_store::{Delegation, NewSession};
use talaria_types::{Event, Message, Op, SessionId, Timestamp, ToolCall, TurnResult};

use crate::rig::{Rig, Talk};

/// A server whose first answers are the parent's, and whose subagents answer by their task.
fn rig(parent: &Value, children: &[(&str, Value)], more: &str) -> Rig {
    let rules: Vec<Value> = children
        .iter()
        .map(|(task, answer)| json!({"when": {"last_user": format!("TASK:\\s+{task}")}, "respond": answer}))
        .collect();
    Rig::with_scenario(&json!({"steps": parent, "match": rules}), more)
}

fn delegates(args: Value) -> Value {
    json!({"tool_calls": [{"name": "delegate_task", "args": args}]})
}

/// What the parent read of its subagents.
fn told(rig: &Rig) -> Value {
    let requests = rig.server.main_requests();
    let results = requests.iter().flat_map(|request| request.texts("tool"));
    let mut found = results.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
    found.find(|value| value["results"].is_array()).unwrap()
}

async fn turn(rig: &Rig) -> (Vec<Event>, TurnResult) {
    Talk::open(&rig.engine(), Open::New).await.turn("begin").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subagents_work_side_by_side_and_their_answers_come_back_in_order() {
    // Each waits for the other's file: one after the other they would never end.
    let wait = |own: &str, other: &str| {
        let command = format!("touch {own}; until test -e {other}; do sleep 0.02; done");
        json!({"tool_calls": [{"name": "terminal", "args": {"command": command}}]})
    };
    let rules = json!([
        {"when": {"last_user": "TASK:\\s+alpha"}, "respond": wait("a", "b"), "times": 1},
        {"when": {"last_user": "TASK:\\s+beta"}, "respond": wait("b", "a"), "times": 1},
        {"when": {"last_user": "TASK:\\s+alpha"}, "respond": {"text": "alpha is done"}},
        {"when": {"last_user": "TASK:\\s+beta"}, "respond": {"text": "beta is done"}},
    ]);
    let tasks = json!({"tasks": [{"goal": "alpha", "context": "mind the gap"}, {"goal": "beta"}]});
    let steps = json!([delegates(tasks), {"text": "both are done"}]);
    let rig = Rig::with_scenario(&json!({"steps": steps, "match": rules}), "");
    std::fs::write(rig.home.work().join("AGENTS.md"), "the person's rules").unwrap();
    let (_, result) = turn(&rig).await;
    assert_eq!(result.final_response.as_deref(), Some("both are done"));
    let told = told(&rig);
    for (index, name) in ["alpha", "beta"].into_iter().enumerate() {
        let one = &told["results"][index];
        assert_eq!(one["status"], "completed", "{told}");
        assert_eq!(one["summary"], format!("{name} is done"));
        assert_eq!(one["exit_reason"], "completed");
        assert_eq!(
            (&one["api_calls"], &one["tool_trace"][0]["tool"]),
            (&json!(2), &json!("terminal"))
        );
        let store = rig.engine();
        let id = SessionId::new(one["session_id"].as_str().unwrap());
        let row = store.store().session(&id).unwrap().unwrap();
        assert_eq!(
            (row.source.as_str(), row.end_reason.as_deref()),
            ("subagent", Some("completed"))
        );
        assert_eq!(row.parent_session_id, Some(result.session_id.clone()));
        assert_eq!(row.model_config["_delegate_from"], result.session_id.as_str());
    }
    let requests = rig.server.main_requests();
    let child = requests
        .iter()
        .find(|request| request.says("mind the gap") && request.says("You are a subagent"));
    let child = child.unwrap();
    assert!(!child.says("the person's rules") && !child.says("begin"));
    let tools = child.body["tools"].to_string();
    for never in ["delegate_task", "clarify", "memory"] {
        assert!(!tools.contains(&format!("\"{never}\"")), "{never}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_tasks_than_may_run_at_once_are_refused_with_the_limit() {
    let many: Vec<Value> = (0..4)
        .map(|number| json!({"goal": format!("task {number}")}))
        .collect();
    let rig = Rig::new(json!([delegates(json!({"tasks": many})), {"text": "I see"}]));
    turn(&rig).await;
    let requests = rig.server.main_requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].says("4 tasks are more than the 3 that may run at once"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_toolset_that_is_not_there_starts_nobody() {
    let args = json!({"goal": "alpha", "toolsets": ["nonsense"]});
    let rig = Rig::new(json!([delegates(args), {"text": "I see"}]));
    turn(&rig).await;
    assert_eq!(rig.server.main_requests().len(), 2);
    assert!(rig.server.main_requests()[1].says("there is no toolset"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orchestrator_may_delegate_as_deep_as_is_allowed_and_no_deeper() {
    let args = |goal: &str| json!({"goal": goal, "role": "orchestrator"});
    let rules = json!([
        {"when": {"last_user": "TASK:\\s+upper"}, "respond": delegates(args("lower")), "times": 1},
        {"when": {"last_user": "TASK:\\s+upper"}, "respond": {"text": "upper done"}},
        {"when": {"last_user": "TASK:\\s+lower"}, "respond": {"text": "lower done"}},
    ]);
    let steps = json!([delegates(args("upper")), {"text": "done"}]);
    let rig = Rig::with_scenario(
        &json!({"steps": steps, "match": rules}),
        "delegation:\n  max_spawn_depth: 2\n",
    );
    let (_, result) = turn(&rig).await;
    let requests = rig.server.main_requests();
    let tools = |task: &str| {
        let request = requests
            .iter()
            .find(|request| request.says(&format!("TASK:\n{task}")))
            .unwrap();
        request.body["tools"].to_string()
    };
    assert!(tools("upper").contains("delegate_task"));
    assert!(!tools("lower").contains("delegate_task"));
    // The grandchild is charged too.
    assert!(result.usage_by_task["delegate"].completion_tokens > 0);
    let calls = rig.engine().store().insights(Timestamp(0.0)).unwrap();
    assert_eq!(calls.models.iter().map(|model| model.api_calls).sum::<u64>(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_subagents_use_is_charged_to_their_parent_and_counted_once() {
    let steps = json!([delegates(json!({"goal": "alpha"})), {"text": "done"}]);
    let rig = rig(&steps, &[("alpha", json!({"text": "alpha done"}))], "");
    let (_, result) = turn(&rig).await;
    let own = result.usage.prompt_tokens;
    let delegated = result.usage_by_task["delegate"];
    assert!(delegated.prompt_tokens > 0 && own > delegated.prompt_tokens);
    let insights = rig.engine().store().insights(Timestamp(0.0)).unwrap();
    let all: u64 = insights
        .models
        .iter()
        .map(|model| model.usage.prompt_tokens)
        .sum();
    assert_eq!(all, own + delegated.prompt_tokens);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_of_the_parent_ends_its_subagents() {
    let steps = json!([delegates(json!({"goal": "alpha"}))]);
    let rig = rig(&steps, &[("alpha", json!({"hang": true}))], "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Prompt {
        content: "begin".into(),
    });
    talk.until(|event| matches!(event, Event::Status { text } if text.contains("started as session")))
        .await;
    talk.handle.send(Op::Interrupt);
    let (_, result) = talk.rest().await;
    assert!(result.interrupted);
    let children = engine.store().delegates(&result.session_id).unwrap();
    let text = engine
        .store()
        .live(&result.session_id)
        .unwrap()
        .last()
        .unwrap()
        .message
        .content
        .text()
        .into_owned();
    assert!(text.contains("interrupted"), "{text}");
    // It had no row yet, or it has ended.
    assert!(
        children
            .iter()
            .all(|child| child.end_reason.as_deref() == Some("interrupted"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dangerous_command_of_a_subagent_is_refused_and_its_parent_reads_which() {
    let rules = json!([
        {"when": {"last_user": "TASK:\\s+alpha"}, "times": 1,
         "respond": {"tool_calls": [{"name": "terminal", "args": {"command": "rm -rf ./built"}}]}},
        {"when": {"last_user": "TASK:\\s+alpha"}, "respond": {"text": "I was not allowed to"}},
    ]);
    let steps = json!([delegates(json!({"goal": "alpha"})), {"text": "done"}]);
    let rig = Rig::with_scenario(&json!({"steps": steps, "match": rules}), "");
    let path = rig.home.path().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, config.replace("mode: \"off\"", "mode: manual")).unwrap();
    std::fs::create_dir(rig.home.work().join("built")).unwrap();
    let engine = rig.interactive_engine();
    let (events, _) = Talk::open(&engine, Open::New).await.turn("begin").await;
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::ApprovalRequested(_)))
    );
    assert!(rig.home.work().join("built").exists());
    let told = told(&rig);
    assert_eq!(
        told["results"][0]["refused"],
        json!(["terminal rm -rf ./built"]),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_a_subagent_changed_are_told_to_who_had_read_them() {
    let rules = json!([
        {"when": {"last_user": "TASK:\\s+alpha"}, "times": 1,
         "respond": {"tool_calls": [{"name": "write_file", "args": {"path": "notes.txt", "content": "other words\n"}}]}},
        {"when": {"last_user": "TASK:\\s+alpha"}, "respond": {"text": "changed"}},
    ]);
    let steps = json!([
        {"tool_calls": [{"name": "read_file", "args": {"path": "notes.txt"}}]},
        delegates(json!({"goal": "alpha"})),
        {"text": "done"},
    ]);
    let rig = Rig::with_scenario(&json!({"steps": steps, "match": rules}), "");
    std::fs::write(rig.home.work().join("notes.txt"), "words\n").unwrap();
    turn(&rig).await;
    let told = told(&rig);
    assert_eq!(told["results"][0]["files_written"], json!(["notes.txt"]));
    let note = told["note"].as_str().unwrap();
    assert!(
        note.contains("read them again before you edit them: notes.txt"),
        "{note}"
    );
}

/// A session in which a call of `delegate_task` was under way when the program was killed; `said` is what its
/// subagent had said by then.
async fn killed(rig: &Rig, said: &[Message]) -> SessionId {
    let engine = rig.engine();
    let (_, result) = Talk::open(&engine, Open::New).await.turn("begin").await;
    let id = result.session_id;
    let call = ToolCall {
        id: "call_killed".to_owned(),
        name: "delegate_task".to_owned(),
        arguments: r#"{"goal":"alpha"}"#.to_owned(),
        extra: serde_json::Map::new(),
    };
    let asked = Message {
        tool_calls: vec![call],
        ..Message::assistant("")
    };
    let rows = [Arc::new(Message::user("do it")), Arc::new(asked)];
    engine.store().append(&id, &rows, Timestamp(2.0)).unwrap();
    let child = NewSession {
        id: SessionId::new("20260101_000000_c00001"),
        source: "subagent".to_owned(),
        parent: Some(id.clone()),
        model: "mock-model".to_owned(),
        model_config: json!({"_delegate_from": id.as_str(), "_delegate_call": "call_killed", "_delegate_task": 0}),
        system_prompt: "x".to_owned(),
        cwd: None,
        title: None,
        started_at: Timestamp(2.0),
        billing: (String::new(), String::new(), String::new()),
    };
    engine.store().create_session(&child).unwrap();
    let rows: Vec<_> = said.iter().cloned().map(Arc::new).collect();
    engine.store().append(&child.id, &rows, Timestamp(3.0)).unwrap();
    id
}

fn resume(id: &SessionId) -> Open {
    Open::Resume {
        name: id.to_string(),
        exact: false,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subagent_that_died_with_its_parent_is_lost_and_can_be_read() {
    let rig = Rig::new(json!([{"text": "begun"}, {"text": "I will look"}]));
    let id = killed(&rig, &[Message::user("TASK: alpha")]).await;
    Talk::open(&rig.engine(), resume(&id)).await.turn("go on").await;
    let told = told(&rig);
    let one = &told["results"][0];
    assert_eq!(
        (&one["status"], &one["session_id"]),
        (&json!("lost"), &json!("20260101_000000_c00001"))
    );
    assert!(one["error"].as_str().unwrap().contains("outcome is unknown"));
    let child = SessionId::new("20260101_000000_c00001");
    let row = rig.engine().store().session(&child).unwrap().unwrap();
    assert_eq!(row.end_reason.as_deref(), Some("lost"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_was_given_before_the_kill_is_not_lost() {
    let rig = Rig::new(json!([{"text": "begun"}, {"text": "good"}]));
    let id = killed(
        &rig,
        &[Message::user("TASK: alpha"), Message::assistant("alpha is 42")],
    )
    .await;
    Talk::open(&rig.engine(), resume(&id)).await.turn("go on").await;
    let one = &told(&rig)["results"][0];
    assert_eq!(
        (&one["status"], &one["summary"]),
        (&json!("completed"), &json!("alpha is 42"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_was_sent_away_comes_back_as_a_message_and_the_session_goes_on() {
    let steps = json!([
        delegates(json!({"goal": "alpha", "background": true})),
        {"text": "meanwhile"},
        {"text": "alpha has come"},
    ]);
    let rules = json!([{"when": {"last_user": "TASK:\\s+alpha"}, "respond": {"text": "alpha is done"}}]);
    let rig = Rig::with_scenario(&json!({"steps": steps, "match": rules}), "");
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let (_, first) = talk.turn("begin").await;
    assert_eq!(first.final_response.as_deref(), Some("meanwhile"));
    let (_, second) = talk.rest().await;
    assert_eq!(second.final_response.as_deref(), Some("alpha has come"));
    let rows = engine.store().live(&second.session_id).unwrap();
    let brought = rows.iter().filter(|row| {
        row.message
            .content
            .text()
            .contains("Result of the background work")
    });
    let brought: Vec<_> = brought.collect();
    assert_eq!(brought.len(), 1);
    assert!(brought[0].message.content.text().contains("alpha is done"));
    assert!(
        engine
            .store()
            .open_delegations(&second.session_id, Timestamp(9.0))
            .unwrap()
            .is_empty()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_waits_background_work_is_done_before_the_answer() {
    let steps = json!([delegates(json!({"goal": "alpha", "background": true})), {"text": "done"}]);
    let rig = rig(&steps, &[("alpha", json!({"text": "alpha is done"}))], "");
    turn(&rig).await;
    let told = told(&rig);
    assert_eq!(told["results"][0]["summary"], "alpha is done");
    assert!(told["note"].as_str().unwrap().contains("background was left out"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_result_of_work_that_outlived_nobody_is_delivered_once() {
    let rig = Rig::new(json!([{"text": "begun"}, {"text": "lost then"}, {"text": "yes"}]));
    let engine = rig.interactive_engine();
    let (_, result) = Talk::open(&engine, Open::New).await.turn("begin").await;
    let id = result.session_id;
    engine
        .store()
        .delegate(&Delegation {
            id: "d00001".to_owned(),
            session: id.clone(),
            state: "running".to_owned(),
            task: json!({"tasks": [{"goal": "alpha", "session_id": "20260101_000000_c00009"}]}),
            result: None,
            dispatched_at: Timestamp(1.0),
        })
        .unwrap();
    // Its process is dead.
    rig.sql("UPDATE async_delegations SET owner_pid = 4194399, owner_started_at = 5");
    for prompt in ["and now?", "sure?"] {
        Talk::open(&rig.interactive_engine(), resume(&id))
            .await
            .turn(prompt)
            .await;
    }
    let requests = rig.server.main_requests();
    let times = |request: usize| {
        let texts = requests[request].texts("user");
        texts
            .iter()
            .filter(|text| text.contains("background work d00001"))
            .count()
    };
    assert!(requests[1].says("it had not begun when the program ended"));
    assert_eq!((times(1), times(2)), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_beside_the_conversation_is_a_session_of_its_own_and_told_when_it_is_done() {
    let rules = json!([{"when": {"last_user": "what is two"}, "respond": {"text": "two is two"}}]);
    let rig = Rig::with_scenario(&json!({"steps": [{"text": "begun"}], "match": rules}), "");
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Command {
        name: "background".to_owned(),
        args: "what is two".to_owned(),
    });
    let ended = talk
        .until(|event| matches!(event, Event::Status { text } if text.starts_with("background b")))
        .await;
    let Event::Status { text } = ended else {
        unreachable!()
    };
    assert!(text.contains("two is two"), "{text}");
    let id = text
        .split("talaria -r ")
        .nth(1)
        .unwrap()
        .split(')')
        .next()
        .unwrap();
    let row = engine.store().session(&SessionId::new(id)).unwrap().unwrap();
    assert_eq!((row.source.as_str(), row.parent_session_id), ("background", None));
}
