//! A compression, in one transaction.
//!
//! Either all of it is in the file or nothing: the rows of the running turn, the
//! end of the old session, the session that goes on with its messages, and the
//! record from which it can be undone. No stored message changes, save for the
//! two flags of rows that are archived in place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::Value;
use talaria_types::{MessageId, SessionId, Timestamp};

use super::append::{self, Copied, EncodedRow};
use super::messages::{self, Which};
use super::{lineage, row, sessions, titles};
use crate::{Origin, Result, Rotation, RotationIds, StoreError};

/// Columns that the session that goes on has from the one that ends. The rest is its own.
const KEPT: &str =
    "source, user_id, session_key, chat_id, chat_type, thread_id, display_name, origin_json, model, cwd,
    git_branch, git_repo_root, billing_provider, billing_base_url, billing_mode, profile_name,
    compression_failure_cooldown_until, compression_failure_error, compression_fallback_streak, archived";

/// Marks in `model_config` that tell how a session began; the one that goes on began otherwise.
const MARKS: [&str; 3] = ["_branched_from", "_delegate_from", "_undo_of"];

/// Writes a compression. `pending` are the encoded rows of [`Rotation::pending`].
pub(crate) fn rotate(
    connection: &Connection,
    rotation: &Rotation,
    pending: &[EncodedRow],
    images: &Path,
) -> Result<RotationIds> {
    let old =
        sessions::get(connection, &rotation.session)?.ok_or_else(|| sessions::unknown(&rotation.session))?;
    if old.end_reason.as_deref() == Some("compression") {
        let tip = lineage::tip(connection, &rotation.session)?;
        return Err(StoreError::AlreadyCompressed {
            session: old.id.to_string(),
            tip: tip.to_string(),
        });
    }
    let pending = match pending {
        [] => Vec::new(),
        rows => append::append_and_settle(connection, &rotation.session, rows, rotation.at)?,
    };
    let before = live_rows(connection, &rotation.session)?;
    let (session, title) = match &rotation.child {
        Some(child) => (
            child.clone(),
            begin_child(connection, rotation, child, old.title.as_deref())?,
        ),
        None => {
            archive(connection, rotation)?;
            (rotation.session.clone(), old.title)
        }
    };
    let copies = origins(connection, rotation, &pending)?;
    let written = append::write_copies(connection, &session, &copies, rotation.at, images)?;
    let hidden = hidden(&before, &copies);
    let record = Record {
        session: &session,
        before: &before,
        hidden: &hidden,
        copies: &copies,
        written: &written,
    };
    let compaction = record.write(connection, rotation)?;
    let hidden = hidden.len() as u64;
    Ok(RotationIds {
        session,
        pending,
        messages: written,
        compaction,
        hidden,
        title,
    })
}

/// The live rows of a session with their originals, in order.
fn live_rows(connection: &Connection, session: &SessionId) -> Result<Vec<(MessageId, MessageId)>> {
    let live = messages::of_session(connection, session, Which::Live)?;
    Ok(live
        .into_iter()
        .map(|message| (message.id, message.origin))
        .collect())
}

/// Ends the old session and begins the one that goes on; gives its title.
fn begin_child(
    connection: &Connection,
    rotation: &Rotation,
    child: &SessionId,
    title: Option<&str>,
) -> Result<Option<String>> {
    let old = &rotation.session;
    let title = title.map(|title| titles::next(connection, title)).transpose()?;
    // A compression says how the conversation goes on, so its reason stands even where another was first.
    connection.execute(
        "UPDATE sessions SET ended_at = ?1, end_reason = 'compression' WHERE id = ?2",
        params![rotation.at.0, old.as_str()],
    )?;
    let config = sessions::get(connection, old)?.map(|row| without_marks(row.model_config));
    connection.execute(
        &format!(
            "INSERT INTO sessions (id, parent_session_id, started_at, title, system_prompt, model_config, {KEPT})
             SELECT ?1, id, ?2, ?3, ?4, ?5, {KEPT} FROM sessions WHERE id = ?6"
        ),
        params![child.as_str(), rotation.at.0, title, rotation.system_prompt, config, old.as_str()],
    )?;
    // The standing goal is the conversation's, not the row's.
    connection.execute(
        "UPDATE OR REPLACE state_meta SET key = ?1 WHERE key = ?2",
        params![format!("goal:{child}"), format!("goal:{old}")],
    )?;
    Ok(title)
}

/// `model_config` for a session that goes on.
pub(crate) fn without_marks(mut config: Value) -> Option<String> {
    if let Value::Object(members) = &mut config {
        members.retain(|name, _| !MARKS.contains(&name.as_str()));
    }
    (!config.is_null()).then(|| config.to_string())
}

/// Hides the live rows of a session that keeps its id.
fn archive(connection: &Connection, rotation: &Rotation) -> Result<()> {
    let session = rotation.session.as_str();
    connection.execute(
        "UPDATE messages SET active = 0, compacted = 1 WHERE session_id = ?1 AND active = 1",
        [session],
    )?;
    // The counts are those of the live rows, which are about to be written.
    connection.execute(
        "UPDATE sessions SET message_count = 0, tool_call_count = 0, system_prompt = ?1 WHERE id = ?2",
        params![rotation.system_prompt, session],
    )?;
    Ok(())
}

/// The messages to be written with the originals they repeat; a copy of a copy names the first.
fn origins(connection: &Connection, rotation: &Rotation, pending: &[MessageId]) -> Result<Vec<Copied>> {
    let mut copies = Vec::with_capacity(rotation.messages.len());
    for compacted in &rotation.messages {
        let origin = match compacted.origin {
            Origin::New => None,
            Origin::Row(id) => Some(messages::origin(connection, id)?.unwrap_or(id)),
            Origin::Pending(index) => pending.get(index).copied(),
        };
        copies.push(Copied {
            message: compacted.message.clone(),
            origin,
        });
    }
    Ok(copies)
}

/// The originals that were sent and no longer are, rising.
fn hidden(before: &[(MessageId, MessageId)], copies: &[Copied]) -> Vec<MessageId> {
    let kept: BTreeSet<MessageId> = copies.iter().filter_map(|copy| copy.origin).collect();
    let gone: BTreeSet<MessageId> = before
        .iter()
        .map(|(_, origin)| *origin)
        .filter(|origin| !kept.contains(origin))
        .collect();
    gone.into_iter().collect()
}

/// What the row of `compactions` is made of.
struct Record<'a> {
    session: &'a SessionId,
    before: &'a [(MessageId, MessageId)],
    hidden: &'a [MessageId],
    copies: &'a [Copied],
    written: &'a [MessageId],
}

impl Record<'_> {
    fn write(&self, connection: &Connection, rotation: &Rotation) -> Result<i64> {
        let facts = &rotation.facts;
        let copies: BTreeMap<i64, i64> = self
            .written
            .iter()
            .zip(self.copies)
            .filter_map(|(id, copy)| Some((id.0, copy.origin?.0)))
            .collect();
        let before: Vec<i64> = self.before.iter().map(|(id, _)| id.0).collect();
        let summary = rotation.summary_at.and_then(|index| self.written.get(index));
        connection.execute(
            "INSERT INTO compactions (session_before, session_after, trigger, created_at, first_hidden, last_hidden,
                 source_ids, rows_before, copies, first_written, last_written, summary_message_id, summary, anchors,
                 anchors_kept, anchors_total, tokens_before, tokens_after, usage, cost_usd, model, duration_ms)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
            params![
                rotation.session.as_str(),
                self.session.as_str(),
                word(&facts.trigger),
                rotation.at.0,
                self.hidden.first().map(|id| id.0),
                self.hidden.last().map(|id| id.0),
                json(self.hidden),
                json(&before),
                json(&copies),
                self.written.first().map(|id| id.0),
                self.written.last().map(|id| id.0),
                summary.map(|id| id.0),
                facts.summary,
                facts.anchor_index.to_string(),
                row::to_column(facts.anchors.kept),
                row::to_column(facts.anchors.total),
                row::to_column(facts.tokens_before),
                row::to_column(facts.tokens_after),
                json(&facts.usage),
                facts.cost_usd,
                facts.model,
                row::to_column(facts.duration_ms),
            ],
        )?;
        Ok(connection.last_insert_rowid())
    }
}

/// A value as JSON text; plain data of this crate always has one.
fn json<T: serde::Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}

/// The word of an enum without data, as its JSON writes it.
fn word<T: serde::Serialize>(value: &T) -> String {
    json(value).trim_matches('"').to_owned()
}

/// Takes the lock on compressing a session: from nobody, from itself, from a dead process, or when its time is over.
pub(crate) fn acquire_lock(
    connection: &Connection,
    session: &SessionId,
    holder: &str,
    (now, until): (Timestamp, Timestamp),
) -> Result<crate::LeaseOutcome> {
    use rusqlite::OptionalExtension as _;
    let other: Option<(String, f64)> = connection
        .prepare_cached("SELECT holder, expires_at FROM compression_locks WHERE session_id = ?1")?
        .query_row([session.as_str()], |found| Ok((found.get(0)?, found.get(1)?)))
        .optional()?;
    if let Some((other, expires)) = other
        && other != holder
        && expires >= now.0
        && crate::process::is_alive(&other)
    {
        return Ok(crate::LeaseOutcome::Busy {
            holder: crate::process::describe(&other),
        });
    }
    connection
        .prepare_cached(
            "INSERT INTO compression_locks (session_id, holder, acquired_at, expires_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (session_id) DO UPDATE SET
                 holder = excluded.holder, acquired_at = excluded.acquired_at, expires_at = excluded.expires_at",
        )?
        .execute(params![session.as_str(), holder, now.0, until.0])?;
    Ok(crate::LeaseOutcome::Held)
}

/// Holds the lock longer.
pub(crate) fn renew_lock(
    connection: &Connection,
    session: &SessionId,
    holder: &str,
    until: Timestamp,
) -> Result<bool> {
    let rows = connection
        .prepare_cached("UPDATE compression_locks SET expires_at = ?1 WHERE session_id = ?2 AND holder = ?3")?
        .execute(params![until.0, session.as_str(), holder])?;
    Ok(rows > 0)
}

/// Gives the lock back; somebody else's stays.
pub(crate) fn release_lock(connection: &Connection, session: &SessionId, holder: &str) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM compression_locks WHERE session_id = ?1 AND holder = ?2")?
        .execute([session.as_str(), holder])?;
    Ok(())
}
