//! What a running turn leaves: its calls, its records, and who runs it.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use sha2::{Digest, Sha256};
use talaria_types::{Effect, Message, MessageId, SessionId, Timestamp, TurnId};

use super::{lineage, row};
use crate::{CallJournal, CallState, LeaseOutcome, RecordRow, Result, TurnRecord, images, process};

/// Writes how far a call has come; a later state replaces an earlier one, never the other way round.
pub(crate) fn write(connection: &Connection, entry: &CallJournal, at: Timestamp) -> Result<()> {
    let result = entry
        .result
        .as_deref()
        .and_then(|message| serde_json::to_string(message).ok());
    let digest = result
        .as_ref()
        .map(|text| images::hex(&Sha256::digest(text.as_bytes())));
    let finished = (entry.state == CallState::Finished).then_some(at.0);
    let started = entry
        .started_at
        .map(|at| at.0)
        .or((entry.state == CallState::Started).then_some(at.0));
    connection
        .prepare_cached(
            "INSERT INTO tool_journal (session_id, turn_id, call_id, tool, effect, state, intended_at, started_at,
                 finished_at, pid, result, result_sha256)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (session_id, turn_id, call_id) DO UPDATE SET
                 tool = excluded.tool, effect = excluded.effect,
                 state = CASE WHEN state = 'finished' OR (state = 'started' AND excluded.state = 'intended')
                     THEN state ELSE excluded.state END,
                 started_at = coalesce(excluded.started_at, started_at),
                 finished_at = coalesce(excluded.finished_at, finished_at),
                 pid = coalesce(excluded.pid, pid),
                 result = CASE WHEN message_id IS NULL THEN coalesce(excluded.result, result) END,
                 result_sha256 = coalesce(excluded.result_sha256, result_sha256)",
        )?
        .execute(params![
            entry.session_id.as_str(),
            entry.turn_id.as_str(),
            entry.call_id,
            entry.tool,
            entry.effect.as_str(),
            state_word(entry.state),
            at.0,
            started,
            finished,
            entry.pid,
            result,
            digest,
        ])?;
    Ok(())
}

/// A call's result has its row; the journal need not keep it as well.
///
/// Two statements, because SQLite parses one with the search inside again each time it runs.
pub(crate) fn settle(
    connection: &Connection,
    session: &SessionId,
    call: &str,
    message: MessageId,
) -> Result<()> {
    let entry: Option<i64> = connection
        .prepare_cached(
            "SELECT id FROM tool_journal WHERE session_id = ?1 AND call_id = ?2 AND message_id IS NULL
             ORDER BY id LIMIT 1",
        )?
        .query_row(params![session.as_str(), call], |found| found.get(0))
        .optional()?;
    if let Some(entry) = entry {
        connection
            .prepare_cached("UPDATE tool_journal SET message_id = ?1, result = NULL WHERE id = ?2")?
            .execute(params![message.0, entry])?;
    }
    Ok(())
}

fn state_word(state: CallState) -> &'static str {
    match state {
        CallState::Intended => "intended",
        CallState::Started => "started",
        CallState::Finished => "finished",
    }
}

/// Calls without a result row, oldest first.
pub(crate) fn open_calls(connection: &Connection, session: &SessionId) -> Result<Vec<CallJournal>> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, turn_id, call_id, tool, effect, state, started_at, pid, result FROM tool_journal
         WHERE session_id = ?1 AND message_id IS NULL ORDER BY id",
    )?;
    let rows = statement.query_map([session.as_str()], decode)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn decode(found: &Row<'_>) -> rusqlite::Result<CallJournal> {
    let text = |index| Ok::<_, rusqlite::Error>(row::text(found, index)?.unwrap_or_default());
    let result = row::json(found, 8)?.and_then(|value| serde_json::from_value::<Message>(value).ok());
    Ok(CallJournal {
        session_id: SessionId::new(text(0)?),
        turn_id: TurnId::new(text(1)?),
        call_id: text(2)?,
        tool: text(3)?,
        effect: match text(4)?.as_str() {
            "read" => Effect::Read,
            "write" => Effect::Write,
            "ask" => Effect::Ask,
            _ => Effect::Execute,
        },
        state: match text(5)?.as_str() {
            "intended" => CallState::Intended,
            "finished" => CallState::Finished,
            _ => CallState::Started,
        },
        started_at: row::real(found, 6)?.map(Timestamp),
        pid: u32::try_from(row::number(found, 7)?).ok().filter(|pid| *pid > 0),
        result: result.map(Arc::new),
    })
}

/// Appends records of turns.
pub(crate) fn record(connection: &Connection, records: &[TurnRecord], at: Timestamp) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO turn_records (session_id, turn_id, kind, created_at, payload) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for record in records {
        statement.execute(params![
            record.session_id.as_str(),
            record.turn_id.as_str(),
            record.kind,
            at.0,
            record.payload.to_string(),
        ])?;
    }
    Ok(())
}

/// The records of one turn, oldest first.
pub(crate) fn records(connection: &Connection, session: &SessionId, turn: &TurnId) -> Result<Vec<RecordRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, created_at, kind, payload FROM turn_records WHERE session_id = ?1 AND turn_id = ?2 ORDER BY id",
    )?;
    let rows = statement.query_map([session.as_str(), turn.as_str()], |found| {
        Ok(RecordRow {
            id: found.get(0)?,
            timestamp: Timestamp(row::real(found, 1)?.unwrap_or_default()),
            record: TurnRecord {
                session_id: session.clone(),
                turn_id: turn.clone(),
                kind: row::text(found, 2)?.unwrap_or_default(),
                payload: row::json(found, 3)?.unwrap_or(Value::Null),
            },
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The turns of a session that left records, oldest first.
pub(crate) fn turns(connection: &Connection, session: &SessionId) -> Result<Vec<TurnId>> {
    let mut statement = connection.prepare_cached(
        "SELECT turn_id FROM turn_records WHERE session_id = ?1 GROUP BY turn_id ORDER BY min(id)",
    )?;
    let rows = statement.query_map([session.as_str()], |found| {
        found.get::<_, String>(0).map(TurnId::new)
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Who, alive, runs a turn of the lineage that the session belongs to.
pub(crate) fn turn_of(connection: &Connection, session: &SessionId) -> Result<Option<String>> {
    let tip = lineage::tip(connection, session)?;
    let mut sessions = lineage::ancestors(connection, &tip)?;
    sessions.extend(lineage::ancestors(connection, session)?);
    let mut statement = connection.prepare_cached("SELECT holder FROM turn_leases WHERE session_id = ?1")?;
    for session in sessions {
        let holder: Option<String> = statement
            .query_row([session.as_str()], |found| found.get(0))
            .optional()?;
        if let Some(holder) = holder.filter(|holder| process::is_alive(holder)) {
            return Ok(Some(process::describe(&holder)));
        }
    }
    Ok(None)
}

/// Takes the lease on a session's turns, from nobody, from itself, or from a process that is dead.
pub(crate) fn acquire_lease(
    connection: &Connection,
    session: &SessionId,
    holder: &str,
    now: Timestamp,
) -> Result<LeaseOutcome> {
    let other: Option<String> = connection
        .prepare_cached("SELECT holder FROM turn_leases WHERE session_id = ?1")?
        .query_row([session.as_str()], |found| found.get(0))
        .optional()?;
    if let Some(other) = other.filter(|other| other != holder && process::is_alive(other)) {
        return Ok(LeaseOutcome::Busy {
            holder: process::describe(&other),
        });
    }
    connection
        .prepare_cached(
            "INSERT INTO turn_leases (session_id, holder, acquired_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (session_id) DO UPDATE SET holder = excluded.holder, acquired_at = excluded.acquired_at",
        )?
        .execute(params![session.as_str(), holder, now.0])?;
    Ok(LeaseOutcome::Held)
}

/// Gives the lease back; somebody else's stays.
pub(crate) fn release_lease(connection: &Connection, session: &SessionId, holder: &str) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM turn_leases WHERE session_id = ?1 AND holder = ?2")?
        .execute([session.as_str(), holder])?;
    Ok(())
}
