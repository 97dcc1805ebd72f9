//! Rows of `messages`: read back, recalled, taken back. [`super::append`] writes them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use talaria_types::{Content, Message, MessageId, Reasoning, Role, SessionId, StoredMessage, Timestamp};

use super::{calls, content, lineage, row, undo};
use crate::Result;

/// Which rows of a session are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that are sent.
    Live,
    /// Those and the hidden ones, but none that the person took back.
    Kept,
    /// Every one.
    All,
}

const COLUMNS: &str = "id, session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, finish_reason,
    reasoning, reasoning_content, reasoning_details, codex_reasoning_items, codex_message_items, active, compacted,
    api_content";

/// Messages of one session, in the order they were written.
pub(crate) fn of_session(
    connection: &Connection,
    session: &SessionId,
    which: Which,
) -> Result<Vec<StoredMessage>> {
    let condition = match which {
        Which::Live => "AND active = 1",
        Which::Kept => "AND (active = 1 OR compacted = 1)",
        Which::All => "",
    };
    let mut messages = select(
        connection,
        &format!("session_id = ?1 {condition}"),
        &[&session.as_str()],
    )?;
    // The index gives them by time, which may have gone back; rows rise by id.
    messages.sort_unstable_by_key(|message| message.id);
    let briefs = pairs::<String>(
        connection,
        "SELECT message_id, brief FROM message_briefs WHERE session_id = ?1",
        session,
    )?;
    let origins = pairs::<i64>(
        connection,
        "SELECT copy_id, origin_id FROM message_copies WHERE session_id = ?1",
        session,
    )?;
    for message in &mut messages {
        attach(message, &briefs, &origins);
    }
    Ok(messages)
}

fn attach(stored: &mut StoredMessage, briefs: &HashMap<i64, String>, origins: &HashMap<i64, i64>) {
    if let Some(brief) = briefs.get(&stored.id.0) {
        Arc::make_mut(&mut stored.message).brief = Some(brief.clone());
    }
    if let Some(origin) = origins.get(&stored.id.0) {
        stored.origin = MessageId(*origin);
    }
}

fn pairs<T: rusqlite::types::FromSql>(
    connection: &Connection,
    sql: &str,
    session: &SessionId,
) -> Result<HashMap<i64, T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([session.as_str()], |found| Ok((found.get(0)?, found.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn select(connection: &Connection, condition: &str, values: &[&dyn ToSql]) -> Result<Vec<StoredMessage>> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM messages WHERE {condition}"))?;
    let mut rows = statement.query(values)?;
    let mut messages = Vec::new();
    while let Some(found) = rows.next()? {
        messages.extend(decode(found)?);
    }
    Ok(messages)
}

/// Reads a row; rows of roles that are no part of a conversation are left out.
fn decode(found: &Row<'_>) -> rusqlite::Result<Option<StoredMessage>> {
    let role = match found.get_ref(2)?.as_bytes().unwrap_or_default() {
        b"system" => Role::System,
        b"user" => Role::User,
        b"assistant" => Role::Assistant,
        b"tool" => Role::Tool,
        _ => return Ok(None),
    };
    let id = MessageId(found.get(0)?);
    let content = row::text(found, 3)?;
    let reasoning = Reasoning {
        text: row::text(found, 9)?.filter(|text| !text.is_empty()),
        content: row::text(found, 10)?,
        details: row::json(found, 11)?,
        response_items: row::json(found, 12)?,
        message_items: row::json(found, 13)?,
    };
    let tool_calls = match found.get_ref(5)? {
        rusqlite::types::ValueRef::Text(text) => calls::decode(text),
        _ => Vec::new(),
    };
    let message = Message {
        role,
        content: content.map_or_else(|| Content::Text(String::new()), content::decode),
        tool_calls,
        tool_call_id: row::text(found, 4)?.filter(|text| !text.is_empty()),
        tool_name: row::text(found, 6)?.filter(|text| !text.is_empty()),
        reasoning,
        finish_reason: row::text(found, 8)?,
        sent_as: row::text(found, 16)?,
        brief: None,
    };
    Ok(Some(StoredMessage {
        id,
        session_id: SessionId::new(row::text(found, 1)?.unwrap_or_default()),
        origin: id,
        message: Arc::new(message),
        timestamp: Timestamp(row::real(found, 7)?.unwrap_or_default()),
        // A flag that is missing is that of a live row.
        active: found.get::<_, Option<i64>>(14)?.unwrap_or(1) != 0,
        compacted: row::number(found, 15)? != 0,
    }))
}

/// One row by its id, with what stands beside it.
fn by_id(connection: &Connection, id: MessageId) -> Result<Option<StoredMessage>> {
    let Some(mut message) = select(connection, "id = ?1", &[&id.0])?.into_iter().next() else {
        return Ok(None);
    };
    if let Some(origin) = origin(connection, id)? {
        message.origin = origin;
    }
    let brief = connection
        .prepare_cached("SELECT brief FROM message_briefs WHERE session_id = ?1 AND message_id = ?2")?
        .query_row(params![message.session_id.as_str(), id.0], |found| {
            row::text(found, 0)
        })
        .optional()?
        .flatten();
    if brief.is_some() {
        Arc::make_mut(&mut message.message).brief = brief;
    }
    Ok(Some(message))
}

/// The row that `id` repeats.
pub(crate) fn origin(connection: &Connection, id: MessageId) -> Result<Option<MessageId>> {
    Ok(connection
        .prepare_cached("SELECT origin_id FROM message_copies WHERE copy_id = ?1")?
        .query_row([id.0], |found| Ok(MessageId(found.get(0)?)))
        .optional()?)
}

/// Originals by id, in order; the id of a copy names its original.
pub(crate) fn recall(connection: &Connection, ids: &[MessageId]) -> Result<Vec<StoredMessage>> {
    let mut wanted = Vec::with_capacity(ids.len());
    for id in ids {
        wanted.push(origin(connection, *id)?.unwrap_or(*id));
    }
    wanted.sort_unstable();
    wanted.dedup();
    let mut messages = Vec::with_capacity(wanted.len());
    for id in wanted {
        messages.extend(by_id(connection, id)?.filter(|message| message.active || message.compacted));
    }
    Ok(messages)
}

/// What was said in a lineage, each message once and by its original; what the person took back is left out.
pub(crate) fn full(connection: &Connection, session: &SessionId) -> Result<Vec<StoredMessage>> {
    let chain = lineage::segments(connection, session)?;
    let mut seen = undo::taken_back(connection, &chain)?;
    let mut messages: Vec<StoredMessage> = Vec::new();
    let mut previous: Vec<StoredMessage> = Vec::new();
    for segment in chain {
        // The summary of a compression that was undone stands for nothing any more.
        let undone = match segment.undone {
            Some(undone) => undo::written(connection, std::slice::from_ref(&segment), undone)?,
            None => Vec::new(),
        };
        let mut rows = of_session(connection, &segment.session, Which::Kept)?;
        if rows.iter().all(|row| row.origin == row.id) {
            drop_unmarked_copies(&previous, &mut rows);
        }
        for message in rows.iter().cloned() {
            let origin = message.origin;
            if undone
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&origin.0))
                || !seen.insert(origin)
            {
                continue;
            }
            // A branch repeats rows of another lineage; they are shown by their originals.
            let original = if origin == message.id {
                None
            } else {
                by_id(connection, origin)?
            };
            messages.push(original.unwrap_or(message));
        }
        previous = rows;
    }
    Ok(messages)
}

/// Drops the rows with which Hermes begins a session after a compression: it repeats the first messages of the
/// session before, then comes the summary, then the last messages.
fn drop_unmarked_copies(previous: &[StoredMessage], rows: &mut Vec<StoredMessage>) {
    let known: HashSet<Key<'_>> = previous.iter().map(Key::of).collect();
    let (mut own, mut ended) = (0, false);
    rows.retain(|row| {
        let repeated = !ended && known.contains(&Key::of(row));
        // The summary is the one row of the beginning that repeats nothing.
        own += usize::from(!repeated);
        ended |= own > 1;
        !repeated
    });
}

/// What makes two rows the same message.
#[derive(PartialEq, Eq, Hash)]
struct Key<'a> {
    role: &'static str,
    text: Cow<'a, str>,
    answers: Option<&'a str>,
    calls: Vec<&'a str>,
}

impl<'a> Key<'a> {
    fn of(stored: &'a StoredMessage) -> Self {
        let message = &*stored.message;
        Self {
            role: message.role.as_str(),
            text: message.content.text(),
            answers: message.tool_call_id.as_deref(),
            calls: message.tool_calls.iter().map(|call| call.id.as_str()).collect(),
        }
    }
}

/// Hides the newest `turns` user messages and what followed them; gives how many rows.
pub(crate) fn rewind(connection: &Connection, session: &SessionId, turns: u32) -> Result<u64> {
    if turns == 0 {
        return Ok(0);
    }
    let from: Option<i64> = connection
        .prepare_cached(
            "SELECT min(id) FROM (SELECT id FROM messages WHERE session_id = ?1 AND active = 1 AND role = 'user'
             ORDER BY id DESC LIMIT ?2)",
        )?
        .query_row(params![session.as_str(), turns], |found| found.get(0))?;
    let Some(from) = from else { return Ok(0) };
    let calls: i64 = connection
        .prepare_cached(
            "SELECT coalesce(sum(CASE WHEN json_valid(tool_calls) THEN json_array_length(tool_calls) ELSE 0 END), 0)
             FROM messages WHERE session_id = ?1 AND active = 1 AND id >= ?2",
        )?
        .query_row(params![session.as_str(), from], |found| found.get(0))?;
    let rows = connection
        .prepare_cached("UPDATE messages SET active = 0 WHERE session_id = ?1 AND active = 1 AND id >= ?2")?
        .execute(params![session.as_str(), from])?;
    let rows = rows as u64;
    connection
        .prepare_cached(
            "UPDATE sessions SET rewind_count = rewind_count + 1,
                 message_count = max(coalesce(message_count, 0) - ?1, 0),
                 tool_call_count = max(coalesce(tool_call_count, 0) - ?2, 0) WHERE id = ?3",
        )?
        .execute(params![row::to_column(rows), calls, session.as_str()])?;
    Ok(rows)
}
