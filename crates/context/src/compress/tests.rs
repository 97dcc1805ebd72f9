mod facts;
mod field;
mod laws;
mod phases;

use std::sync::Arc;

use talaria_types::{
    Completion, Message, MessageId, ModelRequest, Role, SessionId, StoredMessage, Timestamp, ToolCall,
};

use super::*;
use crate::compose::{compose, validate};

/// Rows with ids from 1.
fn stored(messages: Vec<Message>) -> Vec<StoredMessage> {
    let row = |(index, message): (usize, Message)| {
        let id = MessageId(i64::try_from(index).unwrap() + 1);
        StoredMessage {
            id,
            session_id: SessionId::new("s"),
            origin: id,
            message: Arc::new(message),
            timestamp: Timestamp(0.0),
            active: true,
            compacted: false,
        }
    };
    messages.into_iter().enumerate().map(row).collect()
}

/// The rows of a compressed conversation, as a rotation would store them, and more.
fn continued(compressed: &Compressed, more: Vec<Message>) -> Vec<StoredMessage> {
    let messages = compressed
        .rows
        .iter()
        .map(|row| Message::clone(&row.message))
        .chain(more)
        .collect();
    let mut rows = stored(messages);
    for (row, kept) in rows.iter_mut().zip(&compressed.rows) {
        row.id = MessageId(row.id.0 + 1_000);
        row.origin = kept.from.map_or(row.id, |(_, origin)| origin);
    }
    for row in rows.iter_mut().skip(compressed.rows.len()) {
        row.id = MessageId(row.id.0 + 1_000);
        row.origin = row.id;
    }
    rows
}

/// Varied text without facts, about six characters a token.
fn prose(characters: usize, seed: usize) -> String {
    const WORDS: [&str; 12] = [
        "amber", "basin", "cedar", "delta", "ember", "grove", "heron", "inlet", "maple", "otter", "ridge",
        "willow",
    ];
    let mut text = String::new();
    let mut state = seed * 7_919 + 13;
    while text.len() < characters {
        state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
        text.push_str(WORDS[state % WORDS.len()]);
        text.push(' ');
    }
    text.truncate(characters);
    text
}

fn calling(id: &str, tool: &str, arguments: &str) -> Message {
    Message {
        tool_calls: vec![ToolCall {
            id: id.to_owned(),
            name: tool.to_owned(),
            arguments: arguments.to_owned(),
            extra: serde_json::Map::new(),
        }],
        ..Message::assistant("")
    }
}

/// A call and its result.
fn used(id: &str, tool: &str, arguments: &str, result: &str) -> [Message; 2] {
    [calling(id, tool, arguments), Message::tool(id, tool, result)]
}

/// `turns` exchanges of `characters` each way.
fn chat(turns: usize, characters: usize) -> Vec<Message> {
    (0..turns)
        .flat_map(|turn| {
            [
                Message::user(format!("T{turn} question: {}", prose(characters, turn))),
                Message::assistant(format!("T{turn} answer: {}", prose(characters, 500 + turn))),
            ]
        })
        .collect()
}

/// A window of 20 000 tokens that compresses at 10 000.
fn budget() -> Budget {
    Budget::new(20_000, 10_000, 500)
}

fn say(text: impl Into<String>) -> Completion {
    Completion {
        text: text.into(),
        ..Completion::default()
    }
}

/// A whole summary that tells `note`.
fn summary(note: &str) -> String {
    let told = |heading: &&str| match *heading {
        "Active Task" => format!("## {heading}\nUser asked: \"carry on with the work\""),
        "Goal" => format!("## {heading}\nGoal of {note}."),
        "Constraints & Preferences" => format!("## {heading}\nKeep answers short."),
        "Critical Context" => format!("## {heading}\n{note}"),
        _ => format!("## {heading}\nNone"),
    };
    HEADINGS.iter().map(told).collect::<Vec<_>>().join("\n\n")
}

/// Compresses with one summariser answer for every request.
fn compressed_with(history: &[StoredMessage], budget: &Budget, answer: &str) -> Compressed {
    let mut plan = plan(history, budget, Guidance::default()).unwrap();
    for _ in 0..20 {
        if plan.request().is_none() {
            return plan.without_summary().unwrap();
        }
        match plan.accept(&say(answer)).unwrap() {
            Accepted::Next => {}
            Accepted::Done(compressed) => return *compressed,
        }
    }
    panic!("more than twenty slices");
}

fn prompt_of(request: &ModelRequest) -> String {
    request
        .messages
        .iter()
        .map(|message| message.content.text().into_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

fn texts(compressed: &Compressed) -> Vec<String> {
    compressed
        .rows
        .iter()
        .map(|row| row.message.content.text().into_owned())
        .collect()
}

fn summary_place(compressed: &Compressed) -> usize {
    compressed
        .rows
        .iter()
        .position(|row| is_summary(&row.message))
        .unwrap()
}

/// What every compressed conversation must be.
fn assert_sound(compressed: &Compressed) {
    let rows: Vec<Arc<Message>> = compressed
        .rows
        .iter()
        .map(|row| Arc::clone(&row.message))
        .collect();
    let sent = compose(&rows);
    assert_eq!(validate(&sent), [], "{rows:#?}");
    // Nothing is left for the wire to repair but an opening or a closing row.
    let untouched = sent
        .iter()
        .filter(|sent| rows.iter().any(|row| Arc::ptr_eq(row, sent)))
        .count();
    assert_eq!(untouched, rows.len(), "{rows:#?}");
    let summaries = rows
        .iter()
        .filter(|row| row.content.text().contains(SUMMARY_TAG))
        .count();
    assert!(summaries <= 1, "{summaries} summaries");
    assert!(compressed.tokens_after < compressed.tokens_before);
}
