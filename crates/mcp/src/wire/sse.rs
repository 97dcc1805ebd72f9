//! The older HTTP transport: one stream that is read, and an address, told in its first event, that is written to.

use std::sync::Arc;

use futures_util::StreamExt;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::{AuthorizationManager, Transport};
use tokio::sync::{mpsc, oneshot};
use url::Url;

/// The largest event, in bytes.
const LARGEST: usize = 64 * 1024 * 1024;

/// Why this transport does not work.
#[derive(Debug, thiserror::Error)]
pub(super) enum SseError {
    #[error(transparent)]
    Http(#[from] reqwest::Error),
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("its stream ended before it said where to write to")]
    NoEndpoint,
    #[error("it names another place to write to: {0}")]
    Elsewhere(String),
    #[error("the login does not hold: {0}")]
    Login(String),
}

/// An open stream.
pub(super) struct Sse {
    door: Arc<Door>,
    incoming: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    reading: tokio::task::JoinHandle<()>,
}

struct Door {
    client: reqwest::Client,
    endpoint: Url,
    login: Option<Arc<AuthorizationManager>>,
}

/// Opens the stream at `url`.
pub(super) async fn open(
    client: reqwest::Client,
    url: &str,
    login: Option<Arc<AuthorizationManager>>,
) -> Result<Sse, SseError> {
    let base = Url::parse(url).map_err(|_| SseError::Elsewhere(url.to_owned()))?;
    let request = client.get(base.clone()).header("accept", "text/event-stream");
    let response = authorized(request, login.as_deref()).await?.send().await?;
    if !response.status().is_success() {
        return Err(SseError::Status(response.status().as_u16()));
    }
    let (told, endpoint) = oneshot::channel();
    let (sender, incoming) = mpsc::channel(64);
    let reading = tokio::spawn(read(response, told, sender));
    let endpoint = endpoint.await.map_err(|_| SseError::NoEndpoint)?;
    let endpoint = base
        .join(endpoint.trim())
        .ok()
        .filter(|full| full.origin() == base.origin())
        .ok_or(SseError::Elsewhere(endpoint))?;
    Ok(Sse {
        door: Arc::new(Door {
            client,
            endpoint,
            login,
        }),
        incoming,
        reading,
    })
}

async fn authorized(
    request: reqwest::RequestBuilder,
    login: Option<&AuthorizationManager>,
) -> Result<reqwest::RequestBuilder, SseError> {
    match login {
        None => Ok(request),
        Some(manager) => {
            let token = manager.get_access_token().await;
            let token = token.map_err(|error| SseError::Login(error.to_string()))?;
            Ok(request.bearer_auth(token))
        }
    }
}

async fn read(
    response: reqwest::Response,
    told: oneshot::Sender<String>,
    sender: mpsc::Sender<RxJsonRpcMessage<RoleClient>>,
) {
    let mut told = Some(told);
    let mut frames = Frames::default();
    let mut bytes = response.bytes_stream();
    while let Some(Ok(chunk)) = bytes.next().await {
        for (event, data) in frames.push(&chunk) {
            if event == "endpoint" {
                if let Some(told) = told.take() {
                    let _ = told.send(data);
                }
                continue;
            }
            let mended =
                super::mend::tools(data.as_bytes()).and_then(|mended| serde_json::from_value(mended).ok());
            match mended.map_or_else(|| serde_json::from_str(&data), Ok) {
                Ok(message) => {
                    if sender.send(message).await.is_err() {
                        return;
                    }
                }
                Err(error) => tracing::debug!(%error, "an event that is no message"),
            }
        }
        if frames.buffer.len() > LARGEST {
            tracing::warn!("an event of an MCP server is too large");
            return;
        }
    }
}

/// Cuts a stream of bytes into events.
#[derive(Default)]
struct Frames {
    buffer: Vec<u8>,
    event: String,
    data: String,
}

impl Frames {
    /// The events that are complete now: name and data.
    fn push(&mut self, bytes: &[u8]) -> Vec<(String, String)> {
        self.buffer.extend_from_slice(bytes);
        let mut done = Vec::new();
        let mut start = 0;
        while let Some(length) = self.buffer[start..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.buffer[start..start + length]).into_owned();
            start += length + 1;
            let line = line.strip_suffix('\r').unwrap_or(&line);
            if line.is_empty() {
                if !self.data.is_empty() || !self.event.is_empty() {
                    done.push((std::mem::take(&mut self.event), std::mem::take(&mut self.data)));
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "event" => value.clone_into(&mut self.event),
                "data" => {
                    if !self.data.is_empty() {
                        self.data.push('\n');
                    }
                    self.data.push_str(value);
                }
                _ => {}
            }
        }
        self.buffer.drain(..start);
        done
    }
}

impl Transport<RoleClient> for Sse {
    type Error = SseError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let door = self.door.clone();
        async move {
            let body = serde_json::to_vec(&item).unwrap_or_default();
            let request = door
                .client
                .post(door.endpoint.clone())
                .header("content-type", "application/json")
                .body(body);
            let response = authorized(request, door.login.as_deref()).await?.send().await?;
            if response.status().is_success() {
                Ok(())
            } else {
                Err(SseError::Status(response.status().as_u16()))
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.reading.abort();
        Ok(())
    }
}

impl Drop for Sse {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_cut_wherever_the_bytes_are_split() {
        let stream = ": hello\r\nevent: endpoint\r\ndata: /m?s=1\r\n\r\nevent: message\ndata: {\"a\":\ndata: 1}\n\ndata: ä\n\n";
        let expected = [("endpoint", "/m?s=1"), ("message", "{\"a\":\n1}"), ("", "ä")];
        for size in 1..stream.len() {
            let mut frames = Frames::default();
            let cut = stream
                .as_bytes()
                .chunks(size)
                .flat_map(|chunk| frames.push(chunk))
                .collect::<Vec<_>>();
            let cut: Vec<(&str, &str)> = cut
                .iter()
                .map(|(event, data)| (event.as_str(), data.as_str()))
                .collect();
            assert_eq!(cut, expected, "{size}");
        }
    }
}
