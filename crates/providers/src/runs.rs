//! For protocols in which two sides take turns: which messages are one turn.
//!
//! A tool's result is said by the user there, several results in one breath, and
//! what the user says next belongs to the same turn.

use std::ops::Range;
use std::sync::Arc;

use talaria_types::{Message, Role};

/// Who speaks in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The person and the tools.
    User,
    /// The model.
    Model,
}

/// The turns of a conversation, as ranges of its messages.
pub(crate) fn of(messages: &[Arc<Message>]) -> Vec<(Side, Range<usize>)> {
    let mut runs: Vec<(Side, Range<usize>)> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let side = if message.role == Role::Assistant {
            Side::Model
        } else {
            Side::User
        };
        match runs.last_mut() {
            Some((last, range)) if *last == side => range.end = at + 1,
            Some(_) | None => runs.push((side, at..at + 1)),
        }
    }
    runs
}

/// An id in the characters and the length that all protocols take. Ids of other
/// providers meet in one history after a change of model.
pub(crate) fn wire_id(id: &str) -> String {
    let allowed = |symbol: char| symbol.is_ascii_alphanumeric() || matches!(symbol, '_' | '-');
    let mut plain: String = id
        .chars()
        .map(|symbol| if allowed(symbol) { symbol } else { '_' })
        .collect();
    if plain.len() > 64 {
        // The end tells ids apart more often than the beginning.
        plain = plain.split_off(plain.len() - 64);
    }
    plain
}

/// A tool's name in the characters that all protocols take.
pub(crate) fn wire_name(name: &str) -> String {
    let plain = wire_id(name.trim());
    if plain.is_empty() {
        "invalid_tool_call".to_owned()
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_the_words_after_them_are_one_turn() {
        let messages: Vec<Arc<Message>> = [
            Message::user("a"),
            Message::assistant("b"),
            Message::tool("1", "t", "c"),
            Message::tool("2", "t", "d"),
            Message::user("e"),
            Message::assistant("f"),
        ]
        .into_iter()
        .map(Arc::new)
        .collect();
        assert_eq!(
            of(&messages),
            [
                (Side::User, 0..1),
                (Side::Model, 1..2),
                (Side::User, 2..5),
                (Side::Model, 5..6)
            ]
        );
    }

    #[test]
    fn foreign_ids_are_put_into_common_characters() {
        assert_eq!(wire_id("functions.terminal:0"), "functions_terminal_0");
        assert_eq!(wire_id(&"x".repeat(100)).len(), 64);
        assert_eq!(wire_name(" "), "invalid_tool_call");
    }
}
