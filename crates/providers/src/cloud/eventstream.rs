//! The binary framing in which AWS streams answers, as the events they hold.
//!
//! A frame is: its length, the length of its headers, a checksum of both, headers,
//! content, a checksum. TLS guards the bytes already, so the checksums are not
//! looked at. The content of a `chunk` is `{"bytes": base64 of an event}`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The content type of such a stream.
pub(crate) const CONTENT_TYPE: &str = "application/vnd.amazon.eventstream";
/// Lengths and their checksum.
const PRELUDE: usize = 12;
/// The checksum at the end.
const TRAILER: usize = 4;
/// AWS sends none that is larger.
const LIMIT: usize = 32 * 1024 * 1024;

/// Turns frames into server-sent events.
#[derive(Debug, Default)]
pub(crate) struct Unframer {
    waiting: Vec<u8>,
    broken: bool,
}

impl Unframer {
    /// The events that are complete with these bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.waiting.extend_from_slice(bytes);
        let mut out = Vec::new();
        while let Some(frame) = self.next() {
            if let Some(event) = event(&frame) {
                let kind = event["type"].as_str().unwrap_or_default();
                out.extend_from_slice(format!("event: {kind}\ndata: {event}\n\n").as_bytes());
            }
        }
        out
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let length = number(self.waiting.get(..4)?)?;
        if self.broken || !(PRELUDE + TRAILER..=LIMIT).contains(&length) {
            // Nothing after a length that cannot be one can be read.
            self.broken = true;
            self.waiting.clear();
            return None;
        }
        if self.waiting.len() < length {
            return None;
        }
        let rest = self.waiting.split_off(length);
        Some(std::mem::replace(&mut self.waiting, rest))
    }
}

/// The event a frame holds.
fn event(frame: &[u8]) -> Option<Value> {
    let headers_end = PRELUDE.checked_add(number(frame.get(4..8)?)?)?;
    let headers = headers(frame.get(PRELUDE..headers_end)?);
    let content: Value =
        serde_json::from_slice(frame.get(headers_end..frame.len().checked_sub(TRAILER)?)?).ok()?;
    let of = |name: &str| {
        headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    };
    if let Some(kind) = of(":exception-type").or_else(|| of(":error-code")) {
        let message = content["message"]
            .as_str()
            .or_else(|| of(":error-message"))
            .unwrap_or_default();
        return Some(json!({"type": "error", "error": {"type": kind, "message": message}}));
    }
    let bytes = STANDARD.decode(content["bytes"].as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The headers that are text: name and value.
fn headers(mut bytes: &[u8]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((name, rest)) = counted(bytes, 1) {
        // Type 7 is text; the others do not occur before what is looked for.
        let Some((7, rest)) = rest.split_first().map(|(kind, rest)| (*kind, rest)) else {
            break;
        };
        let Some((value, rest)) = counted(rest, 2) else {
            break;
        };
        found.push((
            String::from_utf8_lossy(name).into_owned(),
            String::from_utf8_lossy(value).into_owned(),
        ));
        bytes = rest;
    }
    found
}

/// As many bytes as the first `width` bytes say, and what follows.
fn counted(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let count = number(bytes.get(..width)?)?;
    let rest = bytes.get(width..)?;
    (rest.len() >= count).then(|| rest.split_at(count))
}

fn number(bytes: &[u8]) -> Option<usize> {
    bytes.iter().try_fold(0_usize, |sum, byte| {
        sum.checked_mul(256)?.checked_add(usize::from(*byte))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A frame with text headers.
    pub(crate) fn frame(headers: &[(&str, &str)], content: &str) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in headers {
            head.push(name.len() as u8);
            head.extend_from_slice(name.as_bytes());
            head.push(7);
            head.extend_from_slice(&(value.len() as u16).to_be_bytes());
            head.extend_from_slice(value.as_bytes());
        }
        let length = PRELUDE + head.len() + content.len() + TRAILER;
        let mut out = (length as u32).to_be_bytes().to_vec();
        out.extend_from_slice(&(head.len() as u32).to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&head);
        out.extend_from_slice(content.as_bytes());
        out.extend_from_slice(&[0; 4]);
        out
    }

    fn chunk(event: &str) -> Vec<u8> {
        let content = json!({"bytes": STANDARD.encode(event), "p": "abc"}).to_string();
        frame(&[(":event-type", "chunk"), (":message-type", "event")], &content)
    }

    #[test]
    fn events_come_out_wherever_the_frames_are_cut() {
        let mut bytes = chunk(r#"{"type":"message_start"}"#);
        bytes.extend(chunk(r#"{"type":"message_stop"}"#));
        for size in [1, 7, 64, bytes.len()] {
            let mut unframer = Unframer::default();
            let out: Vec<u8> = bytes.chunks(size).flat_map(|part| unframer.push(part)).collect();
            let text = String::from_utf8(out).unwrap();
            let expected = "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
            assert_eq!(text, expected, "{size}");
        }
    }

    #[test]
    fn an_exception_is_an_error_event() {
        let bytes = frame(
            &[
                (":exception-type", "throttlingException"),
                (":message-type", "exception"),
            ],
            r#"{"message":"Too many tokens, please wait"}"#,
        );
        let text = String::from_utf8(Unframer::default().push(&bytes)).unwrap();
        assert!(
            text.contains("throttlingException") && text.contains("Too many tokens"),
            "{text}"
        );
    }

    #[test]
    fn no_bytes_make_it_panic_or_grow_without_end() {
        for bytes in [
            &b"\xff\xff\xff\xff\xff"[..],
            b"\0\0\0\x01",
            b"<html>not a frame</html>",
            b"\0\0\0\x10\xff\xff\xff\xff\0\0\0\0\0\0\0\0",
        ] {
            let mut unframer = Unframer::default();
            assert!(unframer.push(bytes).is_empty());
            assert!(unframer.push(bytes).is_empty());
        }
    }
}
