//! Rows of `messages` written: encoded, appended, copied.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, ToSql, params};
use serde_json::Value;
use talaria_types::{Message, MessageId, Reasoning, SessionId, Timestamp};

use super::{calls, content, journal, lineage, row, sessions};
use crate::{Result, StoreError};

/// Seconds between the rows that one transaction copies, so that their times keep their order.
const TICK: f64 = 1e-6;

/// A message in the form its row has.
pub(crate) struct EncodedRow {
    role: &'static str,
    content: Option<String>,
    images: Vec<String>,
    tool_call_id: Option<String>,
    tool_calls: Option<String>,
    calls: usize,
    tool_name: Option<String>,
    finish_reason: Option<String>,
    reasoning: Reasoning,
    sent_as: Option<String>,
    brief: Option<String>,
}

/// Encodes messages; pictures that stand inline move to the folder `images`.
pub(crate) fn encode_all(messages: &[Arc<Message>], images: &Path) -> Result<Vec<EncodedRow>> {
    messages.iter().map(|message| encode(message, images)).collect()
}

fn encode(message: &Message, folder: &Path) -> Result<EncodedRow> {
    let (text, images) = content::encode(&message.content, folder)?;
    let silent = text.is_empty() && !message.tool_calls.is_empty();
    Ok(EncodedRow {
        role: message.role.as_str(),
        content: (!silent).then_some(text),
        images,
        tool_call_id: message.tool_call_id.clone(),
        tool_calls: calls::encode(&message.tool_calls),
        calls: message.tool_calls.len(),
        tool_name: message.tool_name.clone(),
        finish_reason: message.finish_reason.clone(),
        reasoning: message.reasoning.clone(),
        sent_as: message.sent_as.clone(),
        brief: message.brief.clone(),
    })
}

/// Rows of one statement at most. Each statement makes the search index write what it has gathered.
const TOGETHER: usize = 8;

/// Appends rows and counts them on the session.
pub(crate) fn append(
    connection: &Connection,
    session: &SessionId,
    rows: &[EncodedRow],
    at: Timestamp,
) -> Result<Vec<MessageId>> {
    let mut ids = Vec::with_capacity(rows.len());
    for together in rows.chunks(TOGETHER) {
        ids.extend(
            insert(connection, session, together, at).map_err(|error| gone(connection, session, error))?,
        );
    }
    for (row, id) in rows.iter().zip(&ids) {
        insert_beside(connection, session, *id, row)?;
    }
    let calls: usize = rows.iter().map(|row| row.calls).sum();
    let counted = connection
        .prepare_cached(
            "UPDATE sessions SET message_count = coalesce(message_count, 0) + ?1,
                 tool_call_count = coalesce(tool_call_count, 0) + ?2 WHERE id = ?3",
        )?
        .execute(params![
            row::to_column(rows.len() as u64),
            row::to_column(calls as u64),
            session.as_str()
        ])?;
    if counted == 0 {
        Err(sessions::unknown(session))
    } else {
        Ok(ids)
    }
}

/// Why rows were refused: most likely their session was erased meanwhile.
fn gone(connection: &Connection, session: &SessionId, error: StoreError) -> StoreError {
    match lineage::exists(connection, session.as_str()) {
        Ok(false) => sessions::unknown(session),
        Ok(true) | Err(_) => error,
    }
}

/// What [`append`] does, and the calls whose results these are need the journal no more.
pub(crate) fn append_and_settle(
    connection: &Connection,
    session: &SessionId,
    rows: &[EncodedRow],
    at: Timestamp,
) -> Result<Vec<MessageId>> {
    let ids = append(connection, session, rows, at)?;
    for (row, id) in rows.iter().zip(&ids) {
        if let (Some(call), "tool") = (&row.tool_call_id, row.role) {
            journal::settle(connection, session, call, *id)?;
        }
    }
    Ok(ids)
}

/// Columns of a row that differ from row to row; the session and the time are the first two values of the statement.
const VALUES: usize = 12;

fn insert(
    connection: &Connection,
    session: &SessionId,
    rows: &[EncodedRow],
    at: Timestamp,
) -> Result<Vec<MessageId>> {
    let mut statement = connection.prepare_cached(&insertion(rows.len()))?;
    statement.raw_bind_parameter(1, session.as_str())?;
    statement.raw_bind_parameter(2, at.0)?;
    for (index, row) in rows.iter().enumerate() {
        let json = |value: &Option<Value>| value.as_ref().map(Value::to_string);
        let (details, response, items) = (
            json(&row.reasoning.details),
            json(&row.reasoning.response_items),
            json(&row.reasoning.message_items),
        );
        let values: [&dyn ToSql; VALUES] = [
            &row.role,
            &row.content,
            &row.tool_call_id,
            &row.tool_calls,
            &row.tool_name,
            &row.finish_reason,
            &row.reasoning.text,
            &row.reasoning.content,
            &details,
            &response,
            &items,
            &row.sent_as,
        ];
        for (place, value) in values.iter().enumerate() {
            statement.raw_bind_parameter(3 + index * VALUES + place, *value)?;
        }
    }
    match statement.raw_execute() {
        // Without its session the row has no place; say which one is missing.
        Err(rusqlite::Error::SqliteFailure(code, _))
            if code.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY =>
        {
            return Err(sessions::unknown(session));
        }
        done => done?,
    };
    // Nobody else writes meanwhile, so the ids of one statement are neighbours.
    let last = connection.last_insert_rowid();
    let first = last - i64::try_from(rows.len()).unwrap_or_default() + 1;
    Ok((first..=last).map(MessageId).collect())
}

/// The statement that inserts so many rows.
fn insertion(rows: usize) -> String {
    let mut sql = String::from(
        "INSERT INTO messages (session_id, timestamp, observed, active, compacted, role, content, tool_call_id,
             tool_calls, tool_name, finish_reason, reasoning, reasoning_content, reasoning_details,
             codex_reasoning_items, codex_message_items, api_content) VALUES ",
    );
    for row in 0..rows {
        sql.push_str(if row == 0 {
            "(?1, ?2, 0, 1, 0"
        } else {
            ", (?1, ?2, 0, 1, 0"
        });
        for place in 0..VALUES {
            let _ = write!(sql, ", ?{}", 3 + row * VALUES + place);
        }
        sql.push(')');
    }
    sql
}

/// What a row has in own tables: its brief, its pictures.
fn insert_beside(
    connection: &Connection,
    session: &SessionId,
    id: MessageId,
    row: &EncodedRow,
) -> Result<()> {
    if let Some(brief) = &row.brief {
        connection
            .prepare_cached("INSERT INTO message_briefs (session_id, message_id, brief) VALUES (?1, ?2, ?3)")?
            .execute(params![session.as_str(), id.0, brief])?;
    }
    for digest in &row.images {
        connection
            .prepare_cached("INSERT OR IGNORE INTO message_images (digest, message_id) VALUES (?1, ?2)")?
            .execute(params![digest, id.0])?;
    }
    Ok(())
}

/// A message to be written into another session.
pub(crate) struct Copied {
    /// The words.
    pub(crate) message: Arc<Message>,
    /// The row they repeat.
    pub(crate) origin: Option<MessageId>,
}

/// Writes rows into `session`, remembering which of them repeat others.
pub(crate) fn write_copies(
    connection: &Connection,
    session: &SessionId,
    copies: &[Copied],
    at: Timestamp,
    images: &Path,
) -> Result<Vec<MessageId>> {
    let mut ids = Vec::with_capacity(copies.len());
    for (index, copy) in copies.iter().enumerate() {
        let encoded = encode(&copy.message, images)?;
        let id = append(
            connection,
            session,
            &[encoded],
            Timestamp(at.0 + TICK * index as f64),
        )?;
        for id in id {
            if let Some(origin) = copy.origin {
                connection
                    .prepare_cached(
                        "INSERT INTO message_copies (copy_id, origin_id, session_id) VALUES (?1, ?2, ?3)",
                    )?
                    .execute(params![id.0, origin.0, session.as_str()])?;
            }
            ids.push(id);
        }
    }
    Ok(ids)
}
