//! How fast answers are decoded: megabytes of event stream a second on one core.
//!
//! `cargo run --release -p talaria-providers --example decode_bench`

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use talaria_providers::{ProviderRequest, decode, resolve};
use talaria_types::{ApiMode, Message, ModelRequest, Task, ToolChoice};

const EVENTS: usize = 200_000;

const WIRES: [(ApiMode, &str); 4] = [
    (ApiMode::ChatCompletions, "chat"),
    (ApiMode::AnthropicMessages, "messages"),
    (ApiMode::CodexResponses, "responses"),
    (ApiMode::Gemini, "gemini"),
];

fn main() -> Result<(), String> {
    for (mode, name) in WIRES {
        let words = ProviderRequest {
            provider: Some("custom".to_owned()),
            model: Some("m".to_owned()),
            base_url: Some("http://127.0.0.1:1/v1".to_owned()),
            api_mode: Some(mode),
            images: PathBuf::new(),
            ..ProviderRequest::default()
        };
        let endpoint = resolve(&words, &|_| None).map_err(|error| error.to_string())?;
        let stream = stream(mode);
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let started = on_core();
            let mut pieces = 0;
            decode(&endpoint, &request(), stream.as_bytes(), &mut |_| pieces += 1)?;
            best = best.min(on_core().saturating_sub(started));
        }
        let megabytes = stream.len() as f64 / 1e6;
        report(name, megabytes / best.as_secs_f64(), stream.len() / EVENTS);
    }
    Ok(())
}

/// Time this thread has had a core, so that other work on the machine does not
/// count; where the system does not tell, time that has passed.
fn on_core() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| PASSED.elapsed(), Duration::from_nanos)
}

static PASSED: LazyLock<Instant> = LazyLock::new(Instant::now);

#[expect(clippy::print_stdout, reason = "the numbers are what this program is for")]
fn report(name: &str, rate: f64, bytes: usize) {
    println!("{name}: {rate:.0} MB/s at {bytes} bytes an event");
}

/// Head, event and end of a stream in each protocol.
fn stream(mode: ApiMode) -> String {
    let (head, event, end) = match mode {
        ApiMode::ChatCompletions => (
            "",
            "data: {\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\
             \"model\":\"some-model-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"some words of it \"},\
             \"finish_reason\":null}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ),
        ApiMode::AnthropicMessages => (
            "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n",
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\
             \"text_delta\",\"text\":\"some words of it, and then some more words of it, and then the rest of them \"}}\n\n",
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n\
             data: {\"type\":\"message_stop\"}\n\n",
        ),
        ApiMode::CodexResponses => (
            "",
            "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":12345,\
             \"item_id\":\"msg_0123456789\",\"output_index\":0,\"content_index\":0,\"delta\":\"some words of it \"}\n\n",
            "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
        ),
        ApiMode::Gemini => (
            "",
            "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"some words of it, and then \
             some more words of it, and the rest \"}]},\"index\":0}],\"modelVersion\":\"g-1\",\"responseId\":\"r-1\"}\n\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[]},\"finishReason\":\"STOP\"}]}\n\n",
        ),
    };
    head.to_owned() + &event.repeat(EVENTS) + end
}

fn request() -> ModelRequest {
    ModelRequest {
        task: Task::Main,
        system: Arc::from(""),
        note: None,
        messages: vec![Arc::new(Message::user("hi"))],
        tools: Arc::from(Vec::new()),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    }
}
