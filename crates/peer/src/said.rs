//! The last of what a program said on standard error, for the person who looks for the reason.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Lines that are kept.
const LINES: usize = 12;
/// Bytes kept of one line.
const LINE_BYTES: usize = 400;

/// A ring of lines.
#[derive(Debug, Default)]
pub(crate) struct Said(Mutex<VecDeque<String>>);

impl Said {
    /// Takes a line; blank ones say nothing.
    pub(crate) fn push(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES)]);
        let text: String = text.chars().filter(|char| !char.is_control()).collect();
        if text.trim().is_empty() {
            return;
        }
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(talaria_redact::redact_own(text.trim_end()).into_owned());
    }

    /// The lines, newest last; `None` when nothing was said.
    pub(crate) fn text(&self) -> Option<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}
