//! A scripted provider for tests: the test holds the other end.
//!
//! [`pair`] gives a [`Provider`] and a [`Script`]. Each call of the provider
//! waits until the script answers it: no server, no sleeps, and the requests can
//! be looked at before they are answered.

use std::sync::Mutex;

use futures_util::future::BoxFuture;
use talaria_recovery::{Failure, Partial, Phase};
use talaria_types::{
    ApiMode, Completion, Delta, ErrorKind, FinishReason, ModelIdentity, ModelRequest, ToolCall, Usage,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{Provider, Window, WindowSource};

/// A provider whose answers a test writes.
#[derive(Debug)]
pub struct FakeProvider {
    identity: ModelIdentity,
    window: Mutex<Window>,
    calls: mpsc::UnboundedSender<Call>,
    rebuilds: Mutex<u32>,
}

/// The test's end of a [`FakeProvider`].
#[derive(Debug)]
pub struct Script {
    calls: mpsc::UnboundedReceiver<Call>,
}

/// One call that waits for its answer.
#[derive(Debug)]
pub struct Call {
    /// What was asked.
    pub request: ModelRequest,
    deltas: mpsc::UnboundedSender<Delta>,
    answer: oneshot::Sender<Result<Completion, Failure>>,
}

/// A provider named `fake` and its script.
pub fn pair(window_tokens: u64) -> (FakeProvider, Script) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let identity = ModelIdentity {
        provider: "fake".to_owned(),
        model: "fake-model".to_owned(),
        base_url: "http://fake.invalid/v1".to_owned(),
        api_mode: ApiMode::ChatCompletions,
    };
    let window = Window {
        tokens: window_tokens,
        source: WindowSource::Config,
        max_output: None,
    };
    let provider = FakeProvider {
        identity,
        window: Mutex::new(window),
        calls: sender,
        rebuilds: Mutex::new(0),
    };
    (provider, Script { calls: receiver })
}

impl Script {
    /// The next call, once the provider is asked; none when the provider is gone.
    pub async fn next(&mut self) -> Option<Call> {
        self.calls.recv().await
    }

    /// The next call, if one already waits.
    pub fn try_next(&mut self) -> Option<Call> {
        self.calls.try_recv().ok()
    }
}

impl Call {
    /// Streams a piece of the answer.
    pub fn delta(&self, delta: Delta) {
        // The caller may have been cancelled meanwhile; then nobody listens.
        let _ = self.deltas.send(delta);
    }

    /// Ends the call.
    pub fn answer(self, result: Result<Completion, Failure>) {
        let _ = self.answer.send(result);
    }

    /// Streams `text` and ends the call with it.
    pub fn say(self, text: &str) {
        self.delta(Delta::Text(text.to_owned()));
        self.answer(Ok(Completion {
            text: text.to_owned(),
            ..completion()
        }));
    }

    /// Ends the call with tool calls, each `(id, name, arguments)`.
    pub fn call_tools(self, calls: &[(&str, &str, &str)]) {
        let tool_calls = calls
            .iter()
            .map(|(id, name, arguments)| ToolCall {
                id: (*id).to_owned(),
                name: (*name).to_owned(),
                arguments: (*arguments).to_owned(),
                extra: serde_json::Map::new(),
            })
            .collect();
        self.answer(Ok(Completion {
            tool_calls,
            finish: FinishReason::ToolCalls,
            ..completion()
        }));
    }

    /// Ends the call with a failure of `kind`.
    pub fn fail(self, kind: ErrorKind, status: Option<u16>, message: &str) {
        self.answer(Err(Failure {
            status,
            ..Failure::new(kind, Phase::Status, message)
        }));
    }
}

fn completion() -> Completion {
    Completion {
        usage: Some(Usage {
            prompt_tokens: 10,
            completion_tokens: 5,
            ..Usage::default()
        }),
        ..Completion::default()
    }
}

impl FakeProvider {
    /// Replaces the window.
    pub fn set_window(&self, tokens: u64) {
        if let Ok(mut window) = self.window.lock() {
            window.tokens = tokens;
        }
    }

    /// How often the transport was rebuilt.
    pub fn rebuilds(&self) -> u32 {
        self.rebuilds.lock().map_or(0, |count| *count)
    }
}

impl Provider for FakeProvider {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn complete<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a (dyn Fn(Delta) + Send + Sync),
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Completion, Failure>> {
        Box::pin(async move {
            let (deltas, mut incoming) = mpsc::unbounded_channel();
            let (answer, mut answered) = oneshot::channel();
            let call = Call {
                request: request.clone(),
                deltas,
                answer,
            };
            if self.calls.send(call).is_err() {
                return Err(Failure::new(
                    ErrorKind::Internal,
                    Phase::Connect,
                    "the script has ended",
                ));
            }
            let mut text = String::new();
            let mut pass = |delta: Delta| {
                if let Delta::Text(piece) = &delta {
                    text.push_str(piece);
                }
                sink(delta);
            };
            let result = loop {
                tokio::select! {
                    biased;
                    () = cancel.cancelled() => break None,
                    Some(delta) = incoming.recv() => pass(delta),
                    result = &mut answered => break result.ok(),
                }
            };
            while let Ok(delta) = incoming.try_recv() {
                pass(delta);
            }
            let interrupted = || Failure {
                partial: Some(Partial {
                    text: text.clone(),
                    ..Partial::default()
                }),
                ..Failure::new(ErrorKind::Interrupted, Phase::Body, "interrupted")
            };
            match result {
                Some(result) => result,
                None => Err(interrupted()),
            }
        })
    }

    fn context_window(&self) -> BoxFuture<'_, Window> {
        let unknown = Window {
            tokens: 256_000,
            source: WindowSource::Default,
            max_output: None,
        };
        let window = self.window.lock().map_or(unknown, |window| *window);
        Box::pin(std::future::ready(window))
    }

    fn rebuild_transport(&self) {
        if let Ok(mut count) = self.rebuilds.lock() {
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use talaria_types::{Message, Task, ToolChoice};

    use super::*;

    fn request() -> ModelRequest {
        ModelRequest {
            task: Task::Main,
            system: Arc::from("be brief"),
            note: None,
            messages: vec![Arc::new(Message::user("hi"))],
            tools: Arc::from(Vec::new()),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            rewrites: Vec::new(),
        }
    }

    #[tokio::test]
    async fn a_test_sees_the_request_and_writes_the_answer() {
        let (provider, mut script) = pair(1000);
        let test = tokio::spawn(async move {
            let call = script.next().await.unwrap();
            assert_eq!(call.request.messages[0].content.text(), "hi");
            call.say("hello");
        });
        let seen = Mutex::new(Vec::new());
        let sink = |delta: Delta| seen.lock().unwrap().push(delta);
        let answer = provider
            .complete(&request(), &sink, &CancellationToken::new())
            .await
            .unwrap();
        test.await.unwrap();
        assert_eq!(answer.text, "hello");
        assert_eq!(*seen.lock().unwrap(), [Delta::Text("hello".to_owned())]);
    }

    #[tokio::test]
    async fn an_interrupt_keeps_what_was_streamed() {
        let (provider, mut script) = pair(1000);
        let cancel = CancellationToken::new();
        let stop = cancel.clone();
        let test = tokio::spawn(async move {
            let call = script.next().await.unwrap();
            call.delta(Delta::Text("half".to_owned()));
            stop.cancel();
            call
        });
        let failure = provider.complete(&request(), &|_| {}, &cancel).await.unwrap_err();
        drop(test.await.unwrap());
        assert_eq!(failure.kind, ErrorKind::Interrupted);
        assert_eq!(failure.partial.unwrap().text, "half");
    }
}
