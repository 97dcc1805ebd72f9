//! What comes from outside, broken in thousands of ways: it never panics, never hangs, never grows without end.
//!
//! The corpus is what servers really sent: the recorded streams of each protocol and the bodies of every
//! recovery fixture; what is looked at is what `fuzz/` fuzzes. `TALARIA_MUTATIONS=200000 cargo test mutations`
//! looks longer.

use std::path::{Path, PathBuf};

use serde_json::Value;
use talaria_testkit::Mutator;

#[path = "../../../../fuzz/looks.rs"]
#[allow(unreachable_pub, reason = "the targets of libFuzzer use the same functions")]
mod looks;

/// How many broken inputs each test makes of its corpus.
fn rounds() -> usize {
    let asked = std::env::var("TALARIA_MUTATIONS").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(1_000)
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files of a folder and of those in it, by their ends.
fn corpus(folder: &Path, ends: &[&str]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                folders.push(path);
            } else if ends.iter().any(|end| path.to_string_lossy().ends_with(end)) {
                found.push(std::fs::read(path).unwrap());
            }
        }
    }
    assert!(!found.is_empty());
    found
}

/// Calls `look` with a broken form of each input in turn, behind a byte that makes its choices.
fn broken(corpus: &[Vec<u8>], seed: u64, look: fn(&[u8])) {
    let mut mutator = Mutator::new(seed);
    for round in 0..rounds() {
        let other = &corpus[mutator.below(corpus.len())];
        let mut bytes = vec![mutator.below(256) as u8];
        bytes.extend(mutator.broken(&corpus[round % corpus.len()], other));
        look(&bytes);
    }
}

#[test]
fn mutations_of_streams_are_decoded_or_refused() {
    let streams = corpus(&crates().join("providers/src/conformance"), &[".sse", ".json"]);
    let decoders: [fn(&[u8]); 4] = [
        |bytes| looks::decode_chat(&bytes[1..]),
        |bytes| looks::decode_messages(&bytes[1..]),
        |bytes| looks::decode_responses(&bytes[1..]),
        |bytes| looks::decode_gemini(&bytes[1..]),
    ];
    for (seed, decoder) in (0..).zip(decoders) {
        broken(&streams, seed, decoder);
    }
}

#[test]
fn mutations_of_streams_are_framed_the_same_wherever_they_are_cut() {
    let streams = corpus(&crates().join("providers/src/conformance"), &[".sse"]);
    broken(&streams, 11, looks::sse_framing);
}

#[test]
fn mutations_of_refusals_have_a_kind_and_an_end() {
    let body = |fixture: &Vec<u8>| {
        let fixture: Value = serde_json::from_slice(fixture).ok()?;
        let failure = &fixture["failure"];
        let body = failure["body"].as_str().map(str::to_owned);
        Some(body.unwrap_or_else(|| failure["json"].to_string()).into_bytes())
    };
    let fixtures = corpus(&crates().join("recovery/fixtures"), &[".json"]);
    let bodies: Vec<Vec<u8>> = fixtures.iter().filter_map(body).collect();
    broken(&bodies, 13, looks::refusal);
}

#[test]
fn mutations_of_arguments_become_objects() {
    let calls: Vec<Vec<u8>> = [
        r#"{"command": "echo \"a b\" && ls -la", "timeout": 30}"#,
        r#"{"path": "src/ä/日本.rs", "content": "fn main() {\n    println!(\"\ud83d\ude00\");\n}\n"}"#,
        r#"{"todos": [{"id": 1, "content": "x", "status": "pending"}, {"id": 2}], "merge": true}"#,
        r#"{"a": 1}{"a": 1}"#,
        "{'single': 'quotes', trailing: 1,}",
        "```json\n{\"fenced\": true}\n```",
    ]
    .map(|call| call.as_bytes().to_vec())
    .into();
    broken(&calls, 17, |bytes| looks::arguments(&bytes[1..]));
}
