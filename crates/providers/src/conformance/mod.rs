//! The same questions to every adapter.
//!
//! Each protocol brings a recorded stream and a recorded document of one and the
//! same answer (thinking, text, two calls), an error in the middle of a stream,
//! and the place where its answer is told to be complete. An adapter that
//! answers one of these questions differently fails here, not in its own tests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use talaria_llm::sse::Framer;
use talaria_types::{
    ApiMode, Completion, Content, Delta, FinishReason, ImagePart, ImageSource, Message, ModelIdentity,
    ModelRequest, Part, Rewrite, Usage,
};

use crate::catalogue::Catalogue;
use crate::endpoint::{Endpoint, adapter};
use crate::testing::{SameImage, calling, replay, request, terminal};
use crate::wire::{Adapter, WireError};

/// One protocol's recordings.
pub(crate) struct Wire {
    mode: ApiMode,
    stream: &'static str,
    document: &'static str,
    /// Words of the stream before which its answer is not complete.
    completed_by: &'static str,
    /// An event that says no.
    error: &'static str,
    /// The protocol's own members that hold the messages.
    messages: &'static str,
    /// It tells reasoning tokens.
    tells_reasoning: bool,
}

pub(crate) const CHAT: Wire = Wire {
    mode: ApiMode::ChatCompletions,
    stream: include_str!("chat.sse"),
    document: include_str!("chat.json"),
    completed_by: "\"finish_reason\":\"tool_calls\"",
    error: "data: {\"error\":{\"message\":\"no\",\"code\":502}}\n\n",
    messages: "messages",
    tells_reasoning: true,
};

pub(crate) const MESSAGES: Wire = Wire {
    mode: ApiMode::AnthropicMessages,
    stream: include_str!("anthropic.sse"),
    document: include_str!("anthropic.json"),
    completed_by: "\"stop_reason\":\"tool_use\"",
    error: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"}}\n\n",
    messages: "messages",
    tells_reasoning: false,
};

pub(crate) const RESPONSES: Wire = Wire {
    mode: ApiMode::CodexResponses,
    stream: include_str!("responses.sse"),
    document: include_str!("responses.json"),
    completed_by: "event: response.completed",
    error: "event: error\ndata: {\"type\":\"error\",\"code\":\"server_is_overloaded\",\"message\":\"no\"}\n\n",
    messages: "input",
    tells_reasoning: true,
};

pub(crate) const GEMINI: Wire = Wire {
    mode: ApiMode::Gemini,
    stream: include_str!("gemini.sse"),
    document: include_str!("gemini.json"),
    completed_by: "\"finishReason\":\"STOP\"",
    error: "data: {\"error\":{\"code\":503,\"message\":\"no\",\"status\":\"UNAVAILABLE\"}}\n\n",
    messages: "contents",
    tells_reasoning: true,
};

impl Wire {
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint {
            identity: ModelIdentity {
                provider: "custom".to_owned(),
                model: "m-1".to_owned(),
                base_url: "https://example.org/v1".to_owned(),
                api_mode: self.mode,
            },
            api_key: None,
            pool: None,
            pool_entry: None,
            pinned_address: false,
            context_length: None,
            max_output_tokens: None,
            stale_timeout: Duration::from_secs(1),
            long_cache: false,
            window_cache: None,
            images: PathBuf::new(),
            ca_bundle: None,
            effort: None,
            cloud: None,
            debug: None,
            catalogue: Catalogue::shipped(),
        }
    }

    fn adapter(&self) -> Arc<dyn Adapter> {
        adapter(&self.endpoint())
    }

    fn replay(&self, bytes: &[u8]) -> (Vec<Delta>, Result<Completion, WireError>) {
        replay(&mut *self.adapter().decoder(&request()), bytes)
    }

    fn sent(&self, request: &ModelRequest) -> Value {
        serde_json::from_slice(&self.adapter().encode(request, &SameImage).body).unwrap()
    }
}

/// The answer that every recording holds.
fn check(wire: &Wire, answer: &Completion) {
    assert_eq!(answer.text, "I will run it — 漢字 🚀.");
    assert_eq!(answer.reasoning.text.as_deref(), Some("Let me look."));
    assert_eq!(answer.finish, FinishReason::ToolCalls);
    let calls: Vec<(&str, Value)> = answer
        .tool_calls
        .iter()
        .map(|call| (call.name.as_str(), serde_json::from_str(&call.arguments).unwrap()))
        .collect();
    assert_eq!(
        calls,
        [
            ("terminal", json!({"command": "ls"})),
            ("read_file", json!({"path": "a \"b\""}))
        ]
    );
    assert_ne!(answer.tool_calls[0].id, answer.tool_calls[1].id);
    let usage = answer.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.cache_read_tokens), (120, 100));
    assert!(matches!(usage.completion_tokens, 20 | 28), "{usage:?}");
    assert_eq!(usage.reasoning_tokens, if wire.tells_reasoning { 8 } else { 0 });
    assert_eq!(answer.model.as_deref(), Some("m-1"));
}

pub(crate) fn a_recorded_stream_gives_its_answer(wire: &Wire) {
    let (deltas, answer) = wire.replay(wire.stream.as_bytes());
    let answer = answer.unwrap();
    check(wire, &answer);
    let shown: String = deltas
        .iter()
        .filter_map(|delta| {
            if let Delta::Text(text) = delta {
                Some(text.as_str())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(shown, answer.text, "the deltas add up");
    let started = deltas
        .iter()
        .filter(|delta| matches!(delta, Delta::ToolCallStarted { .. }))
        .count();
    assert_eq!(started, 2);
}

pub(crate) fn a_document_gives_the_same_answer(wire: &Wire) {
    let mut decoder = wire.adapter().decoder(&request());
    let mut out = Vec::new();
    decoder.document(wire.document, &mut out).unwrap();
    check(wire, &decoder.finish(&mut out).unwrap());
}

pub(crate) fn a_stream_fed_byte_by_byte_gives_the_same_answer(wire: &Wire) {
    let mut decoder = wire.adapter().decoder(&request());
    let mut framer = Framer::default();
    let mut out = Vec::new();
    for byte in wire.stream.as_bytes() {
        framer.push(&[*byte], &mut |event| decoder.event(event, &mut out).unwrap());
    }
    framer.finish(&mut |event| decoder.event(event, &mut out).unwrap());
    check(wire, &decoder.finish(&mut out).unwrap());
}

pub(crate) fn a_cut_stream_is_never_believed(wire: &Wire) {
    let end = wire.stream.find(wire.completed_by).unwrap();
    for cut in (0..end).step_by(3) {
        let (_, answer) = wire.replay(&wire.stream.as_bytes()[..cut]);
        assert!(answer.is_err(), "cut at {cut}: {answer:?}");
    }
}

pub(crate) fn an_error_in_mid_stream_is_no_answer(wire: &Wire) {
    for cut in [0, 1, 3] {
        let head: String = wire.stream.split_inclusive("\n\n").take(cut).collect();
        let (_, answer) = wire.replay((head + wire.error).as_bytes());
        let refused = matches!(&answer, Err(WireError::Refused { body }) if body.contains("\"no\""));
        assert!(refused, "after {cut} events: {answer:?}");
    }
}

pub(crate) fn noise_in_a_stream_is_no_trouble(wire: &Wire) {
    let noisy = wire.stream.replace(
        "\n\n",
        "\n\n: ping\n\ndata: {\"type\":\"something.new\",\"object\":\"new\"}\n\n",
    );
    check(
        wire,
        &wire.replay(noisy.replace('\n', "\r\n").as_bytes()).1.unwrap(),
    );
}

/// A conversation with everything a request may hold.
fn conversation(wire: &Wire) -> ModelRequest {
    let answer = wire.replay(wire.stream.as_bytes()).1.unwrap();
    let image = Part::Image(ImagePart {
        source: ImageSource::Stored("ab".into()),
        media_type: "image/png".into(),
    });
    let ids: Vec<String> = answer.tool_calls.iter().map(|call| call.id.clone()).collect();
    let answered = Message {
        tool_calls: answer.tool_calls,
        reasoning: answer.reasoning,
        ..Message::assistant(answer.text)
    };
    let mut request = request();
    request.messages = vec![
        Arc::new(Message::user(Content::Parts(vec![
            Part::Text { text: "look".into() },
            image,
        ]))),
        Arc::new(answered),
        Arc::new(Message::tool(&ids[0], "terminal", "a.txt")),
        Arc::new(Message::tool(&ids[1], "read_file", "")),
        Arc::new(calling("functions.terminal:0", "{broken")),
        Arc::new(Message::tool(
            "functions.terminal:0",
            "terminal",
            "error: no JSON",
        )),
        Arc::new(Message::assistant("It does not work.")),
        Arc::new(Message {
            sent_as: Some("why?\n\n[memory]".into()),
            ..Message::user("why?")
        }),
    ];
    request.tools = Arc::from(vec![terminal()]);
    request
}

pub(crate) fn a_request_grows_at_its_end_only(wire: &Wire) {
    let adapter = wire.adapter();
    let mut request = conversation(wire);
    let elements = |request: &ModelRequest| -> Vec<String> {
        let body: Value = serde_json::from_slice(&adapter.encode(request, &SameImage).body).unwrap();
        body[wire.messages]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect()
    };
    let mut before = elements(&request);
    for turn in 0..5 {
        request
            .messages
            .push(Arc::new(Message::assistant(format!("answer {turn}"))));
        request
            .messages
            .push(Arc::new(Message::user(format!("question {turn}"))));
        let now = elements(&request);
        assert_eq!(now[..before.len()], before, "turn {turn}");
        before = now;
    }
}

pub(crate) fn a_request_is_the_same_bytes_from_any_process(wire: &Wire) {
    let request = conversation(wire);
    let other = ModelRequest {
        messages: request
            .messages
            .iter()
            .map(|one| Arc::new((**one).clone()))
            .collect(),
        ..request.clone()
    };
    let (kept, fresh) = (wire.adapter(), wire.adapter());
    kept.encode(&request, &SameImage);
    assert_eq!(
        kept.encode(&request, &SameImage).body,
        fresh.encode(&other, &SameImage).body
    );
}

pub(crate) fn nothing_private_or_empty_is_sent(wire: &Wire) {
    fn walk(value: &Value, path: &str) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    let data = matches!(key.as_str(), "args" | "input" | "arguments") && !path.is_empty();
                    assert!(data || !key.starts_with('_'), "{path}.{key}");
                    let may_be_empty = data || matches!(key.as_str(), "annotations" | "summary");
                    assert!(may_be_empty || *value != json!([]), "{path}.{key} is empty");
                    if !data {
                        walk(value, &format!("{path}.{key}"));
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, &format!("{path}[]"))),
            _ => {}
        }
    }
    walk(&wire.sent(&conversation(wire)), "");
}

pub(crate) fn images_are_sent_or_noted(wire: &Wire) {
    let mut request = conversation(wire);
    assert!(wire.sent(&request).to_string().contains("eHl6"));
    request.rewrites = vec![Rewrite::DropImages];
    let sent = wire.sent(&request).to_string();
    assert!(
        !sent.contains("eHl6") && sent.contains("takes text only") && sent.contains("look"),
        "{sent}"
    );
}

pub(crate) fn the_facts_say_what_is_sent(wire: &Wire) {
    let facts = wire.adapter().encode(&conversation(wire), &SameImage).facts;
    assert_eq!(
        (
            facts.images,
            facts.messages,
            facts.streaming,
            facts.schema_patterns
        ),
        (1, 8, true, true)
    );
    assert!(
        facts.prompt_tokens > 1_500 && facts.prompt_tokens < 2_000,
        "{facts:?}"
    );
    let mut request = conversation(wire);
    request.rewrites = vec![Rewrite::DoNotStream, Rewrite::SimplifyToolSchemas];
    let facts = wire.adapter().encode(&request, &SameImage).facts;
    assert!(!facts.streaming && !facts.schema_patterns);
}

pub(crate) fn usage_that_is_not_told_is_not_zero(wire: &Wire) {
    let silent = wire
        .stream
        .replace("\"usage\"", "\"other\"")
        .replace("usageMetadata", "other");
    assert_eq!(wire.replay(silent.as_bytes()).1.unwrap().usage, None::<Usage>);
}

pub(crate) fn a_damaged_stream_never_panics(wire: &Wire) {
    use proptest::prelude::*;
    let whole = wire.stream.as_bytes();
    let damage = proptest::collection::vec((0..whole.len(), any::<u8>(), 0..4u8), 1..12);
    proptest!(ProptestConfig::with_cases(96), |(damage in damage)| {
        let mut bytes = whole.to_vec();
        for (at, byte, how) in damage {
            let at = at.min(bytes.len().saturating_sub(1));
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => { bytes.remove(at); }
                _ => { let half = bytes[at / 2..at].to_vec(); bytes.splice(at..at, half); }
            }
        }
        bytes.truncate(64 * 1024);
        let (_, answer) = wire.replay(&bytes);
        if let Ok(answer) = answer {
            let ids: std::collections::HashSet<_> = answer.tool_calls.iter().map(|call| &call.id).collect();
            prop_assert_eq!(ids.len(), answer.tool_calls.len());
        }
        let mut decoder = wire.adapter().decoder(&request());
        let _ = decoder.document(&String::from_utf8_lossy(&bytes), &mut Vec::new());
    });
}

/// The questions, as tests of one adapter.
macro_rules! conformance {
    ($module:ident, $wire:expr) => {
        mod $module {
            use crate::conformance::*;

            conformance!(@tests $wire;
                a_recorded_stream_gives_its_answer,
                a_document_gives_the_same_answer,
                a_stream_fed_byte_by_byte_gives_the_same_answer,
                a_cut_stream_is_never_believed,
                an_error_in_mid_stream_is_no_answer,
                noise_in_a_stream_is_no_trouble,
                a_request_grows_at_its_end_only,
                a_request_is_the_same_bytes_from_any_process,
                nothing_private_or_empty_is_sent,
                images_are_sent_or_noted,
                the_facts_say_what_is_sent,
                usage_that_is_not_told_is_not_zero,
                a_damaged_stream_never_panics,
            );
        }
    };
    (@tests $wire:expr; $($question:ident,)*) => {
        $(
            #[test]
            fn $question() {
                super::$question(&$wire);
            }
        )*
    };
}

conformance!(chat, CHAT);
conformance!(messages, MESSAGES);
conformance!(responses, RESPONSES);
conformance!(gemini, GEMINI);
