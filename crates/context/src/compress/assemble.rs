//! Phase 4: the compressed conversation.
//!
//! Head, one summary message, tail. The summary's text opens with the one-line
//! prefix (what it is and how to take it) and closes with the end marker, so that
//! neither a reader nor a weak model takes it for the request that follows.

use std::sync::Arc;

use talaria_types::{Anchors, Message, MessageId, Role};

use super::anchors::{Anchor, Index, index};
use super::boundary::{Bounds, Fate};
use super::pairs::guard;
use super::rows::Row;
use super::strings::{END_MARKER, SUMMARY_PREFIX, TODO_HEADER};
use super::{AnchorPlace, Compressed, Kept, WrittenBy};
use crate::tokens::{Counter, quick};

/// Everything the last phase needs.
#[derive(Clone, Debug)]
pub(super) struct Assembly<'a> {
    pub(super) rows: &'a [Row],
    pub(super) bounds: &'a Bounds,
    pub(super) summary: Option<String>,
    pub(super) written_by: WrittenBy,
    pub(super) anchors: &'a [Anchor],
    pub(super) anchor_tokens: u64,
    pub(super) todo: Option<&'a str>,
    pub(super) tokens_before: u64,
}

pub(super) fn assemble(assembly: &Assembly<'_>) -> Compressed {
    let (rows, bounds) = (assembly.rows, assembly.bounds);
    let kept_tokens = bounds.tokens(rows, Fate::Head) + bounds.tokens(rows, Fate::Tail);
    let (summary, listed) = match &assembly.summary {
        None => (None, Index::default()),
        Some(body) => {
            let bare = message_text(body, None, assembly.todo);
            // The index never eats what the compression freed.
            let freed = assembly.tokens_before.saturating_sub(kept_tokens + quick(&bare));
            let listed = index(assembly.anchors, body, assembly.anchor_tokens.min(freed / 2));
            (
                Some(message_text(body, listed.section.as_deref(), assembly.todo)),
                listed,
            )
        }
    };
    let mut rows_kept: Vec<Kept> = of_fate(rows, bounds, Fate::Head).collect();
    if let Some(text) = &summary {
        let message = match bounds.summary_role(rows) {
            Role::Assistant => Message::assistant(text.as_str()),
            Role::User | Role::System | Role::Tool => Message::user(text.as_str()),
        };
        rows_kept.push(Kept {
            message: Arc::new(message),
            from: None,
            changed: true,
        });
    }
    rows_kept.extend(of_fate(rows, bounds, Fate::Tail));
    let rows_kept = guard(rows_kept);
    // What an earlier compression left out already was not lost by this one.
    let lost = listed
        .records
        .iter()
        .zip(assembly.anchors)
        .filter(|(record, anchor)| record.place == AnchorPlace::Store && !anchor.was_left_out)
        .count() as u64;
    let kept = listed
        .records
        .iter()
        .filter(|record| record.place != AnchorPlace::Store)
        .count() as u64;
    Compressed {
        tokens_after: rows_kept
            .iter()
            .map(|row| Counter::quick_message(&row.message))
            .sum(),
        rows: rows_kept,
        summary,
        written_by: assembly.written_by,
        hidden: hidden(rows, bounds),
        anchors: Anchors {
            kept,
            total: kept + lost,
        },
        anchor_records: listed.records,
        tokens_before: assembly.tokens_before,
    }
}

fn of_fate<'a>(rows: &'a [Row], bounds: &'a Bounds, fate: Fate) -> impl Iterator<Item = Kept> + 'a {
    rows.iter()
        .enumerate()
        .filter(move |(index, _)| bounds.is(*index, fate))
        .map(|(_, row)| Kept {
            message: Arc::clone(&row.message),
            from: Some((row.index, row.origin)),
            changed: row.is_changed(),
        })
}

fn hidden(rows: &[Row], bounds: &Bounds) -> Vec<MessageId> {
    let hidden = rows
        .iter()
        .enumerate()
        .filter(|(index, _)| bounds.is(*index, Fate::Hidden));
    hidden.map(|(_, row)| row.origin).collect()
}

/// The text of a summary message.
pub(super) fn message_text(body: &str, anchors: Option<&str>, todo: Option<&str>) -> String {
    let todo = todo.map(str::trim).filter(|todo| !todo.is_empty());
    let todo = todo.map(|todo| {
        format!(
            "{TODO_HEADER}\n{}",
            todo.strip_prefix(TODO_HEADER).unwrap_or(todo).trim()
        )
    });
    let blocks = [Some(body.trim()), anchors, todo.as_deref(), Some(END_MARKER)];
    let said: Vec<&str> = blocks.into_iter().flatten().collect();
    format!("{SUMMARY_PREFIX}\n{}", said.join("\n\n"))
}
