//! One tiny call to a model, to find out whether it would answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use talaria_providers::{Endpoint, connect};
use talaria_types::{ErrorKind, Message, ModelRequest, Task, ToolChoice, TurnError};
use tokio_util::sync::CancellationToken;

/// Longer than this nobody waits for a word.
const PATIENCE: Duration = Duration::from_secs(60);
/// Enough for a word, and for the least thought some models insist on.
const ROOM: u64 = 64;

/// Asks the model for one word; how long that took.
///
/// # Errors
/// Why it does not answer, with what to do about it.
pub async fn probe(endpoint: Endpoint) -> Result<Duration, TurnError> {
    let provider = connect(endpoint);
    let request = ModelRequest {
        task: Task::Main,
        system: Arc::from("Answer with one word."),
        note: None,
        messages: vec![Arc::new(Message::user("Say ok."))],
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: Some(ROOM),
        rewrites: Vec::new(),
    };
    let (started, cancel) = (Instant::now(), CancellationToken::new());
    let call = provider.complete(&request, &|_| {}, &cancel);
    let failure = match tokio::time::timeout(PATIENCE, call).await {
        Ok(Ok(_)) => return Ok(started.elapsed()),
        Ok(Err(failure)) => failure,
        Err(_) => {
            return Err(TurnError {
                kind: ErrorKind::Timeout,
                message: format!("no answer within {} s", PATIENCE.as_secs()),
                status: None,
                hint: Some("check the network, model.base_url and any proxy".to_owned()),
            });
        }
    };
    match failure.kind {
        // The server speaks the protocol and knows the key; a turn repairs these by itself.
        ErrorKind::UnsupportedParameter | ErrorKind::OutputCap | ErrorKind::StreamingUnsupported => {
            Ok(started.elapsed())
        }
        _ => Err(failure.to_turn_error()),
    }
}
