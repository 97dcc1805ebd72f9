//! Compressions in whole turns: how the summary is asked for, and what is told of it.

use serde_json::{Value, json};
use talaria_runtime::Open;
use talaria_types::{Event, Op, SessionId};

use crate::rig::{Rig, Talk};

/// Compresses from 20 000 tokens on.
const SMALL: &str = "compression:\n  min_tokens: 3000\n  threshold: 0.1\n  protect_first_n: 0\n";

fn summary() -> Value {
    let text: String = talaria_context::compress::HEADINGS
        .iter()
        .map(|heading| format!("## {heading}\nThe log was read as far as part two.\n\n"))
        .collect();
    json!({ "text": text })
}

/// Answers of some length; the provider reports what of each prompt was cached.
fn long_answers(count: usize, cached: u64) -> Value {
    (0..count)
        .map(|turn| {
            let text = format!("Part {turn} of the answer. ").repeat(160);
            json!({"text": text, "usage": {"cached": cached}})
        })
        .collect()
}

fn rig(cached: u64, summary_cached: u64, more: &str) -> Rig {
    let mut answer = summary();
    answer["usage"] = json!({ "cached": summary_cached });
    let scenario = json!({"steps": long_answers(12, cached), "tasks": {"summary": answer}});
    Rig::with_scenario(&scenario, more)
}

async fn compress(talk: &mut Talk) -> Event {
    talk.handle.send(Op::Command {
        name: "compress".to_owned(),
        args: String::new(),
    });
    let done = |event: &Event| match event {
        Event::CompactionFinished(_) | Event::Warning { .. } => true,
        Event::Status { text } => text.starts_with("nothing was compressed"),
        _ => false,
    };
    let event = talk.until(done).await;
    assert!(matches!(event, Event::CompactionFinished(_)), "{event:?}");
    event
}

/// Requests for a summary: how many tools each carries.
fn tools_of_summaries(rig: &Rig) -> Vec<usize> {
    let requests = rig.server.requests();
    let summaries = requests
        .iter()
        .filter(|request| request.task.map(|task| task.as_str()) == Some("summary"));
    summaries
        .map(|request| request.body["tools"].as_array().map_or(0, Vec::len))
        .collect()
}

async fn filled(talk: &mut Talk) {
    for turn in 0..4 {
        let prompt = format!("Question {turn}: {}", "what does the log say? ".repeat(60));
        talk.turn(&prompt).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_summary_is_asked_for_behind_the_sessions_own_prefix_so_that_the_cache_pays() {
    let rig = rig(500, 3_000, "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    filled(&mut talk).await;
    let Event::CompactionFinished(report) = compress(&mut talk).await else {
        unreachable!()
    };
    assert!(report.compressed, "{report:?}");
    assert_eq!(report.usage.cache_read_tokens, 3_000);
    assert!(
        report.bill_in_words().unwrap().contains("3000 cached"),
        "{:?}",
        report.bill_in_words()
    );
    let requests = rig.server.requests();
    let asked = requests.last().unwrap();
    let before = rig.server.main_requests();
    let sent = before.last().unwrap().messages();
    assert_eq!(asked.body["tool_choice"], "none");
    assert_eq!(asked.body["tools"], before.last().unwrap().body["tools"]);
    let shared = asked.messages().len() - 1;
    assert!(shared > 2);
    assert_eq!(asked.messages()[..shared], sent[..shared]);
    let record = &engine.store().compactions(&report.session_after).unwrap()[0];
    assert_eq!(record.facts.usage.cache_read_tokens, 3_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prefix_that_missed_the_cache_is_not_sent_again() {
    let rig = rig(500, 0, "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    filled(&mut talk).await;
    compress(&mut talk).await;
    filled(&mut talk).await;
    compress(&mut talk).await;
    let tools = tools_of_summaries(&rig);
    assert!(tools[0] > 0 && tools[1] == 0, "{tools:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_in_the_prefix_or_the_setting_gets_a_request_of_its_own() {
    for (more, prompt) in [
        ("compression:\n  strategy: serialized\n", "hello"),
        ("", "the key is sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH"),
    ] {
        let rig = rig(500, 0, more);
        let engine = rig.engine();
        let mut talk = Talk::open(&engine, Open::New).await;
        talk.turn(prompt).await;
        filled(&mut talk).await;
        compress(&mut talk).await;
        assert_eq!(tools_of_summaries(&rig), [0], "{prompt}");
        assert!(!rig.server.requests().last().unwrap().says("Zq8vN2mL5x"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_no_summary_is_asked_for_once_more_in_a_request_of_its_own() {
    let scenario =
        json!({"steps": long_answers(6, 0), "tasks": {"summary": [{"text": "Hello!"}, summary()]}});
    let rig = Rig::with_scenario(&scenario, "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    filled(&mut talk).await;
    let Event::CompactionFinished(report) = compress(&mut talk).await else {
        unreachable!()
    };
    assert!(report.compressed);
    let tools = tools_of_summaries(&rig);
    assert!(tools.len() == 2 && tools[0] > 0 && tools[1] == 0, "{tools:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_context_is_shown_by_what_decides_about_compressing_it() {
    let rig = rig(500, 0, "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    filled(&mut talk).await;
    talk.handle.send(Op::Command {
        name: "context".to_owned(),
        args: String::new(),
    });
    let Event::Status { text } = talk.until(|event| matches!(event, Event::Status { .. })).await else {
        unreachable!()
    };
    assert!(text.contains("next compression at 100 000"), "{text}");
    assert!(
        text.contains("no compression") && text.contains("500 from the cache"),
        "{text}"
    );
    compress(&mut talk).await;
    let id = engine.store().newest(None).unwrap().unwrap();
    let context = engine.context(id.as_str()).await.unwrap();
    assert_eq!(context.view.compressions, 1);
    let sum: u64 = context.view.parts.iter().map(|share| share.tokens).sum();
    assert_eq!(sum, context.view.tokens);
    let kinds = format!("{:?}", context.view.parts);
    assert!(kinds.contains("Summary") && kinds.contains("Tools"), "{kinds}");
}

fn goal_of(engine: &talaria_runtime::Engine, id: &SessionId) -> Value {
    let stored = engine.store().meta(&format!("goal:{id}")).unwrap();
    stored.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

/// How often a judge was asked.
fn judged(rig: &Rig) -> usize {
    let question = "You judge whether a standing goal is reached";
    let requests = rig.server.requests();
    requests.iter().filter(|request| request.says(question)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_goal_goes_on_until_the_judge_finds_it_reached_over_a_compression_too() {
    let side = json!([
        {"text": "{\"done\": false, \"reason\": \"two tests fail\"}"},
        {"text": "{\"done\": false, \"reason\": \"one test fails\"}"},
        {"text": "{\"done\": true, \"reason\": \"all green\"}"},
    ]);
    let mut steps = long_answers(9, 0);
    steps[1]["usage"] = json!({"prompt": 21_000});
    let scenario = json!({"steps": steps, "tasks": {"side": side, "summary": summary()}});
    let rig = Rig::with_scenario(&scenario, SMALL);
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Command {
        name: "goal".to_owned(),
        args: format!("make all tests pass {}", "and keep notes ".repeat(400)),
    });
    let mut last = None;
    for turn in 0..3 {
        let (_, result) = talk.rest().await;
        assert!(result.completed, "turn {turn}: {result:?}");
        assert_eq!(talk.handle.goes_on(), turn < 2, "turn {turn}");
        last = Some(result);
    }
    let last = last.unwrap();
    assert_ne!(last.session_id, last.root_session_id, "no compression happened");
    let goal = goal_of(&engine, &last.session_id);
    assert_eq!(
        (&goal["status"], &goal["turns_used"]),
        (&json!("done"), &json!(3))
    );
    let requests = rig.server.main_requests();
    assert!(requests[1].says("[Continuing toward your standing goal]") && requests[1].says("two tests fail"));
    assert_eq!(judged(&rig), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_goal_waits_when_it_is_paused_and_is_gone_when_it_is_cleared() {
    let scenario = json!({"steps": long_answers(9, 0), "tasks": {"side": {"text": "{\"done\": false, \"reason\": \"no\"}"}}});
    let rig = Rig::with_scenario(&scenario, "goals:\n  max_turns: 2\n");
    let engine = rig.interactive_engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    talk.handle.send(Op::Command {
        name: "goal".to_owned(),
        args: "ship it".to_owned(),
    });
    talk.rest().await;
    let (events, result) = talk.rest().await;
    let told = format!("{events:?}");
    assert!(told.contains("its 2 turns are spent"), "{told}");
    assert!(!talk.handle.goes_on());
    assert_eq!(goal_of(&engine, &result.session_id)["status"], "paused");
    talk.handle.send(Op::Command {
        name: "goal".to_owned(),
        args: "clear".to_owned(),
    });
    talk.turn("next").await;
    assert!(!talk.handle.goes_on());
    assert_eq!(judged(&rig), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn going_on_after_a_long_silence_starts_another_session_where_the_policy_says_so() {
    let rig = Rig::with_config(
        &long_answers(4, 0),
        "session_reset:\n  mode: idle\n  idle_minutes: 60\n",
    );
    let engine = rig.engine();
    let (_, first) = Talk::open(&engine, Open::New).await.turn("begin").await;
    let (_, second) = Talk::open(&engine, Open::Newest).await.turn("on").await;
    assert_eq!(first.session_id, second.session_id);
    rig.sql("UPDATE messages SET timestamp = timestamp - 7200; UPDATE sessions SET started_at = started_at - 7200");
    let mut talk = Talk::open(&engine, Open::Newest).await;
    let (events, third) = talk.turn("again").await;
    assert_ne!(third.session_id, first.session_id);
    assert!(
        format!("{events:?}").contains("session_reset: idle"),
        "{events:?}"
    );
    let old = engine.store().session(&first.session_id).unwrap().unwrap();
    assert_eq!(old.end_reason.as_deref(), Some("idle"));
    assert_eq!(engine.store().live(&third.session_id).unwrap().len(), 2);
}

/// The events up to the answer of a command.
async fn told(talk: &mut Talk, args: &str) -> Vec<Event> {
    talk.handle.send(Op::Command {
        name: "compress".to_owned(),
        args: args.to_owned(),
    });
    let mut seen = Vec::new();
    loop {
        let event = talk.until(|_| true).await;
        let done = matches!(&event, Event::Status { text }
            if text.starts_with("nothing was compressed") || text.contains("/uncompress undoes it"));
        seen.push(event);
        if done {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_of_the_summariser_is_warned_about_once_and_costs_no_history() {
    let refused = json!({"status": 400, "error": {"message": "summaries are not served here", "type": "invalid_request_error"}});
    let scenario = json!({"steps": long_answers(8, 0), "tasks": {"summary": refused}});
    let rig = Rig::with_scenario(&scenario, "compression:\n  strategy: serialized\n");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    filled(&mut talk).await;
    let mut warnings = 0;
    for _ in 0..2 {
        let events = told(&mut talk, "").await;
        let is_warning =
            |event: &&Event| matches!(event, Event::Warning { text } if text.contains("not served here"));
        warnings += events.iter().filter(is_warning).count();
    }
    assert_eq!(warnings, 1);
    let id = engine.store().newest(None).unwrap().unwrap();
    assert_eq!(engine.store().live(&id).unwrap().len(), 8);
    assert!(engine.store().compactions(&id).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_compression_is_noticed_and_every_boundary_is_told() {
    let rig = rig(0, 0, "");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    let mut ids = Vec::new();
    for pass in 1..=2 {
        filled(&mut talk).await;
        let events = told(&mut talk, "").await;
        let notice = "⚠️ Session compressed 2 times — accuracy may degrade.";
        let noticed = events
            .iter()
            .any(|event| matches!(event, Event::Status { text } if text == notice));
        assert_eq!(noticed, pass == 2);
        let place = |wanted: fn(&Event) -> bool| events.iter().position(wanted);
        let began = place(|event| matches!(event, Event::CompactionStarted { .. })).unwrap();
        let rotated =
            place(|event| matches!(event, Event::SessionRotated { reason, .. } if reason == "compression"));
        let ended = place(|event| matches!(event, Event::CompactionFinished(_))).unwrap();
        assert!(rotated.is_some_and(|rotated| began < rotated && rotated < ended));
        let Some(Event::SessionRotated { from, to, .. }) = rotated.map(|at| &events[at]) else {
            unreachable!()
        };
        let old = engine.store().session(from).unwrap().unwrap();
        assert_eq!(old.end_reason.as_deref(), Some("compression"));
        ids.push(to.clone());
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn open_tasks_go_along_in_the_summary_and_are_never_a_message_of_their_own() {
    let todos = json!([{"id": "1", "content": "port the parser", "status": "in_progress"}]);
    let call = json!({"tool_calls": [{"name": "todo", "args": {"todos": todos}, "id": "call_1"}]});
    let mut steps = vec![call];
    steps.extend(long_answers(8, 0).as_array().unwrap().iter().cloned());
    let scenario = json!({"steps": steps, "tasks": {"summary": summary()}});
    let rig = Rig::with_scenario(&scenario, "compression:\n  protect_first_n: 0\n");
    let engine = rig.engine();
    let mut talk = Talk::open(&engine, Open::New).await;
    filled(&mut talk).await;
    told(&mut talk, "").await;
    let id = engine.store().newest(None).unwrap().unwrap();
    let live = engine.store().live(&id).unwrap();
    let holders: Vec<_> = live
        .iter()
        .filter(|row| {
            row.message.content.text().contains("port the parser") && row.message.tool_name.is_none()
        })
        .collect();
    assert_eq!(holders.len(), 1);
    assert!(talaria_context::compress::is_summary(&holders[0].message));
    assert_ne!(live.last().unwrap().id, holders[0].id);
}
