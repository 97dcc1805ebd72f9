//! How long a person waits after an answer until they can type again: with a memory provider that never answers
//! to a finished turn, and without any.
//!
//! `cargo run --release --example memory_bench -p talaria-runtime`. What is timed is the way from the turn's last
//! event to the answer of `/status`, which the session gives as soon as it is ready for the next prompt.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for a terminal that may stop at any failure"
)]

use std::time::{Duration, Instant};

use serde_json::json;
use talaria_config::{Home, Overrides};
use talaria_runtime::{Engine, EngineOptions, Events, Open, SessionHandle};
use talaria_testkit::{MockServer, Scenario, TempHome};
use talaria_types::{Event, Op};

const TURNS: usize = 40;
/// Milliseconds that a provider may add.
const GOAL: f64 = 5.0;

/// Answers everything but what it is told after a turn.
const HANGS: &str = r#"while read -r line; do id=${line#*\"id\":}; id=${id%%,*}
  case $line in *'"method":"sync_turn"'*|*'"method":"queue_prefetch"'*) continue ;; esac
  printf '{"jsonrpc":"2.0","id":%s,"result":null}\n' "$id"
done
"#;

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let without = runtime.block_on(ready_after(""));
    let hangs = runtime.block_on(ready_after(
        "memory:\n  provider: process\n  command: [sh, hangs.sh]\n",
    ));
    let added = (hangs.as_secs_f64() - without.as_secs_f64()) * 1e3;
    println!(
        "from a turn's end to the next prompt: {:.2} ms without a provider, {:.2} ms with one that hangs; \
         added {added:.2} ms, goal {GOAL}",
        without.as_secs_f64() * 1e3,
        hangs.as_secs_f64() * 1e3
    );
    // What hangs is not waited for here.
    runtime.shutdown_background();
}

/// The median wait of a session whose home has these lines in its configuration.
async fn ready_after(more: &str) -> Duration {
    let answer = json!({"cursor": "stateless", "steps": [{"text": "noted"}]});
    let server = MockServer::start(Scenario::from_value(answer).unwrap()).unwrap();
    let home = TempHome::pointing_at(&server).unwrap();
    let file = home.path().join("config.yaml");
    let config = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, format!("{config}{more}")).unwrap();
    std::fs::write(home.path().join("hangs.sh"), HANGS).unwrap();
    let loaded = talaria_config::load(Home::at(home.path()), &home.work(), &Overrides::default()).unwrap();
    let options = EngineOptions {
        cwd: home.work(),
        source: "cli".to_owned(),
        yolo: false,
        ignore_rules: false,
        interactive: false,
        skills: Vec::new(),
    };
    let engine = Engine::open(loaded, options).unwrap();
    engine.review_later();
    let mut session = engine.session(Open::New).await.unwrap();
    let mut events = session.events().unwrap();
    let mut waits = Vec::new();
    for turn in 0..TURNS {
        waits.push(one_turn(&session, &mut events, turn).await);
    }
    waits.sort();
    waits[waits.len() / 2]
}

async fn one_turn(session: &SessionHandle, events: &mut Events, turn: usize) -> Duration {
    let content = format!("remember the number {turn}").into();
    session.send(Op::Prompt { content });
    until(events, |event| matches!(event, Event::TurnFinished { .. })).await;
    let ended = Instant::now();
    session.send(Op::Command {
        name: "status".to_owned(),
        args: String::new(),
    });
    until(events, |event| matches!(event, Event::Status { .. })).await;
    ended.elapsed()
}

async fn until(events: &mut Events, wanted: impl Fn(&Event) -> bool) {
    while !wanted(&events.recv().await.unwrap().event) {}
}
