//! What comes from outside, broken in thousands of ways: it never panics, never hangs, never grows without end.
//!
//! The corpus is what servers really sent: the recorded streams of each protocol and the bodies of every
//! recovery fixture. `TALARIA_MUTATIONS=200000 cargo test mutations` looks longer.

use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde_json::Value;
use talaria_context::compose::repair_arguments;
use talaria_llm::json::object_text;
use talaria_llm::sse::{Event, Framer};
use talaria_providers::{ProviderRequest, decode, resolve};
use talaria_recovery::{Ledger, Phase, RawFailure, Remedy, Situation, classify, decide};
use talaria_testkit::Mutator;
use talaria_types::{ApiMode, Delta, Message, ModelRequest, Task, ToolChoice};

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

/// Calls `look` with a broken form of each input in turn.
fn broken(corpus: &[Vec<u8>], seed: u64, mut look: impl FnMut(&[u8], &mut Mutator)) {
    let mut mutator = Mutator::new(seed);
    for round in 0..rounds() {
        let other = &corpus[mutator.below(corpus.len())];
        let bytes = mutator.broken(&corpus[round % corpus.len()], other);
        look(&bytes, &mut mutator);
    }
}

fn request() -> ModelRequest {
    ModelRequest {
        task: Task::Main,
        system: "".into(),
        note: None,
        messages: vec![Message::user("hi").into()],
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    }
}

#[test]
fn mutations_of_streams_are_decoded_or_refused() {
    let streams = corpus(&crates().join("providers/src/conformance"), &[".sse", ".json"]);
    for (seed, mode) in [
        ApiMode::ChatCompletions,
        ApiMode::AnthropicMessages,
        ApiMode::CodexResponses,
        ApiMode::Gemini,
    ]
    .into_iter()
    .enumerate()
    {
        let words = ProviderRequest {
            model: Some("m".to_owned()),
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            api_mode: Some(mode),
            ..ProviderRequest::default()
        };
        let endpoint = resolve(&words, &|_| None).unwrap();
        broken(&streams, seed as u64, |bytes, _| {
            let mut said = 0;
            let mut sink = |delta: Delta| {
                if let Delta::Text(text) | Delta::Reasoning(text) = delta {
                    said += text.len();
                }
            };
            let completion = decode(&endpoint, &request(), bytes, &mut sink);
            // A lost byte becomes a mark of three; nothing else makes an answer longer than what came.
            assert!(said <= 3 * bytes.len(), "{said} of {}", bytes.len());
            for call in completion
                .into_iter()
                .flat_map(|completion| completion.tool_calls)
            {
                serde_json::from_str::<IgnoredAny>(&object_text(&call.arguments)).unwrap();
            }
        });
    }
}

#[test]
fn mutations_of_streams_are_framed_the_same_wherever_they_are_cut() {
    let streams = corpus(&crates().join("providers/src/conformance"), &[".sse"]);
    broken(&streams, 11, |bytes, mutator| {
        let events = |pieces: Vec<&[u8]>| {
            let (mut framer, mut seen) = (Framer::default(), Vec::new());
            let mut take = |event: Event<'_>| seen.push((event.name.to_owned(), event.data.to_owned()));
            pieces.into_iter().for_each(|piece| framer.push(piece, &mut take));
            framer.finish(&mut take);
            seen
        };
        let size = 1 + mutator.below(97);
        assert_eq!(
            events(vec![bytes]),
            events(bytes.chunks(size).collect()),
            "{size}"
        );
    });
}

#[test]
fn mutations_of_refusals_have_a_kind_and_an_end() {
    let bodies: Vec<Vec<u8>> = corpus(&crates().join("recovery/fixtures"), &[".json"])
        .iter()
        .filter_map(|fixture| {
            let fixture: Value = serde_json::from_slice(fixture).ok()?;
            let failure = &fixture["failure"];
            let body = failure["body"].as_str().map(str::to_owned);
            Some(body.unwrap_or_else(|| failure["json"].to_string()).into_bytes())
        })
        .collect();
    broken(&bodies, 13, |bytes, mutator| {
        let statuses = [200, 307, 400, 401, 402, 403, 404, 413, 429, 500, 503, 529];
        let status = statuses[mutator.below(statuses.len())];
        let mut raw = RawFailure::status(status, Vec::new(), String::from_utf8_lossy(bytes));
        raw.phase = if status == 200 { Phase::Body } else { Phase::Status };
        raw.request.prompt_tokens = 50_000;
        raw.request.window = 128_000;
        let failure = classify(&raw);
        assert!(!failure.message.is_empty());
        for tokens in [failure.limits.window, failure.limits.output]
            .into_iter()
            .flatten()
        {
            assert!(tokens <= 100_000_000, "{tokens} from {}", raw.body);
        }
        let (mut ledger, situation) = (Ledger::default(), Situation::default());
        let ended = (0..200).any(|_| {
            let remedy = decide(&failure, &situation, &mut ledger).remedy;
            matches!(remedy, Remedy::GiveUp | Remedy::KeepPartial)
        });
        assert!(ended, "{failure:?}");
    });
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
    broken(&calls, 17, |bytes, _| {
        let text = String::from_utf8_lossy(bytes);
        let repaired = repair_arguments(&text).into_text().into_owned();
        for made in [object_text(&text).as_ref(), repaired.as_str()] {
            // By the grammar: a number may be larger than anything this program could hold.
            serde_json::from_str::<IgnoredAny>(made).unwrap_or_else(|error| panic!("{error}: {made}"));
            assert!(made.trim_start().starts_with('{'), "{made}");
        }
    });
}
