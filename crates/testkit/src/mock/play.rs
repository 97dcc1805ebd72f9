//! Plays an answer on a connection: at once, or piece by piece with its delays, cuts and silences.

use crate::mock::{
    answer::Answer,
    encode,
    http::{self, Framing},
    request::{Api, ModelCall},
    step::Step,
    template::Terms,
};
use serde_json::{Value, json};
use std::{io, time::Duration};
use tokio::{io::AsyncWriteExt, net::tcp::WriteHalf, time::sleep};

/// An answer as bytes.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) status: u16,
    content_type: String,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Whole(Vec<u8>),
    Chunks(Vec<Vec<u8>>),
}

/// How far an answer got.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// Status line and headers were sent.
    pub(crate) status: Option<u16>,
    /// Bytes of body.
    pub(crate) bytes: usize,
    /// When the first byte went out, for the log.
    pub(crate) first: Option<std::time::Instant>,
    /// The connection must not be used again.
    pub(crate) close: bool,
}

/// Puts the step into the protocol's words.
pub(crate) fn render(step: &Step, call: &ModelCall, terms: &Terms, prompt: u64, now: u64) -> Rendered {
    let status = step.status.unwrap_or(200);
    let api = call.api.unwrap_or(Api::Chat);
    let plain = |content_type: &str, body: Vec<u8>| Rendered {
        status,
        content_type: step
            .content_type
            .clone()
            .unwrap_or_else(|| content_type.to_owned()),
        body: Body::Whole(body),
    };
    let chunks = |content_type: &str, chunks: Vec<Vec<u8>>| Rendered {
        status,
        content_type: step
            .content_type
            .clone()
            .unwrap_or_else(|| content_type.to_owned()),
        body: Body::Chunks(chunks),
    };
    if step.empty {
        return plain("application/json", Vec::new());
    }
    if let Some(lines) = &step.raw {
        return chunks(
            "text/event-stream",
            lines
                .iter()
                .map(|line| format!("{line}\n").into_bytes())
                .collect(),
        );
    }
    match &step.body {
        Some(Value::String(text)) => return plain("application/json", text.clone().into_bytes()),
        Some(value) => return plain("application/json", value.to_string().into_bytes()),
        None => {}
    }
    let error = step.error.clone().unwrap_or(Value::Null);
    if status >= 400 {
        return plain(
            "application/json",
            encode::error_body(api, status, &error).to_string().into_bytes(),
        );
    }
    let answer = Answer::of(step, call, terms, prompt);
    if !call.stream || step.force_json {
        return plain(
            "application/json",
            encode::object(api, &answer, now).to_string().into_bytes(),
        );
    }
    let mut events = encode::events(api, &answer, now);
    if let Some(after) = step.error_after {
        events.truncate(after);
        events.push(encode::error_event(api, &error));
    }
    chunks(
        "text/event-stream; charset=utf-8",
        events.into_iter().map(String::into_bytes).collect(),
    )
}

/// The writing side of one answer.
pub(crate) struct Player<'a, 'b> {
    pub(crate) socket: &'a mut WriteHalf<'b>,
    pub(crate) step: &'a Step,
    pub(crate) id: u64,
    pub(crate) api: Option<Api>,
}

impl Player<'_, '_> {
    /// Plays the whole answer. `played` tells how far it got, also when this is cancelled.
    pub(crate) async fn play(&mut self, rendered: Rendered, played: &mut Played) -> io::Result<()> {
        let step = self.step;
        if step.hang {
            std::future::pending::<()>().await;
        }
        pause(step.delay_ms).await;
        played.first = Some(std::time::Instant::now());
        if step.drop_after == Some(0) {
            return self.drop(played);
        }
        played.status = Some(rendered.status);
        match rendered.body {
            Body::Whole(body) => {
                self.whole(rendered.status, &rendered.content_type, &body, played)
                    .await
            }
            Body::Chunks(chunks) => {
                self.chunked(rendered.status, &rendered.content_type, &chunks, played)
                    .await
            }
        }
    }

    async fn whole(
        &mut self,
        status: u16,
        content_type: &str,
        body: &[u8],
        played: &mut Played,
    ) -> io::Result<()> {
        let mut head = http::head(
            status,
            content_type,
            Framing::Length(body.len()),
            self.id,
            &self.step.headers,
        );
        if !self.step.is_slow() {
            head.extend_from_slice(body);
            played.bytes = body.len();
            return self.socket.write_all(&head).await;
        }
        self.put(&head).await?;
        pause(self.step.first_ms).await;
        if self.step.drop_after.is_some() {
            self.put(&body[..body.len() / 2]).await?;
            return self.drop(played);
        }
        self.put(body).await?;
        played.bytes = body.len();
        Ok(())
    }

    async fn chunked(
        &mut self,
        status: u16,
        content_type: &str,
        chunks: &[Vec<u8>],
        played: &mut Played,
    ) -> io::Result<()> {
        let step = self.step;
        let mut head = http::head(status, content_type, Framing::Chunked, self.id, &step.headers);
        if !step.is_slow() {
            let body = chunks.concat();
            head.extend_from_slice(&http::chunk(&body));
            head.extend_from_slice(http::LAST_CHUNK);
            played.bytes = body.len();
            return self.socket.write_all(&head).await;
        }
        self.put(&head).await?;
        self.wait(step.first_ms).await?;
        for (index, chunk) in chunks.iter().enumerate() {
            if step.drop_after.is_some_and(|after| index >= after) {
                return self.drop(played);
            }
            if step.stall_ms > 0.0 && index == step.stall_after {
                self.wait(step.stall_ms).await?;
            }
            self.put(&http::chunk(chunk)).await?;
            played.bytes += chunk.len();
            self.wait(step.chunk_ms).await?;
            if step.split_writes {
                tokio::task::yield_now().await;
            }
        }
        if step.drop_after.is_some() {
            return self.drop(played);
        }
        self.put(http::LAST_CHUNK).await
    }

    async fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        let size = if self.step.fragment == 0 {
            bytes.len().max(1)
        } else {
            self.step.fragment
        };
        for piece in bytes.chunks(size) {
            self.socket.write_all(piece).await?;
            self.socket.flush().await?;
            if self.step.fragment > 0 {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Waits, with keep-alives when the step has them.
    async fn wait(&mut self, milliseconds: f64) -> io::Result<()> {
        let ping = self.step.ping_ms;
        if ping <= 0.0 {
            pause(milliseconds).await;
            return Ok(());
        }
        let mut left = milliseconds;
        while left > 0.0 {
            pause(left.min(ping)).await;
            left -= ping;
            let comment = if self.api == Some(Api::Messages) {
                format!("event: ping\ndata: {}\n\n", json!({"type": "ping"}))
            } else {
                ":ping\n\n".to_owned()
            };
            self.put(&http::chunk(comment.as_bytes())).await?;
        }
        Ok(())
    }

    fn drop(&self, played: &mut Played) -> io::Result<()> {
        played.close = true;
        if self.step.drop.as_deref() == Some("rst") {
            self.socket.as_ref().set_zero_linger()?;
        }
        Ok(())
    }
}

async fn pause(milliseconds: f64) {
    if milliseconds > 0.0 {
        sleep(Duration::from_secs_f64(milliseconds / 1000.0)).await;
    }
}
