//! Opens five hundred sessions in one process, each with forty stored messages of about a kilobyte and one
//! more turn, keeps them all open, and prints what memory that takes.
//!
//! `cargo run --release --example sessions_bench -p talaria-runtime`. The scripted model is a second process
//! of this program, so that its memory is not counted.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for a terminal that may stop at any failure"
)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::json;
use talaria_config::{Home, Overrides};
use talaria_runtime::{Engine, EngineOptions, Open, SessionHandle};
use talaria_store::NewSession;
use talaria_testkit::{Scenario, ServeOptions, TempHome, serve};
use talaria_types::{Event, Message, Op, SessionId, Timestamp};

const SESSIONS: usize = 500;
const MESSAGES: usize = 40;
/// MiB that they may take in all.
const GOAL: f64 = 300.0;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("model") {
        let scenario =
            json!({"cursor": "stateless", "context_length": 200_000, "steps": [{"text": "noted"}]});
        let options = ServeOptions { port: 0, log: None };
        return serve(
            Scenario::from_value(scenario).unwrap(),
            &options,
            std::io::stdout(),
        )
        .unwrap();
    }
    let mut model = Command::new(std::env::current_exe().unwrap())
        .arg("model")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(model.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let address = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    let home = TempHome::with_config(&format!(
        "model: {{default: mock-model, provider: custom, base_url: \"{address}\", api_key: k, context_length: 200000}}\n\
         auxiliary: {{title_generation: {{enabled: false}}}}\n"
    ))
    .unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let before = resident();
    let handles = runtime.block_on(open_all(&home));
    let after = resident();
    println!(
        "{SESSIONS} sessions open: {after:.1} MiB, goal {GOAL} ({:.0} kB each, the empty process {before:.1} MiB)",
        (after - before) * 1024.0 / SESSIONS as f64
    );
    drop(handles);
    model.kill().unwrap();
    model.wait().unwrap();
}

async fn open_all(home: &TempHome) -> Vec<SessionHandle> {
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
    let mut handles = Vec::with_capacity(SESSIONS);
    for number in 0..SESSIONS {
        let name = fill(&engine, number);
        let open = Open::Resume { name, exact: false };
        let mut handle = engine.session(open).await.unwrap();
        let mut events = handle.events().unwrap();
        handle.send(Op::Prompt {
            content: "and now?".into(),
        });
        while let Some(envelope) = events.recv().await {
            if let Event::TurnFinished { result } = envelope.event {
                assert!(result.completed, "{:?}", result.error);
                break;
            }
        }
        handles.push(handle);
    }
    handles
}

/// Stores a conversation that the session is resumed from.
fn fill(engine: &Engine, number: usize) -> String {
    let id = SessionId::new(format!("bench_{number:04}"));
    let new = NewSession {
        id: id.clone(),
        source: "cli".to_owned(),
        parent: None,
        model: "mock-model".to_owned(),
        model_config: json!({}),
        system_prompt: String::new(),
        cwd: None,
        title: None,
        started_at: Timestamp(1.0),
        billing: Default::default(),
    };
    engine.store().create_session(&new).unwrap();
    let messages: Vec<Arc<Message>> = (0..MESSAGES)
        .map(|place| {
            let text = format!("message {place} of session {number}. {}", "word ".repeat(200));
            Arc::new(if place % 2 == 0 {
                Message::user(text)
            } else {
                Message::assistant(text)
            })
        })
        .collect();
    engine.store().append(&id, &messages, Timestamp(2.0)).unwrap();
    id.to_string()
}

/// Resident memory of this process in MiB.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap_or("");
    let kilobytes = line
        .split_whitespace()
        .nth(1)
        .and_then(|text| text.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}
