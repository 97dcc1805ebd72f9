//! Names of calls: ids that are unique, tool names that every server takes.

use std::borrow::Cow;
use std::collections::HashSet;

/// What a call without a usable name is called.
const NAMELESS: &str = "invalid_tool_call";
/// The longest tool name that OpenAI's protocols take.
const LONGEST_NAME: usize = 64;

/// Gives every call of a conversation an id of its own.
///
/// Servers repeat `call_0` in every turn, send empty ids, or give two calls of
/// one answer the same; Anthropic refuses a request in which an id occurs twice.
#[derive(Clone, Debug, Default)]
pub(super) struct IdBook {
    used: HashSet<String>,
    made: usize,
}

impl IdBook {
    /// The id a call is sent with: its own where it is still free.
    pub(super) fn assign<'a>(&mut self, stored: &'a str) -> Cow<'a, str> {
        let id = if stored.trim().is_empty() {
            Cow::Owned(self.make())
        } else if self.used.contains(stored) {
            Cow::Owned(self.next_free(stored))
        } else {
            Cow::Borrowed(stored)
        };
        self.used.insert(id.clone().into_owned());
        id
    }

    fn make(&mut self) -> String {
        loop {
            self.made += 1;
            let id = format!("call_talaria_{}", self.made);
            if !self.used.contains(&id) {
                return id;
            }
        }
    }

    fn next_free(&self, stored: &str) -> String {
        let mut number = 2_usize;
        loop {
            let id = format!("{stored}_{number}");
            if !self.used.contains(&id) {
                return id;
            }
            number += 1;
        }
    }
}

/// The tool name a call is sent with: letters, digits, `_` and `-`, at most 64.
pub(super) fn wire_name(stored: &str) -> Cow<'_, str> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !stored.is_empty() && stored.len() <= LONGEST_NAME && stored.chars().all(allowed) {
        return Cow::Borrowed(stored);
    }
    let cleaned: String = stored
        .trim()
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .take(LONGEST_NAME)
        .collect();
    if cleaned.chars().any(|c| c.is_ascii_alphanumeric()) {
        Cow::Owned(cleaned)
    } else {
        Cow::Borrowed(NAMELESS)
    }
}
