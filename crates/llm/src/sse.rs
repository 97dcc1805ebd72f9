//! Server-sent events: splits a byte stream into events, however it was cut.
//!
//! Own framing, because the streams of model servers are not quite the
//! specification: the last event may lack its blank line, error bodies arrive
//! without a field name, keep-alives come as comments. No I/O and no JSON here;
//! the driver pushes bytes and an adapter reads the events.

use std::borrow::Cow;

/// The most bytes kept of lines that belong to no field.
const STRAY_LIMIT: usize = 64 * 1024;

/// The most bytes of one event. A server that sends more is broken, or worse.
const EVENT_LIMIT: usize = 32 * 1024 * 1024;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event:` field; empty when there was none.
    pub name: &'a str,
    /// The `data:` lines, joined by line breaks.
    pub data: &'a str,
}

/// Splits a byte stream into events. Feed it with [`Framer::push`], in pieces of
/// any size, and close it with [`Framer::finish`].
#[derive(Debug, Default)]
pub struct Framer {
    /// The line that has begun.
    line: Vec<u8>,
    /// The event that has begun.
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return, so a line feed now ends no second line.
    after_return: bool,
    /// A line has been seen; a byte-order mark can no longer come.
    begun: bool,
    overflowed: bool,
    stray: Vec<u8>,
}

impl Framer {
    /// Takes the next bytes and hands over every event they complete.
    pub fn push(&mut self, bytes: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\r', b'\n', rest) {
            let line = &rest[..end];
            if self.line.is_empty() {
                self.take_line(line, on_event);
            } else {
                self.line.extend_from_slice(line);
                let whole = std::mem::take(&mut self.line);
                self.take_line(&whole, on_event);
                self.line = whole;
                self.line.clear();
            }
            let returned = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if returned {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
        }
        if self.line.len() + self.data.len() + rest.len() > EVENT_LIMIT {
            self.overflowed = true;
            self.line = Vec::new();
            self.data = Vec::new();
            return;
        }
        self.line.extend_from_slice(rest);
    }

    /// Whether an event grew beyond every measure; the stream is not worth reading on.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Ends the stream: what stands in the buffer is an event, blank line or not.
    pub fn finish(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        let last = std::mem::take(&mut self.line);
        if !last.is_empty() {
            self.take_line(&last, on_event);
        }
        self.dispatch(on_event);
    }

    /// Lines that belonged to no field, at most 64 KiB of them: the place to
    /// look for an error body that a proxy wrote into the stream.
    pub fn stray(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stray)
    }

    fn take_line(&mut self, line: &[u8], on_event: &mut impl FnMut(Event<'_>)) {
        let line = if self.begun {
            line
        } else {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        };
        self.begun = true;
        if line.is_empty() {
            self.dispatch(on_event);
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => (
                &line[..at],
                line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..]),
            ),
            None => (line, &[][..]),
        };
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // A comment, and what only a browser's reconnect needs.
            b"" | b"id" | b"retry" => {}
            _ => self.keep_stray(line),
        }
    }

    fn keep_stray(&mut self, line: &[u8]) {
        let room = STRAY_LIMIT.saturating_sub(self.stray.len() + 1);
        if room > 0 {
            self.stray.extend_from_slice(&line[..line.len().min(room)]);
            self.stray.push(b'\n');
        }
    }

    fn dispatch(&mut self, on_event: &mut impl FnMut(Event<'_>)) {
        if self.has_data {
            let name = String::from_utf8_lossy(&self.name);
            let data = String::from_utf8_lossy(&self.data);
            on_event(Event {
                name: &name,
                data: &data,
            });
        }
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }
}

/// What the first bytes of an answer's body are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// Not yet to be told: only white space so far.
    Unknown,
    /// A JSON document.
    Json,
    /// A markup page.
    Markup,
    /// Lines, most likely events.
    Lines,
}

/// Tells a JSON document from a stream by its first byte; content types lie.
pub fn sniff(start: &[u8]) -> Sniff {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Sniff::Unknown,
        Some(b'{' | b'[') => Sniff::Json,
        Some(b'<') => Sniff::Markup,
        Some(_) => Sniff::Lines,
    }
}

#[cfg(test)]
mod tests;
