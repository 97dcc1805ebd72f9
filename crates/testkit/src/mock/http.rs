//! Just enough HTTP/1.1 to be a model server: requests with a length or in chunks, connections kept
//! alive, answers whole or in chunks. No framework, because a scenario must be able to break every rule.

use bytes::{Buf, Bytes, BytesMut};
use serde_json::{Map, Value};
use std::{fmt::Write as _, io};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::tcp::{ReadHalf, WriteHalf},
};

/// A request as it stands on the wire.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Incoming {
    /// Whether the client wants the connection closed after the answer.
    pub(crate) fn wants_close(&self) -> bool {
        header(&self.headers, "connection").is_some_and(|value| value.to_ascii_lowercase().contains("close"))
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value.as_str())
}

/// The reading side of a connection.
pub(crate) struct Reader<'a> {
    socket: ReadHalf<'a>,
    buffer: BytesMut,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(socket: ReadHalf<'a>) -> Reader<'a> {
        Reader {
            socket,
            buffer: BytesMut::with_capacity(16 * 1024),
        }
    }

    /// The next request; `None` when the client closed the connection between two.
    pub(crate) async fn next(&mut self, writer: &mut WriteHalf<'_>) -> io::Result<Option<Incoming>> {
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head = self.buffer.split_to(end).freeze();
                self.buffer.advance(4);
                break head;
            }
            if !self.more().await? {
                return Ok(None);
            }
        };
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let mut first = lines.next().unwrap_or_default().split(' ');
        let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        if header(&headers, "expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let chunked = header(&headers, "transfer-encoding").is_some_and(|value| value.contains("chunked"));
        let body = if chunked {
            self.chunks().await?
        } else {
            let length = header(&headers, "content-length")
                .and_then(|value| value.parse().ok())
                .unwrap_or(0);
            self.exactly(length).await?
        };
        Ok(Some(Incoming {
            method: method.to_owned(),
            target: target.to_owned(),
            headers,
            body,
        }))
    }

    /// Returns when the client has closed its side; what it sends meanwhile is kept for later.
    pub(crate) async fn until_gone(&mut self) {
        while matches!(self.more().await, Ok(true)) {}
    }

    /// Reads on; false at the end.
    async fn more(&mut self) -> io::Result<bool> {
        Ok(self.socket.read_buf(&mut self.buffer).await? > 0)
    }

    async fn exactly(&mut self, length: usize) -> io::Result<Bytes> {
        self.buffer.reserve(length.saturating_sub(self.buffer.len()));
        while self.buffer.len() < length {
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.split_to(length).freeze())
    }

    async fn line(&mut self) -> io::Result<Bytes> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = self.buffer.split_to(end).freeze();
                self.buffer.advance(2);
                return Ok(line);
            }
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    async fn chunks(&mut self) -> io::Result<Bytes> {
        let mut body = BytesMut::new();
        loop {
            let line = self.line().await?;
            let size = String::from_utf8_lossy(&line);
            let size = size.split(';').next().unwrap_or_default().trim();
            let size =
                usize::from_str_radix(size, 16).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
            if size == 0 {
                while !self.line().await?.is_empty() {}
                return Ok(body.freeze());
            }
            body.extend_from_slice(&self.exactly(size).await?);
            self.line().await?;
        }
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// How the length of a body is told.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Framing {
    /// So many bytes.
    Length(usize),
    /// In chunks.
    Chunked,
}

/// The head of an answer.
pub(crate) fn head(
    status: u16,
    content_type: &str,
    framing: Framing,
    id: u64,
    headers: &Map<String, Value>,
) -> Vec<u8> {
    let mut head = format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: {content_type}\r\nx-request-id: mock-{id}\r\n",
        reason(status)
    );
    // Writing to a string does not fail.
    let _ = match framing {
        Framing::Length(length) => write!(head, "content-length: {length}\r\n"),
        Framing::Chunked => write!(head, "transfer-encoding: chunked\r\ncache-control: no-cache\r\n"),
    };
    for (name, value) in headers {
        let _ = match value {
            Value::String(text) => write!(head, "{name}: {text}\r\n"),
            other => write!(head, "{name}: {other}\r\n"),
        };
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// One chunk of a chunked body.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(b"\r\n");
    framed
}

/// The end of a chunked body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        408 => "Request Timeout",
        413 => "Payload Too Large",
        422 => "Unprocessable Entity",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Status",
    }
}
