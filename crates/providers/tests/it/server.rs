//! A server on a loopback port that answers each request with the next reply of a script.

use std::sync::{Arc, Mutex};

use talaria_providers::catalogue::Catalogue;
use talaria_providers::{ProviderRequest, resolve};
use talaria_types::{Message, ModelRequest, Task, ToolChoice};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One answer, as bytes on the line.
#[derive(Clone)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) then: Then,
}

/// What happens after the bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next request may come.
    KeepOpen,
    /// The line is closed.
    Close,
    /// Nothing is ever said again.
    Silence,
}

/// One request as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) connection: usize,
    pub(crate) head: String,
    pub(crate) body: String,
}

pub(crate) struct Server {
    pub(crate) base_url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: Arc<tokio::sync::Notify>,
}

impl Server {
    pub(crate) async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let closed = Arc::new(tokio::sync::Notify::new());
        let script = Arc::new(Mutex::new(script.into_iter()));
        let (all, gone) = (Arc::clone(&seen), Arc::clone(&closed));
        tokio::spawn(async move {
            let mut connection = 0;
            while let Ok((stream, _)) = listener.accept().await {
                connection += 1;
                tokio::spawn(serve(
                    stream,
                    connection,
                    Arc::clone(&script),
                    Arc::clone(&all),
                    Arc::clone(&gone),
                ));
            }
        });
        Self {
            base_url,
            seen,
            closed,
        }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until the other side has closed a line on which this one was silent.
    pub(crate) async fn hung_up(&self) {
        self.closed.notified().await;
    }

    /// What a user's configuration would say about this server.
    pub(crate) fn words(&self) -> ProviderRequest {
        ProviderRequest {
            provider: Some("custom".to_owned()),
            model: Some("m".to_owned()),
            base_url: Some(self.base_url.clone()),
            api_key: Some("sk-test-key-000".to_owned().into()),
            catalogue: Some(Catalogue::shipped()),
            ..ProviderRequest::default()
        }
    }

    pub(crate) fn provider(&self) -> Arc<dyn talaria_llm::Provider> {
        talaria_providers::connect(resolve(&self.words(), &|_| None).unwrap())
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: Arc<Mutex<std::vec::IntoIter<Reply>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: Arc<tokio::sync::Notify>,
) {
    while let Some((head, body)) = read_request(&mut stream).await {
        seen.lock().unwrap().push(Seen {
            connection,
            head,
            body,
        });
        let Some(reply) = script.lock().unwrap().next() else {
            return;
        };
        stream.write_all(&reply.bytes).await.ok();
        match reply.then {
            Then::KeepOpen => {}
            Then::Close => return,
            Then::Silence => {
                let mut rest = [0; 16];
                while stream.read(&mut rest).await.is_ok_and(|read| read > 0) {}
                closed.notify_one();
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut chunk).await.ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.trim().parse::<usize>().unwrap());
    while bytes.len() < head_end + length {
        match stream.read(&mut chunk).await.ok()? {
            0 => return None,
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
    Some((head, String::from_utf8_lossy(&bytes[head_end..]).into_owned()))
}

/// A reply with a length.
pub(crate) fn plain(status: &str, headers: &str, body: &str) -> Reply {
    let bytes = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes();
    Reply {
        bytes,
        then: Then::KeepOpen,
    }
}

/// A stream of events in one chunk, ended properly.
pub(crate) fn events(body: &str) -> Reply {
    let mut reply = open_events(body);
    reply.bytes.extend_from_slice(b"0\r\n\r\n");
    Reply {
        then: Then::KeepOpen,
        ..reply
    }
}

/// A stream of events that is not ended.
pub(crate) fn open_events(body: &str) -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let bytes = format!("{head}{:x}\r\n{body}\r\n", body.len()).into_bytes();
    Reply {
        bytes,
        then: Then::Close,
    }
}

pub(crate) fn text(words: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n")
}

pub(crate) const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        task: Task::Main,
        system: Arc::from("Be brief."),
        note: None,
        messages: vec![Arc::new(Message::user("hi"))],
        tools: Arc::from(Vec::new()),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: None,
        rewrites: Vec::new(),
    }
}
