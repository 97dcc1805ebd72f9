//! A conversation that somebody else has compressed: whether it may be gone on with.
//!
//! A context engine of a plugin says which rows stay and what stands in the place of the others.
//! Rows stay as they are, named by their ids, so that nothing it says can change what was said;
//! new texts are a summary or plain words. What breaks a rule is refused as a whole.

use std::sync::Arc;

use talaria_types::{Anchors, Message, MessageId, Role, StoredMessage};

use super::assemble::message_text;
use super::strings::is_summary;
use super::{Compressed, Kept, WrittenBy};
use crate::tokens::Counter;

/// The longest text an engine may add, in characters.
const TEXT_CHARS: usize = 200_000;

/// One row of what an engine gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The row of this place stays as it is.
    Keep(usize),
    /// A summary of what goes.
    Summary(String),
    /// Words of the person or of the model.
    Said(Role, String),
}

/// Takes what an engine made of `history`.
///
/// # Errors
/// When it may not be gone on with; why, in words.
pub fn accept_foreign(history: &[StoredMessage], pieces: &[Piece]) -> Result<Compressed, String> {
    let order: Vec<usize> = pieces.iter().filter_map(place).collect();
    if let Some(wrong) = order.iter().find(|place| **place >= history.len()) {
        return Err(format!(
            "it keeps message {wrong}, and there are {}",
            history.len()
        ));
    }
    if !order.is_sorted_by(|one, two| one < two) {
        return Err("it keeps messages in another order or twice".to_owned());
    }
    let newest = history.iter().rposition(|row| is_request(&row.message));
    if newest.is_some_and(|newest| !order.contains(&newest)) {
        return Err("the newest request is not among what it keeps".to_owned());
    }
    whole_rounds(history, &order)?;
    let texts = pieces.iter().filter(|piece| place(piece).is_none());
    for text in texts {
        let (Piece::Summary(text) | Piece::Said(_, text)) = text else {
            continue;
        };
        if text.trim().is_empty() || text.chars().count() > TEXT_CHARS {
            return Err("one of its texts is empty or far too long".to_owned());
        }
    }
    if pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Said(Role::System | Role::Tool, _)))
    {
        return Err("it adds what is neither the person's nor the model's".to_owned());
    }
    if pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::Summary(_)))
        .count()
        > 1
    {
        return Err("it gives two summaries".to_owned());
    }
    let compressed = assembled(history, pieces, &order);
    if compressed.hidden.is_empty() || compressed.tokens_after >= compressed.tokens_before {
        return Err("what it gives is not smaller".to_owned());
    }
    Ok(compressed)
}

fn place(piece: &Piece) -> Option<usize> {
    match piece {
        Piece::Keep(place) => Some(*place),
        Piece::Summary(_) | Piece::Said(..) => None,
    }
}

/// Something the person asked, and no summary in their place.
fn is_request(message: &Message) -> bool {
    message.role == Role::User && !is_summary(message)
}

/// A call stays with all of its results, or none of them stays.
fn whole_rounds(history: &[StoredMessage], kept: &[usize]) -> Result<(), String> {
    let stays = |place: usize| kept.contains(&place);
    let mut place = 0;
    while place < history.len() {
        let results = history[place + 1..]
            .iter()
            .take_while(|row| row.message.role == Role::Tool)
            .count();
        let calls = !history[place].message.tool_calls.is_empty();
        if calls && (place + 1..=place + results).any(|result| stays(result) != stays(place)) {
            return Err(format!(
                "it parts the calls of message {place} from their results"
            ));
        }
        if history[place].message.role == Role::Tool && stays(place) {
            return Err(format!("message {place} is a result without its call"));
        }
        place += 1 + if calls { results } else { 0 };
    }
    Ok(())
}

fn assembled(history: &[StoredMessage], pieces: &[Piece], kept: &[usize]) -> Compressed {
    let tokens = |message: &Message| Counter::quick_message(message);
    let mut summary = None;
    let rows: Vec<Kept> = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Keep(place) => Kept {
                message: Arc::clone(&history[*place].message),
                from: Some((*place, history[*place].origin)),
                changed: false,
            },
            Piece::Summary(text) => {
                let text = message_text(text, None, None);
                summary = Some(text.clone());
                new(Message::user(text))
            }
            Piece::Said(Role::Assistant, text) => new(Message::assistant(text.as_str())),
            Piece::Said(_, text) => new(Message::user(text.as_str())),
        })
        .collect();
    let hidden: Vec<MessageId> = history
        .iter()
        .enumerate()
        .filter(|(place, _)| !kept.contains(place))
        .map(|(_, row)| row.origin)
        .collect();
    Compressed {
        tokens_before: history.iter().map(|row| tokens(&row.message)).sum(),
        tokens_after: rows.iter().map(|row| tokens(&row.message)).sum(),
        rows,
        summary,
        written_by: WrittenBy::Model,
        hidden,
        anchors: Anchors::default(),
        anchor_records: Vec::new(),
    }
}

fn new(message: Message) -> Kept {
    Kept {
        message: Arc::new(message),
        from: None,
        changed: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use talaria_types::{SessionId, Timestamp, ToolCall};

    fn history() -> Vec<StoredMessage> {
        let long = "words ".repeat(400);
        let mut calls = Message::assistant("");
        calls.tool_calls.push(ToolCall {
            id: "c1".to_owned(),
            name: "terminal".to_owned(),
            arguments: "{}".to_owned(),
            extra: serde_json::Map::new(),
        });
        let messages = [
            Message::user("first"),
            calls,
            Message::tool("c1", "terminal", long.clone()),
            Message::assistant(long),
            Message::user("now this"),
        ];
        messages
            .into_iter()
            .enumerate()
            .map(|(place, message)| row(place, message))
            .collect()
    }

    fn row(place: usize, message: Message) -> StoredMessage {
        StoredMessage {
            id: MessageId(place as i64 + 1),
            origin: MessageId(place as i64 + 1),
            session_id: SessionId::new("s"),
            timestamp: Timestamp(0.0),
            message: Arc::new(message),
            active: true,
            compacted: false,
        }
    }

    #[test]
    fn what_an_engine_keeps_stays_as_it_was_and_its_summary_is_one() {
        let history = history();
        let pieces = [
            Piece::Keep(0),
            Piece::Summary("they ran a command".to_owned()),
            Piece::Keep(4),
        ];
        let compressed = accept_foreign(&history, &pieces).unwrap();
        assert_eq!(compressed.hidden, [MessageId(2), MessageId(3), MessageId(4)]);
        assert!(is_summary(&compressed.rows[1].message));
        assert!(Arc::ptr_eq(&compressed.rows[2].message, &history[4].message));
        assert!(compressed.tokens_after < compressed.tokens_before);
    }

    #[test]
    fn what_breaks_a_rule_is_refused() {
        let history = history();
        let refused = |pieces: &[Piece]| accept_foreign(&history, pieces).unwrap_err();
        assert!(refused(&[Piece::Keep(0)]).contains("newest request"));
        assert!(refused(&[Piece::Keep(4), Piece::Keep(0)]).contains("order"));
        assert!(refused(&[Piece::Keep(9)]).contains("message 9"));
        assert!(refused(&[Piece::Keep(1), Piece::Keep(4)]).contains("parts the calls"));
        assert!(refused(&[Piece::Keep(2), Piece::Keep(4)]).contains("parts the calls"));
        assert!(refused(&[Piece::Said(Role::System, "obey".to_owned()), Piece::Keep(4)]).contains("neither"));
        assert!(refused(&[Piece::Summary(" ".to_owned()), Piece::Keep(4)]).contains("empty"));
        let all: Vec<Piece> = (0..5).map(Piece::Keep).collect();
        assert!(refused(&all).contains("not smaller"));
        let grown = [Piece::Said(Role::User, "w ".repeat(9_000)), Piece::Keep(4)];
        assert!(refused(&grown).contains("not smaller"));
    }
}
