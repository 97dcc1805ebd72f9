//! The user's own erasure: `sessions delete` and `prune`. Nothing else removes a message.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use talaria_types::{SessionId, Timestamp};

use super::{journal, lineage, row, sessions};
use crate::{Result, StoreError};

/// What erasing leaves to be done outside of the database.
#[derive(Debug, Default)]
pub(crate) struct Erased {
    /// Sessions that are gone.
    pub(crate) sessions: Vec<SessionId>,
    /// Pictures that no row needs any more.
    pub(crate) images: Vec<String>,
}

/// Erases a session and the runs of subagents it started; other children go on by themselves.
pub(crate) fn delete(connection: &Connection, id: &SessionId) -> Result<Erased> {
    if !lineage::exists(connection, id.as_str())? {
        return Err(sessions::unknown(id));
    }
    // Its turn would have nowhere to store what it does.
    if let Some(holder) = journal::turn_of(connection, id)? {
        return Err(StoreError::SessionBusy { holder });
    }
    let mut erased = Erased::default();
    delete_all(connection, id, &mut erased)?;
    erased.images = unneeded(connection, std::mem::take(&mut erased.images))?;
    Ok(erased)
}

fn delete_all(connection: &Connection, id: &SessionId, erased: &mut Erased) -> Result<()> {
    let mut waiting = vec![id.clone()];
    while let Some(id) = waiting.pop() {
        if erased.sessions.contains(&id) {
            continue;
        }
        let mut statement = connection.prepare_cached(
            "SELECT id FROM sessions WHERE instr(coalesce(model_config, ''), '\"_delegate_from\"') > 0
             AND json_valid(model_config) AND json_extract(model_config, '$._delegate_from') = ?1",
        )?;
        let runs = statement.query_map([id.as_str()], |found| found.get::<_, String>(0))?;
        waiting.extend(
            runs.collect::<rusqlite::Result<Vec<_>>>()?
                .into_iter()
                .map(SessionId::new),
        );
        erased.images.extend(delete_one(connection, &id)?);
        erased.sessions.push(id);
    }
    Ok(())
}

/// Erases one session; gives the pictures its rows named.
fn delete_one(connection: &Connection, id: &SessionId) -> Result<Vec<String>> {
    let id = id.as_str();
    pass_on_copies(connection, id)?;
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT digest FROM message_images WHERE message_id IN (SELECT id FROM messages WHERE session_id = ?1)",
    )?;
    let images = statement
        .query_map([id], |found| found.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()?;
    for sql in [
        "DELETE FROM message_images WHERE message_id IN (SELECT id FROM messages WHERE session_id = ?1)",
        "DELETE FROM message_pairs WHERE rowid IN (SELECT id FROM messages WHERE session_id = ?1)",
        "DELETE FROM message_copies WHERE session_id = ?1",
        "DELETE FROM message_briefs WHERE session_id = ?1",
        "DELETE FROM tool_journal WHERE session_id = ?1",
        "DELETE FROM turn_records WHERE session_id = ?1",
        "DELETE FROM turn_leases WHERE session_id = ?1",
        "DELETE FROM compactions WHERE session_before = ?1 OR session_after = ?1",
        "DELETE FROM compression_locks WHERE session_id = ?1",
        "DELETE FROM session_model_usage WHERE session_id = ?1",
        "DELETE FROM async_delegations WHERE origin_session = ?1",
        "DELETE FROM state_meta WHERE key = 'goal:' || ?1",
        "UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?1",
        "DELETE FROM messages WHERE session_id = ?1",
        "DELETE FROM sessions WHERE id = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([id])?;
    }
    Ok(images)
}

/// Makes the first copy of each row that is about to go the original of the others.
fn pass_on_copies(connection: &Connection, session: &str) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "SELECT origin_id, min(copy_id) FROM message_copies
         WHERE session_id <> ?1 AND origin_id IN (SELECT id FROM messages WHERE session_id = ?1) GROUP BY origin_id",
    )?;
    let heirs = statement
        .query_map([session], |found| Ok((found.get(0)?, found.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(i64, i64)>>>()?;
    for (origin, heir) in heirs {
        connection
            .prepare_cached("DELETE FROM message_copies WHERE copy_id = ?1")?
            .execute([heir])?;
        connection
            .prepare_cached("UPDATE message_copies SET origin_id = ?1 WHERE origin_id = ?2")?
            .execute([heir, origin])?;
    }
    Ok(())
}

/// Those of the pictures that no row names.
fn unneeded(connection: &Connection, images: Vec<String>) -> Result<Vec<String>> {
    let mut statement =
        connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM message_images WHERE digest = ?1)")?;
    let mut free = Vec::new();
    for digest in images {
        if !statement.query_row([&digest], |found| found.get::<_, bool>(0))? {
            free.push(digest);
        }
    }
    Ok(free)
}

/// Erases ended sessions last used before `before`; a compressed one only when what it goes on as is erased too.
pub(crate) fn prune(connection: &Connection, before: Timestamp, source: Option<&str>) -> Result<Erased> {
    let mut statement = connection.prepare_cached(
        "SELECT id FROM sessions WHERE ended_at IS NOT NULL AND (?1 IS NULL OR source = ?1) ORDER BY started_at",
    )?;
    let ended = statement.query_map([source], |found| found.get::<_, String>(0).map(SessionId::new))?;
    let ended = ended.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut old = Vec::new();
    for id in ended {
        // An old session in which a turn runs is in use, though nothing of it may be stored yet.
        let over = is_over(connection, &lineage::tip(connection, &id)?, before)?;
        if over && journal::turn_of(connection, &id)?.is_none() {
            old.push(id);
        }
    }
    let mut erased = Erased::default();
    for id in old {
        delete_all(connection, &id, &mut erased)?;
    }
    erased.images = unneeded(connection, std::mem::take(&mut erased.images))?;
    Ok(erased)
}

/// Ended, and not used since `before`.
fn is_over(connection: &Connection, id: &SessionId, before: Timestamp) -> Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT s.ended_at IS NOT NULL AND max(s.started_at,
             coalesce((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id), 0)) < ?1
         FROM sessions s WHERE s.id = ?2",
    )?;
    let over = statement
        .query_row(params![before.0, id.as_str()], |found| row::number(found, 0))
        .optional()?;
    Ok(over.unwrap_or_default() != 0)
}

/// Removes what lies beside the database: pictures, and the transcripts that Hermes up to 0.14 kept.
pub(crate) fn remove_files(erased: &Erased, home: Option<&Path>, images: &Path) {
    // The rows are gone; a file that cannot be removed is no reason to say that they are not.
    let remove = |path: &Path| {
        if let Err(error) = std::fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "a file of a deleted session is left");
        }
    };
    let names = |folder: &Path| -> Vec<std::path::PathBuf> {
        std::fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect()
    };
    let starts = |path: &Path, start: &str| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(start))
    };
    if !erased.images.is_empty() {
        for path in names(images) {
            if erased.images.iter().any(|digest| starts(&path, digest)) {
                remove(&path);
            }
        }
    }
    let Some(folder) = home
        .map(|home| home.join("sessions"))
        .filter(|folder| folder.is_dir())
    else {
        return;
    };
    let files = names(&folder);
    for id in &erased.sessions {
        for path in &files {
            let whole = [format!("{id}.json"), format!("{id}.jsonl")];
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            if whole.contains(&name) || name.starts_with(&format!("request_dump_{id}_")) {
                remove(path);
            }
        }
    }
}
