//! How long a compression takes without its model, on 2 000 messages and 1.5 MB.
//!
//! `cargo run --release -p talaria-context --example compress_bench`

#![allow(clippy::print_stdout, reason = "a benchmark prints its numbers")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock"
)]

use std::sync::Arc;
use std::time::Instant;

use talaria_context::compress::{Accepted, Budget, Guidance, HEADINGS, plan};
use talaria_context::meter::WindowPlan;
use talaria_context::tokens::{CountedHistory, Counter};
use talaria_types::{Completion, Message, MessageId, SessionId, StoredMessage, Timestamp, ToolCall};

const ROUNDS: usize = 40;

fn main() {
    let history = history();
    let bytes: usize = history.iter().map(|row| row.message.content.text().len()).sum();
    println!("{} messages, {:.2} MB", history.len(), bytes as f64 / 1e6);
    let budget = Budget::new(200_000, 100_000, 6_000);
    let answer = Completion {
        text: summary(),
        ..Completion::default()
    };

    let cuts = mean(|| {
        let plan = plan(&history, &budget, Guidance::default());
        assert!(plan.is_ok());
    });
    println!("phases 1 and 2                  {cuts:8.3} ms");
    let digest = mean(|| {
        let planned = plan(&history, &budget, Guidance::default());
        assert!(planned.is_ok_and(|plan| plan.request().is_some()));
    });
    println!("phases 1 and 2 and the request  {digest:8.3} ms (masking included)");
    let whole = mean(|| {
        let Ok(mut plan) = plan(&history, &budget, Guidance::default()) else {
            return;
        };
        let mut done = plan.accept(&answer);
        while matches!(done, Ok(Accepted::Next)) {
            plan.request();
            done = plan.accept(&answer);
        }
        assert!(done.is_ok());
    });
    println!("phases 1, 2 and 4 with anchors  {whole:8.3} ms (masking included)");

    let messages: Vec<Arc<Message>> = history.iter().map(|row| Arc::clone(&row.message)).collect();
    let counter = Counter::for_model("mock-model");
    let count = mean(|| {
        CountedHistory::default().tokens(&counter, &messages, 0);
    });
    println!(
        "first count of the history      {count:8.3} ms ({:.0} MB/s)",
        bytes as f64 / 1e3 / count
    );
    let mut counted = CountedHistory::default();
    counted.tokens(&counter, &messages, 0);
    let sizes = WindowPlan {
        window: 200_000,
        max_output: 0,
        threshold: 0.5,
        min_tokens: 64_000,
    };
    let check = mean(|| {
        for _ in 0..1_000 {
            let tokens = counted.tokens(&counter, &messages, sizes.trigger());
            assert!(tokens > 0);
        }
    });
    println!("a threshold check               {check:8.2} µs");
}

/// The mean of some rounds, in milliseconds of processor time (wall-clock time where
/// the system does not tell).
fn mean(mut work: impl FnMut()) -> f64 {
    work();
    let (start, before) = (Instant::now(), on_processor());
    for _ in 0..ROUNDS {
        work();
    }
    let wall = start.elapsed().as_secs_f64() * 1e3;
    let all = on_processor()
        .zip(before)
        .map_or(wall, |(after, before)| (after - before) / 1e6);
    all / ROUNDS as f64
}

/// Nanoseconds this process has run.
fn on_processor() -> Option<f64> {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    told.split(' ').next()?.parse().ok()
}

fn summary() -> String {
    HEADINGS
        .iter()
        .map(|heading| format!("## {heading}\nWhat there is to tell about it, in a line.\n\n"))
        .collect()
}

/// Exchanges, reads, commands and edits, as a long job leaves them.
fn history() -> Vec<StoredMessage> {
    let mut messages = vec![Message::user(
        "Port the parser of /srv/heron/app to the new grammar.",
    )];
    let mut step = 0;
    while messages.len() < 2_000 {
        step += 1;
        let path = format!("src/module_{}/part_{}.rs", step % 40, step % 13);
        let (tool, arguments, result) = match step % 5 {
            0 => (
                "terminal",
                format!(r#"{{"command": "cargo test -p part_{step}"}}"#),
                log(step),
            ),
            1 | 2 => (
                "read_file",
                format!(r#"{{"path": "{path}", "offset": 1}}"#),
                code(step),
            ),
            3 => (
                "write_file",
                serde_json::json!({"path": path, "content": code(step)}).to_string(),
                "ok".to_owned(),
            ),
            _ => (
                "search_files",
                format!(r#"{{"pattern": "fn part_{step}"}}"#),
                code(step + 7),
            ),
        };
        messages.push(Message {
            tool_calls: vec![ToolCall {
                id: format!("call_{step}"),
                name: tool.to_owned(),
                arguments,
                extra: serde_json::Map::new(),
            }],
            ..Message::assistant(format!("Step {step}: looking at {path} next."))
        });
        messages.push(Message::tool(format!("call_{step}"), tool, result));
        if step % 12 == 0 {
            messages.push(Message::assistant(format!(
                "Part {step} is done in commit {:07x}a.",
                step * 7_919
            )));
            messages.push(Message::user(format!(
                "Good. Never touch part {step} again; the limit is {step} ms."
            )));
        }
    }
    let row = |(index, message): (usize, Message)| {
        let id = MessageId(index as i64 + 1);
        StoredMessage {
            id,
            session_id: SessionId::new("20260520_143022_a3f5b2"),
            origin: id,
            message: Arc::new(message),
            timestamp: Timestamp(0.0),
            active: true,
            compacted: false,
        }
    };
    messages.into_iter().enumerate().map(row).collect()
}

fn code(seed: usize) -> String {
    (0..38)
        .map(|line| {
            format!(
                "    let value_{line} = table.get(&key_{}).copied().unwrap_or({});\n",
                line + seed,
                seed % 97
            )
        })
        .collect()
}

fn log(seed: usize) -> String {
    let lines: String = (0..30)
        .map(|line| format!("test part_{seed}::case_{line} ... ok\\n"))
        .collect();
    format!("{{\"output\": \"{lines}test result: ok. 30 passed; finished in 0.{seed}s\", \"exit_code\": 0}}")
}
