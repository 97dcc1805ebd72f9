//! Undoing compressions: the originals again, and all that came after.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use rusqlite::{Connection, Row, params};
use serde_json::Value;
use talaria_types::{Anchors, MessageId, SessionId, StoredMessage, Timestamp};

use super::append::{self, Copied};
use super::lineage::Segment;
use super::messages::{self, Which};
use super::{lineage, row, sessions, titles};
use crate::{CompactionFacts, CompactionRow, NewSession, Result, StoreError, Undone};

const COLUMNS: &str = "id, session_before, session_after, created_at, source_ids, summary_message_id, trigger, summary,
    anchors, anchors_kept, anchors_total, tokens_before, tokens_after, usage, cost_usd, model, duration_ms, undone_by";

/// The compressions of a lineage up to `session`, oldest first; those that an undo took back are left out.
pub(crate) fn compactions(connection: &Connection, session: &SessionId) -> Result<Vec<CompactionRow>> {
    let segments = lineage::segments(connection, session)?;
    let inside: HashSet<&SessionId> = segments.iter().map(|segment| &segment.session).collect();
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM compactions WHERE session_before = ?1 ORDER BY id"
    ))?;
    let mut found = Vec::new();
    for segment in &segments {
        let rows = statement
            .query_map([segment.session.as_str()], decode)?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        found.extend(rows.into_iter().filter(|row| {
            let undone = segment.undone.is_some_and(|undone| row.id >= undone);
            !undone && inside.contains(&row.session_after)
        }));
    }
    Ok(found)
}

fn decode(found: &Row<'_>) -> rusqlite::Result<CompactionRow> {
    let text = |index| Ok::<_, rusqlite::Error>(row::text(found, index)?.unwrap_or_default());
    Ok(CompactionRow {
        id: found.get(0)?,
        session_before: SessionId::new(text(1)?),
        session_after: SessionId::new(text(2)?),
        created_at: Timestamp(row::real(found, 3)?.unwrap_or_default()),
        hidden: read_json(found, 4)?,
        summary_message: found.get::<_, Option<i64>>(5)?.map(MessageId),
        facts: CompactionFacts {
            trigger: serde_json::from_value(Value::String(text(6)?))
                .unwrap_or(talaria_types::Trigger::Command),
            summary: text(7)?,
            anchor_index: row::json(found, 8)?.unwrap_or_default(),
            anchors: Anchors {
                kept: row::count(found, 9)?,
                total: row::count(found, 10)?,
            },
            tokens_before: row::count(found, 11)?,
            tokens_after: row::count(found, 12)?,
            usage: read_json(found, 13)?,
            cost_usd: row::real(found, 14)?,
            model: row::text(found, 15)?,
            duration_ms: row::count(found, 16)?,
        },
        undone_by: row::text(found, 17)?.map(SessionId::new),
    })
}

fn read_json<T: serde::de::DeserializeOwned + Default>(found: &Row<'_>, index: usize) -> rusqlite::Result<T> {
    Ok(row::json(found, index)?
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default())
}

/// The compression that is taken back when the newest `steps` of the lineage of `session` are, and the lineage's tip.
fn undone(connection: &Connection, session: &SessionId, steps: usize) -> Result<(CompactionRow, SessionId)> {
    let tip = lineage::tip(connection, session)?;
    let mut found = compactions(connection, &tip)?;
    match found.len().checked_sub(steps) {
        Some(index) if steps > 0 => Ok((found.swap_remove(index), tip)),
        _ => Err(StoreError::NothingToUndo {
            session: session.to_string(),
            have: found.len(),
            wanted: steps,
        }),
    }
}

/// The originals of a compression in order, and all that was said since.
pub(crate) fn originals(
    connection: &Connection,
    session: &SessionId,
    steps: usize,
) -> Result<Vec<StoredMessage>> {
    let (compaction, tip) = undone(connection, session, steps)?;
    collect(connection, &compaction, &tip)
}

fn collect(
    connection: &Connection,
    compaction: &CompactionRow,
    tip: &SessionId,
) -> Result<Vec<StoredMessage>> {
    let chain = lineage::segments(connection, tip)?;
    let start = chain
        .iter()
        .position(|segment| segment.session == compaction.session_after)
        .unwrap_or_default();
    let since = &chain[start..];
    let written = written(connection, &chain, compaction.id)?;
    // An original is brought back once, by whichever of its rows comes first.
    let mut seen = taken_back(connection, since)?;
    let mut found = before(connection, compaction)?;
    let newest = found.iter().map(|message| message.id).max();
    found.retain(|message| seen.insert(message.origin));
    for (index, segment) in since.iter().enumerate() {
        let end = since
            .get(index + 1)
            .map_or(Ok(i64::MAX), |next| first_row(connection, &next.session))?;
        for message in messages::of_session(connection, &segment.session, Which::Kept)? {
            // What a compression wrote of its own, a summary or a list of tasks, was made in place of the originals.
            let made = written
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&message.origin.0));
            if Some(message.id) > newest && message.id.0 < end && !made && seen.insert(message.origin) {
                found.push(message);
            }
        }
    }
    Ok(found)
}

/// The rows that were live before a compression, in order.
fn before(connection: &Connection, compaction: &CompactionRow) -> Result<Vec<StoredMessage>> {
    let before: Vec<i64> = connection
        .prepare_cached("SELECT rows_before FROM compactions WHERE id = ?1")?
        .query_row([compaction.id], |found| read_json(found, 0))?;
    let held = messages::of_session(connection, &compaction.session_before, Which::All)?;
    let mut held: HashMap<i64, StoredMessage> =
        held.into_iter().map(|message| (message.id.0, message)).collect();
    let gone = || StoreError::OriginalsGone {
        session: compaction.session_before.to_string(),
    };
    before
        .into_iter()
        .map(|id| held.remove(&id).ok_or_else(gone))
        .collect()
}

/// The ranges of rows that this compression and later ones of the lineage wrote, undone ones included.
pub(crate) fn written(connection: &Connection, chain: &[Segment], from: i64) -> Result<Vec<(i64, i64)>> {
    let mut statement = connection.prepare_cached(
        "SELECT first_written, last_written FROM compactions
         WHERE session_before = ?1 AND id >= ?2 AND first_written IS NOT NULL",
    )?;
    let mut ranges = Vec::new();
    for segment in chain {
        let session = segment.session.as_str();
        let found =
            statement.query_map(params![session, from], |found| Ok((found.get(0)?, found.get(1)?)))?;
        ranges.extend(found.collect::<rusqlite::Result<Vec<(i64, i64)>>>()?);
    }
    Ok(ranges)
}

/// Originals that the person took back in one of these sessions, where only their copies could be marked.
pub(crate) fn taken_back(connection: &Connection, chain: &[Segment]) -> Result<HashSet<MessageId>> {
    let mut statement = connection.prepare_cached(
        "SELECT c.origin_id FROM message_copies c JOIN messages m ON m.id = c.copy_id
         WHERE c.session_id = ?1 AND m.active = 0 AND m.compacted = 0",
    )?;
    let mut found = HashSet::new();
    for segment in chain {
        let rows = statement.query_map([segment.session.as_str()], |row| Ok(MessageId(row.get(0)?)))?;
        found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    Ok(found)
}

/// The first row of a session.
fn first_row(connection: &Connection, session: &SessionId) -> Result<i64> {
    let first: Option<i64> = connection
        .prepare_cached("SELECT min(id) FROM messages WHERE session_id = ?1")?
        .query_row([session.as_str()], |found| found.get(0))?;
    Ok(first.unwrap_or(i64::MAX))
}

/// Writes the originals as a new session; nothing that is stored changes.
pub(crate) fn uncompress(
    connection: &Connection,
    session: &SessionId,
    steps: usize,
    new: &NewSession,
    images: &Path,
) -> Result<Undone> {
    let (mut compaction, tip) = undone(connection, session, steps)?;
    let rows = collect(connection, &compaction, &tip)?;
    let mut new = sessions::marked(new, &tip);
    if let Value::Object(config) = &mut new.model_config {
        config.insert("_undo_of".to_owned(), Value::from(compaction.id));
    }
    if new.title.is_none()
        && let Some(title) = sessions::get(connection, &tip)?.and_then(|row| row.title)
    {
        new.title = Some(titles::next(connection, &title)?);
    }
    sessions::create(connection, &new)?;
    sessions::copy_place(connection, &tip, &new.id)?;
    let copies: Vec<Copied> = rows
        .into_iter()
        .map(|row| Copied {
            message: row.message,
            origin: Some(row.origin),
        })
        .collect();
    let written = append::write_copies(connection, &new.id, &copies, new.started_at, images)?;
    connection.execute(
        "UPDATE compactions SET undone_by = ?1 WHERE id = ?2",
        params![new.id.as_str(), compaction.id],
    )?;
    compaction.undone_by = Some(new.id.clone());
    Ok(Undone {
        session: new.id,
        from: tip,
        messages: written.len() as u64,
        compaction,
    })
}
