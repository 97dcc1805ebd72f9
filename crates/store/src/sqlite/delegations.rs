//! Subagents: their sessions, and the work they do beside the session that asked for it.
//!
//! The table is Hermes'. A row outlives the process that runs the work, so that a
//! result is delivered once, whoever is alive by then.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;
use talaria_types::{MessageId, SessionId, Timestamp};

use super::append::{self, EncodedRow};
use super::{lineage, row, sessions};
use crate::{Delegation, Result, SessionRow, process};

/// A row, and whether nobody works on it any more although it says so.
pub(crate) struct Found {
    pub(crate) delegation: Delegation,
    pub(crate) abandoned: bool,
}

/// The sessions of subagents that `session` has started, oldest first.
pub(crate) fn delegates(connection: &Connection, session: &SessionId) -> Result<Vec<SessionRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM sessions WHERE parent_session_id = ?1
         AND instr(coalesce(model_config, ''), '\"_delegate_from\"') > 0 ORDER BY started_at, id",
    )?;
    let ids = statement
        .query_map([session.as_str()], |found| found.get::<_, String>(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut rows = Vec::with_capacity(ids.len());
    for id in ids {
        rows.extend(sessions::get(connection, &SessionId::new(id))?);
    }
    Ok(rows)
}

/// Writes work that this process runs.
pub(crate) fn create(connection: &Connection, delegation: &Delegation) -> Result<()> {
    let (pid, started) = process::own();
    connection
        .prepare_cached(
            "INSERT INTO async_delegations (delegation_id, origin_session, parent_session_id, state, dispatched_at,
                 updated_at, owner_pid, owner_started_at, task_json)
             VALUES (?1, ?2, ?2, ?3, ?4, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            delegation.id,
            delegation.session.as_str(),
            delegation.state,
            delegation.dispatched_at.0,
            pid,
            row::to_column(started),
            delegation.task.to_string(),
        ])?;
    Ok(())
}

/// It has ended; the first end stays.
pub(crate) fn end(
    connection: &Connection,
    id: &str,
    (state, result): (&str, &Value),
    at: Timestamp,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE async_delegations SET state = ?1, result_json = ?2, completed_at = ?3, updated_at = ?3
             WHERE delegation_id = ?4 AND completed_at IS NULL",
        )?
        .execute(params![state, result.to_string(), at.0, id])?;
    Ok(())
}

/// What the lineage of `session` has handed out and not had back.
pub(crate) fn open(connection: &Connection, session: &SessionId) -> Result<Vec<Found>> {
    let mut statement = connection.prepare_cached(
        "SELECT delegation_id, origin_session, state, task_json, result_json, dispatched_at, owner_pid,
                owner_started_at, completed_at
         FROM async_delegations WHERE origin_session = ?1 AND delivery_state <> 'delivered'
         ORDER BY dispatched_at, delegation_id",
    )?;
    let mut found = Vec::new();
    for session in lineage::ancestors(connection, session)? {
        let rows = statement.query_map([session.as_str()], decode)?;
        found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    Ok(found)
}

fn decode(found: &Row<'_>) -> rusqlite::Result<Found> {
    let text = |index| Ok::<_, rusqlite::Error>(row::text(found, index)?.unwrap_or_default());
    let ended = row::real(found, 8)?.is_some();
    let owner = (row::count(found, 6)?, row::count(found, 7)?);
    Ok(Found {
        delegation: Delegation {
            id: text(0)?,
            session: SessionId::new(text(1)?),
            state: text(2)?,
            task: row::json(found, 3)?.unwrap_or(Value::Null),
            result: row::json(found, 4)?,
            dispatched_at: Timestamp(row::real(found, 5)?.unwrap_or_default()),
        },
        abandoned: !ended && !process::is_alive(&format!("{}:{}", owner.0, owner.1)),
    })
}

/// The same, with what a dead process ran written down as lost.
pub(crate) fn bury(connection: &Connection, session: &SessionId, at: Timestamp) -> Result<Vec<Delegation>> {
    let mut rows = open(connection, session)?;
    for found in rows.iter_mut().filter(|found| found.abandoned) {
        "lost".clone_into(&mut found.delegation.state);
        connection
            .prepare_cached(
                "UPDATE async_delegations SET state = 'lost', completed_at = ?1, updated_at = ?1
                 WHERE delegation_id = ?2 AND completed_at IS NULL",
            )?
            .execute(params![at.0, found.delegation.id])?;
    }
    Ok(rows.into_iter().map(|found| found.delegation).collect())
}

/// Appends the result as a row, once.
pub(crate) fn deliver(
    connection: &Connection,
    delegation: &str,
    session: &SessionId,
    (rows, at): (&[EncodedRow], Timestamp),
) -> Result<Option<MessageId>> {
    let delivered: Option<bool> = connection
        .prepare_cached(
            "SELECT delivery_state = 'delivered' FROM async_delegations WHERE delegation_id = ?1",
        )?
        .query_row([delegation], |found| found.get(0))
        .optional()?;
    if delivered != Some(false) {
        return Ok(None);
    }
    let ids = append::append(connection, session, rows, at)?;
    connection
        .prepare_cached(
            "UPDATE async_delegations SET delivery_state = 'delivered', delivered_at = ?1, updated_at = ?1,
                 delivery_attempts = delivery_attempts + 1 WHERE delegation_id = ?2",
        )?
        .execute(params![at.0, delegation])?;
    Ok(ids.first().copied())
}
