//! One question to a model server, to see what a call costs the program itself.
//!
//! `ask BASE_URL MODEL [TEXT]`; the key comes from `OPENAI_API_KEY`.

use std::sync::Arc;
use std::time::Instant;

use talaria_providers::{ProviderRequest, connect, resolve};
use talaria_types::{Delta, Message, ModelRequest, Task, ToolChoice};
use tokio_util::sync::CancellationToken;

#[tokio::main(flavor = "current_thread")]
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the command line"
)]
async fn main() -> Result<(), String> {
    let started = Instant::now();
    let mut arguments = std::env::args().skip(1);
    let words = ProviderRequest {
        provider: Some("custom".to_owned()),
        base_url: arguments.next(),
        model: arguments.next(),
        context_length: Some(128_000),
        ..ProviderRequest::default()
    };
    let endpoint = resolve(&words, &|name| std::env::var(name).ok()).map_err(|error| error.to_string())?;
    let request = ModelRequest {
        task: Task::Main,
        system: Arc::from("Be brief."),
        note: None,
        messages: vec![Arc::new(Message::user(
            arguments.next().unwrap_or_else(|| "hi".to_owned()),
        ))],
        tools: Arc::from(Vec::new()),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    };
    let provider = connect(endpoint);
    let ready = started.elapsed();
    let sink = |delta: Delta| {
        if let Delta::Text(text) = delta {
            print!("{text}");
        }
    };
    let answer = provider
        .complete(&request, &sink, &CancellationToken::new())
        .await;
    eprintln!("\nready after {ready:?}, answered after {:?}", started.elapsed());
    answer.map(|_| ()).map_err(|failure| format!("{failure:#?}"))
}
