//! What is fuzzed: each function takes bytes of a stranger and fails when the program would break on them.
//!
//! Where a choice is left (a status, where a stream is cut), the first byte makes it.

use serde::de::IgnoredAny;
use talaria_context::compose::repair_arguments;
use talaria_llm::json::object_text;
use talaria_llm::sse::{Event, Framer};
use talaria_providers::{ProviderRequest, decode, resolve};
use talaria_recovery::{Ledger, Phase, RawFailure, Remedy, Situation, classify, decide};
use talaria_types::{ApiMode, Delta, Message, ModelRequest, Task, ToolChoice};

/// A stream gives the same events wherever the network cuts it.
pub fn sse_framing(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let events = |pieces: Vec<&[u8]>| {
        let (mut framer, mut seen) = (Framer::default(), Vec::new());
        let mut take = |event: Event<'_>| seen.push((event.name.to_owned(), event.data.to_owned()));
        pieces.into_iter().for_each(|piece| framer.push(piece, &mut take));
        framer.finish(&mut take);
        seen
    };
    let size = 1 + usize::from(choice) % 97;
    assert_eq!(
        events(vec![bytes]),
        events(bytes.chunks(size).collect()),
        "{size}"
    );
}

/// A stream of Chat Completions is decoded or refused.
pub fn decode_chat(bytes: &[u8]) {
    decoded(ApiMode::ChatCompletions, bytes);
}

/// A stream of Anthropic Messages is decoded or refused.
pub fn decode_messages(bytes: &[u8]) {
    decoded(ApiMode::AnthropicMessages, bytes);
}

/// A stream of Responses is decoded or refused.
pub fn decode_responses(bytes: &[u8]) {
    decoded(ApiMode::CodexResponses, bytes);
}

/// A stream of Gemini is decoded or refused.
pub fn decode_gemini(bytes: &[u8]) {
    decoded(ApiMode::Gemini, bytes);
}

fn decoded(mode: ApiMode, bytes: &[u8]) {
    let words = ProviderRequest {
        model: Some("m".to_owned()),
        base_url: Some("http://127.0.0.1:1/v1".to_owned()),
        api_mode: Some(mode),
        ..ProviderRequest::default()
    };
    let Ok(endpoint) = resolve(&words, &|_| None) else {
        unreachable!("an address and a protocol are an endpoint");
    };
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
        is_object(&object_text(&call.arguments));
    }
}

/// Those a refusal comes with; the first is one inside of a stream.
const STATUSES: [u16; 12] = [200, 307, 400, 401, 402, 403, 404, 413, 429, 500, 503, 529];

/// A refusal has a kind, a message, limits that can be, and ends a turn after a bounded number of remedies.
pub fn refusal(bytes: &[u8]) {
    let Some((&choice, body)) = bytes.split_first() else {
        return;
    };
    let status = STATUSES[usize::from(choice) % STATUSES.len()];
    let mut raw = RawFailure::status(status, Vec::new(), String::from_utf8_lossy(body));
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
}

/// Whatever a model gives as arguments becomes a JSON object.
pub fn arguments(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let repaired = repair_arguments(&text).into_text().into_owned();
    for made in [object_text(&text).as_ref(), repaired.as_str()] {
        is_object(made);
    }
}

fn is_object(made: &str) {
    // By the grammar: a number may be larger than anything this program could hold.
    let parsed = serde_json::from_str::<IgnoredAny>(made);
    assert!(parsed.is_ok(), "{parsed:?}: {made}");
    assert!(made.trim_start().starts_with('{'), "{made}");
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
