//! The review after a turn.

#![allow(
    clippy::needless_pass_by_value,
    reason = "steps are written where they are used"
)]

use serde_json::{Value, json};
use talaria_runtime::Open;
use talaria_testkit::{MockServer, Recorded, Scenario, TempHome};
use talaria_types::{Event, Op};

use crate::rig::{Rig, Talk};

const CONFIG: &str = "memory:\n  nudge_interval: 2\nskills:\n  creation_nudge_interval: 0\n";

fn text(text: &str) -> Value {
    json!({ "text": text })
}

fn call(name: &str, args: Value) -> Value {
    json!({"tool_calls": [{"name": name, "args": args}]})
}

fn add(content: &str) -> Value {
    call("memory", json!({"action": "add", "content": content}))
}

/// The person's turns are answered by `steps`, reviews by `review` in order and then with nothing to save.
fn rig(steps: Value, review: &[Value], more: &str) -> Rig {
    let when = json!({"last_user": "^Review the conversation above"});
    let mut rules: Vec<Value> = review
        .iter()
        .map(|step| json!({"name": "review", "when": when, "respond": step, "times": 1}))
        .collect();
    rules.push(json!({"name": "review", "when": when, "respond": text("Nothing to save.")}));
    let scenario = Scenario::from_value(json!({"steps": steps, "match": rules})).unwrap();
    let server = MockServer::start(scenario).unwrap();
    let home = TempHome::pointing_at(&server).unwrap();
    let path = home.path().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, format!("{config}{CONFIG}{more}")).unwrap();
    Rig { server, home }
}

fn reviews(rig: &Rig) -> Vec<Recorded> {
    let mut all = rig.server.main_requests();
    all.retain(|request| request.kind == "match:review");
    all
}

fn memory(rig: &Rig) -> String {
    std::fs::read_to_string(rig.home.path().join("memories/MEMORY.md")).unwrap_or_default()
}

fn waiting(rig: &Rig) -> usize {
    let folder = rig.home.path().join("pending/reviews");
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_sends_the_conversations_own_bytes_and_one_message_more() {
    let rig = rig(
        json!([text("one"), text("two"), text("three")]),
        &[add("The user likes tea.")],
        "",
    );
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("first").await;
    assert!(reviews(&rig).is_empty());
    let (_, result) = talk.turn("second").await;
    talk.handle.settled().await;
    let (parent, review) = (&rig.server.main_requests()[1], &reviews(&rig)[0]);
    assert_eq!(review.body["tools"], parent.body["tools"]);
    let (before, after) = (parent.messages(), review.messages());
    assert_eq!(
        &after[..before.len()],
        before,
        "system prompt and messages, byte for byte"
    );
    assert_eq!(after.len(), before.len() + 2, "the answer and the question");
    let line = talk
        .until(|event| matches!(event, Event::Status { text } if text.starts_with('💾')))
        .await;
    let Event::Status { text } = line else {
        panic!("{line:?}")
    };
    assert_eq!(
        text,
        "💾 Self-improvement review: Memory updated (undo: /memory undo)"
    );
    assert_eq!(memory(&rig), "The user likes tea.");
    assert_eq!(
        engine.store().all(&result.session_id).unwrap().len(),
        4,
        "no row of the session is the review's"
    );
    talk.turn("third").await;
    talk.handle.settled().await;
    assert_eq!(reviews(&rig).len(), 2, "the count starts anew");
    assert_eq!(waiting(&rig), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_memory_and_skills_works_in_a_review_and_nobody_is_asked() {
    let touch = |file: &str| call("terminal", json!({"command": format!("rm -rf / ; touch {file}")}));
    let write = call("write_file", json!({"path": "review-file", "content": "x"}));
    let steps = [touch("review-was-here"), write, add("kept all the same")];
    let rig = rig(
        json!([text("one"), text("two")]),
        &steps,
        "approvals:\n  mode: manual\n",
    );
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("first").await;
    talk.turn("second").await;
    talk.handle.settled().await;
    let last = reviews(&rig).pop().unwrap();
    for tool in ["terminal", "write_file"] {
        assert!(
            last.says(&format!("{tool} is denied in a review")),
            "{:?}",
            last.messages()
        );
    }
    assert_eq!(std::fs::read_dir(rig.home.work()).unwrap().count(), 0);
    assert_eq!(memory(&rig), "kept all the same");
    let asked = std::cell::Cell::new(false);
    talk.handle.send(Op::Command {
        name: "status".to_owned(),
        args: String::new(),
    });
    talk.until(|event| {
        asked.set(asked.get() || matches!(event, Event::ApprovalRequested(_)));
        matches!(event, Event::Status { text } if !text.starts_with('💾'))
    })
    .await;
    assert!(!asked.get());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_never_ends_beyond_its_calls_and_never_reviews_itself() {
    let rig = rig(
        json!([text("one"), text("two")]),
        &vec![call("skills_list", json!({})); 40],
        "",
    );
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("first").await;
    talk.turn("second").await;
    talk.handle.settled().await;
    assert!(reviews(&rig).len() <= 16, "{}", reviews(&rig).len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_that_is_stopped_is_done_by_the_next_start() {
    let hang = json!({"hang": true});
    let rig = rig(
        json!([text("one"), text("two"), text("three")]),
        &[hang, add("late, and not lost")],
        "",
    );
    {
        let engine = rig.engine();
        let mut talk = Talk::open(&engine, Open::New).await;
        talk.turn("first").await;
        let (_, result) = talk.turn("second").await;
        assert_eq!(
            result.final_response.as_deref(),
            Some("two"),
            "it keeps nobody waiting"
        );
        // One that has not asked yet would leave the answer that never comes to the next start.
        while reviews(&rig).is_empty() {
            tokio::task::yield_now().await;
        }
        talk.handle.send(Op::Shutdown);
        talk.ended().await;
    }
    assert_eq!(waiting(&rig), 1);
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("another conversation").await;
    talk.handle.settled().await;
    assert_eq!((memory(&rig).as_str(), waiting(&rig)), ("late, and not lost", 0));
    assert!(reviews(&rig).last().unwrap().says("second"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_review_makes_a_skill_and_marks_it_as_the_agents_own() {
    let create = call(
        "skill_manage",
        json!({"action": "create", "name": "release-notes",
            "content": "---\nname: release-notes\ndescription: Write notes\n---\n\nUse the changelog.\n"}),
    );
    let rig = rig(json!([text("one"), text("two")]), &[create], "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("first").await;
    talk.turn("second").await;
    talk.handle.settled().await;
    let usage = std::fs::read_to_string(rig.home.path().join("skills/.usage.json")).unwrap();
    let usage: Value = serde_json::from_str(&usage).unwrap();
    assert_eq!(usage["release-notes"]["created_by"], "agent");
    assert_eq!(usage["release-notes"]["write_origin"], "background_review");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_review_wants_to_write_waits_where_the_person_wants_to_be_asked() {
    let rig = rig(json!([text("one"), text("two")]), &[add("a guess")], "");
    let path = rig.home.path().join("config.yaml");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        config.replace("memory:\n", "memory:\n  write_approval: true\n"),
    )
    .unwrap();
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("first").await;
    talk.turn("second").await;
    talk.handle.settled().await;
    assert_eq!(memory(&rig), "");
    assert_eq!(
        std::fs::read_dir(rig.home.path().join("pending/memory"))
            .unwrap()
            .count(),
        1
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_may_review_and_gets_only_the_tools_that_work() {
    let side = "auxiliary:\n  background_review:\n    model: side-model\n";
    let rig = rig(json!([text("one"), text("two")]), &[add("seen by another")], side);
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.turn("first").await;
    let (_, result) = talk.turn("second").await;
    talk.handle.settled().await;
    let review = &reviews(&rig)[0];
    assert_eq!(review.model, "side-model");
    assert_eq!(review.body["tools"].as_array().unwrap().len(), 4);
    assert_eq!(memory(&rig), "seen by another");
    let totals = engine.store().session(&result.session_id).unwrap().unwrap();
    assert_eq!(totals.message_count, 4);
}
