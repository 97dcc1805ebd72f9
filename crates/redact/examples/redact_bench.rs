//! How fast text passes: `cargo run --release -p talaria-redact --example redact_bench [FILE…]`.
//!
//! Without files it makes its own megabytes: a log without secrets, the same with one every 13 lines,
//! and source code.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "measuring needs the clock and files that the crate itself may not touch"
)]

use std::{error::Error, fmt::Write as _, hint::black_box, io::Write as _, time::Instant};
use talaria_redact::{finds, redact, redact_code};

const WORDS: &[&str] = &[
    "request", "response", "server", "client", "path", "function", "value", "session", "message", "token",
    "model", "call", "result", "cache", "timeout", "retry", "deploy", "key", "password", "stream", "context",
    "secret", "of",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path)?;
        texts.push((path, text));
    }
    if texts.is_empty() {
        texts.push(("log".into(), log(usize::MAX)));
        texts.push(("log with secrets".into(), log(13)));
        texts.push(("dense".into(), log(1)));
        texts.push(("source".into(), source()));
    }
    let mut out = std::io::stdout().lock();
    for (name, text) in &texts {
        let all = rate(text, |text| redact(text).len());
        let code = rate(text, |text| redact_code(text).len());
        let look = rate(text, |text| usize::from(finds(text)));
        let lines = rate(text, |text| text.lines().map(|line| redact(line).len()).sum());
        writeln!(
            out,
            "{name}: redact {all:.0} MB/s, by lines {lines:.0}, redact_code {code:.0}, finds {look:.0}"
        )?;
    }
    Ok(())
}

/// Megabytes a second, the best of five.
fn rate(text: &str, work: impl Fn(&str) -> usize) -> f64 {
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            black_box(work(black_box(text)));
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    text.len() as f64 / 1e6 / best
}

/// Four megabytes of log, with a secret every so many lines.
fn log(every: usize) -> String {
    let mut text = String::new();
    let mut state = 7_usize;
    let mut line = 0_usize;
    while text.len() < 4_000_000 {
        let _ = write!(text, "2026-12-01 10:{:02}:{:02} INFO ", line / 60 % 60, line % 60);
        for _ in 0..18 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(WORDS[(state >> 33) % WORDS.len()]);
            text.push(' ');
        }
        line += 1;
        if line.is_multiple_of(every) {
            let _ = write!(
                text,
                "OPENAI_API_KEY=sk-{state:016x}{state:016x} postgres://u:{state:x}@h/d"
            );
        }
        text.push('\n');
    }
    text
}

/// Four megabytes of source code.
fn source() -> String {
    let body = "def read(path, token=None):\n    \"\"\"Reads the file of the session.\"\"\"\n    MAX_TOKENS = 4096\n    \
                return client.get(path, auth=token)[\"value\"]  # the key of the cache\n\n";
    body.repeat(4_000_000 / body.len())
}
