//! Finds secrets in text and masks them.
//!
//! Everything that leaves the conversation passes here: tool results before they are stored and sent,
//! summaries before they are asked for and after they came back, logs, exports, search and recall.
//! What the user typed and what a tool was told to write are not touched; masking is for what is
//! shown, sent and kept, never for what is done.
//!
//! A secret is known by its own shape (the table in `vendors.rs`, private keys, web tokens, passwords
//! in URLs), by the name it is given (`DB_PASSWORD=…`), or because it is one of the program's own
//! ([`KnownSecrets`]). There is no entropy guess: commit hashes and identifiers stay readable.
//!
//! Pure but for the keys that the process learnt (`own.rs`): no I/O, no clock, no environment. Linear in the text; nothing is copied when nothing is found.

mod blocks;
mod commands;
mod headers;
mod known;
mod mask;
mod names;
mod own;
mod scan;
mod shape;
mod urls;
mod vendors;

pub use known::KnownSecrets;
pub use mask::mask;
pub use own::{learn, redact_own};
pub use urls::{redact_url, secrets_of_url};

use scan::{Hit, Mode, scan};
use std::{borrow::Cow, ops::ControlFlow};

/// Masks of different rules may build a new secret between them (`a=b=…`); each pass shortens the
/// text or leaves it, so a handful is plenty.
const PASSES: usize = 6;

/// Masks everything that is secret by its shape or by its name. For summaries, logs, exports, search,
/// recall, and the output of commands that print the environment.
///
/// ```
/// assert_eq!(talaria_redact::redact("DB_PASSWORD=hunter2"), "DB_PASSWORD=***");
/// ```
pub fn redact(text: &str) -> Cow<'_, str> {
    settle(text, Mode::Everything)
}

/// Masks what is secret by its own shape and leaves names and values as they are, so that source code
/// stays readable and can be edited. For files of source code.
///
/// ```
/// let line = r#"api_key = os.environ.get("API_KEY")"#;
/// assert_eq!(talaria_redact::redact_code(line), line);
/// ```
pub fn redact_code(text: &str) -> Cow<'_, str> {
    settle(text, Mode::Code)
}

/// Masks as [`redact`] does, but leaves what may as well be code: telephone numbers, values of names
/// that are spaced or quoted as in a program. For output and files of which it is not known what they hold.
///
/// ```
/// assert_eq!(talaria_redact::redact_output("db_password: hunter2"), "db_password: ***");
/// let line = r#"password = "hunter2""#;
/// assert_eq!(talaria_redact::redact_output(line), line);
/// ```
pub fn redact_output(text: &str) -> Cow<'_, str> {
    settle(text, Mode::Output)
}

/// Whether [`redact`] would change the text. Stops at the first secret.
pub fn finds(text: &str) -> bool {
    let mut found = false;
    scan(text, Mode::Everything, |_| {
        found = true;
        ControlFlow::Break(())
    });
    found
}

/// Applies passes until nothing more is found, so that redacting twice is redacting once.
fn settle(text: &str, mode: Mode) -> Cow<'_, str> {
    let Some(mut masked) = pass(text, mode) else {
        return Cow::Borrowed(text);
    };
    for _ in 1..PASSES {
        match pass(&masked, mode) {
            Some(further) => masked = further,
            None => break,
        }
    }
    Cow::Owned(masked)
}

/// One pass; `None` when there is no secret.
fn pass(text: &str, mode: Mode) -> Option<String> {
    let mut masked: Option<String> = None;
    let mut copied = 0;
    scan(text, mode, |Hit { range, with }| {
        let masked = masked.get_or_insert_with(|| String::with_capacity(text.len()));
        masked.push_str(&text[copied..range.start]);
        masked.push_str(&blocks::replacement(&text[range.clone()], with));
        copied = range.end;
        ControlFlow::Continue(())
    });
    let mut masked = masked?;
    masked.push_str(&text[copied..]);
    Some(masked)
}

#[cfg(test)]
mod tests;
