//! Which sessions belong together, and which of them is alive.
//!
//! A compression ends a session with the reason `compression` and goes on in a
//! child: parent and child are one conversation, a *lineage*. A branch, a
//! subagent's run and an undone compression are children too, but no
//! continuation; they are told apart by marks in `model_config`.

use std::collections::HashSet;

use rusqlite::{Connection, OptionalExtension, params};
use talaria_types::{SessionId, Timestamp};

use super::{content, row, titles};
use crate::{ListFilter, Listed, Result, StoreError, mask};

/// Longest chain that is followed; a longer one is a damaged table.
const LONGEST_CHAIN: usize = 10_000;

/// SQL that is true for a session `{s}` that no person started.
pub(crate) const MACHINE_MADE: &str = "(s.source IN ('cron', 'subagent', 'tool', 'background', 'background_review', 'review') \
     OR s.id GLOB 'cron_*' OR instr(coalesce(s.model_config, ''), '\"_delegate_from\"') > 0)";

/// SQL that is true for a child `{s}` that continues its parent, when the parent was compressed.
const CONTINUES: &str = "s.source NOT IN ('subagent', 'tool') \
     AND instr(coalesce(s.model_config, ''), '\"_branched_from\"') = 0 \
     AND instr(coalesce(s.model_config, ''), '\"_delegate_from\"') = 0";

/// Finds a session by id, unique prefix of one, or title.
pub(crate) fn resolve(connection: &Connection, name: &str) -> Result<SessionId> {
    let name = name.trim();
    if name.is_empty() {
        return Err(StoreError::UnknownSession {
            name: name.to_owned(),
        });
    }
    if exists(connection, name)? {
        return Ok(SessionId::new(name));
    }
    let mut statement = connection
        .prepare_cached("SELECT id FROM sessions WHERE id LIKE ?1 ESCAPE '\\' ORDER BY id LIMIT 6")?;
    let found = statement
        .query_map([format!("{}%", titles::escape_like(name))], |row| {
            row.get::<_, String>(0)
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    match found.as_slice() {
        [one] => return Ok(SessionId::new(one.as_str())),
        [] => {}
        several => {
            if let Some(id) = by_title(connection, name)? {
                return Ok(id);
            }
            return Err(StoreError::AmbiguousSession {
                name: name.to_owned(),
                candidates: several.join(", "),
            });
        }
    }
    by_title(connection, name)?.ok_or_else(|| StoreError::UnknownSession {
        name: name.to_owned(),
    })
}

/// The newest `title #n`, else the session with exactly this title.
fn by_title(connection: &Connection, title: &str) -> Result<Option<SessionId>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, title FROM sessions WHERE title LIKE ?1 ESCAPE '\\' ORDER BY started_at DESC, rowid DESC",
    )?;
    let pattern = format!("{} #%", titles::escape_like(title));
    let mut rows = statement.query([pattern])?;
    while let Some(found) = rows.next()? {
        let (id, numbered): (String, String) = (found.get(0)?, found.get(1)?);
        if matches!(titles::split(&numbered), (base, Some(_)) if base.eq_ignore_ascii_case(title)) {
            return Ok(Some(SessionId::new(id)));
        }
    }
    let exact = connection
        .prepare_cached("SELECT id FROM sessions WHERE title = ?1")?
        .query_row([title], |row| row.get::<_, String>(0))
        .optional()?;
    Ok(exact.map(SessionId::new))
}

/// Whether a session has this id.
pub(crate) fn exists(connection: &Connection, id: &str) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)")?
        .query_row([id], |row| row.get(0))?)
}

/// Follows compressions forward to the session that is alive.
pub(crate) fn tip(connection: &Connection, id: &SessionId) -> Result<SessionId> {
    // Of several children the one that went on is meant: compressed itself, else still
    // open, else the one used last.
    let mut statement = connection.prepare_cached(&format!(
        "SELECT s.id FROM sessions parent JOIN sessions s ON s.parent_session_id = parent.id
         WHERE parent.id = ?1 AND parent.end_reason = 'compression' AND {CONTINUES}
         ORDER BY CASE WHEN s.end_reason = 'compression' THEN 0 WHEN s.ended_at IS NULL THEN 1 ELSE 2 END,
             coalesce((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id), s.started_at) DESC,
             s.started_at DESC, s.id DESC
         LIMIT 1"
    ))?;
    let mut seen = HashSet::from([id.clone()]);
    let mut tip = id.clone();
    while seen.len() < LONGEST_CHAIN {
        let child = statement
            .query_row([tip.as_str()], |row| row.get::<_, String>(0))
            .optional()?;
        let Some(child) = child
            .map(SessionId::new)
            .filter(|child| seen.insert(child.clone()))
        else {
            break;
        };
        tip = child;
    }
    Ok(tip)
}

/// The sessions of a lineage from its first to `id`.
pub(crate) fn ancestors(connection: &Connection, id: &SessionId) -> Result<Vec<SessionId>> {
    Ok(segments(connection, id)?
        .into_iter()
        .map(|segment| segment.session)
        .collect())
}

/// One session of a lineage.
pub(crate) struct Segment {
    /// The session.
    pub(crate) session: SessionId,
    /// The compression after it that was undone; it and what came later do not count here.
    pub(crate) undone: Option<i64>,
}

/// The sessions of a lineage from its first to `id`, and where an undo cut one off.
pub(crate) fn segments(connection: &Connection, id: &SessionId) -> Result<Vec<Segment>> {
    let mut chain = vec![Segment {
        session: id.clone(),
        undone: None,
    }];
    let mut seen = HashSet::from([id.clone()]);
    while chain.len() < LONGEST_CHAIN {
        let Some(last) = chain.last() else { break };
        match continued(connection, &last.session)? {
            Some(segment) if seen.insert(segment.session.clone()) => chain.push(segment),
            _ => break,
        }
    }
    chain.reverse();
    Ok(chain)
}

/// The first session of a lineage.
pub(crate) fn root(connection: &Connection, id: &SessionId) -> Result<SessionId> {
    Ok(ancestors(connection, id)?
        .into_iter()
        .next()
        .unwrap_or_else(|| id.clone()))
}

/// The session that `id` continues.
///
/// An undone compression goes on from the session that was compressed, although
/// its parent is the compressed one.
fn continued(connection: &Connection, id: &SessionId) -> Result<Option<Segment>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT CASE WHEN parent.end_reason = 'compression' AND {CONTINUES} THEN parent.id END,
             CASE WHEN instr(coalesce(s.model_config, ''), '\"_undo_of\"') > 0 THEN s.model_config END
         FROM sessions s LEFT JOIN sessions parent ON parent.id = s.parent_session_id WHERE s.id = ?1"
    ))?;
    let found = statement.query_row([id.as_str()], |found| {
        Ok((row::text(found, 0)?, row::json(found, 1)?))
    });
    let Some((parent, config)) = found.optional()? else {
        return Ok(None);
    };
    let undone = config.and_then(|config| config.get("_undo_of").and_then(serde_json::Value::as_i64));
    let Some(undone) = undone else {
        return Ok(parent.map(|parent| Segment {
            session: SessionId::new(parent),
            undone: None,
        }));
    };
    let before = connection
        .prepare_cached(
            "SELECT session_before FROM compactions WHERE id = ?1
             AND EXISTS (SELECT 1 FROM sessions WHERE sessions.id = session_before)",
        )?
        .query_row([undone], |row| row.get::<_, String>(0))
        .optional()?;
    Ok(before.map(|before| Segment {
        session: SessionId::new(before),
        undone: Some(undone),
    }))
}

/// The session used last.
pub(crate) fn newest(connection: &Connection, source: Option<&str>) -> Result<Option<SessionId>> {
    // Asking for `cron` by name means cron; a subagent's run is never meant.
    let machine = match source {
        None => MACHINE_MADE,
        Some(_) => "instr(coalesce(s.model_config, ''), '\"_delegate_from\"') > 0",
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT s.id FROM sessions s
         WHERE (?1 IS NULL OR s.source = ?1) AND s.archived = 0 AND NOT {machine}
           AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id)
         ORDER BY max(s.started_at, (SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id)) DESC,
             s.rowid DESC
         LIMIT 1"
    ))?;
    let id = statement
        .query_row([source], |row| row.get::<_, String>(0))
        .optional()?;
    id.map(SessionId::new).map(|id| tip(connection, &id)).transpose()
}

/// SQL that is true for a session `{s}` that stands for a lineage in a listing.
fn listed() -> String {
    let continues = CONTINUES.replace("s.", "child.");
    format!(
        "(?1 IS NULL OR s.source = ?1) AND s.archived = 0 AND s.source NOT IN ('subagent', 'tool')
         AND instr(coalesce(s.model_config, ''), '\"_delegate_from\"') = 0
         AND NOT (s.end_reason IS 'compression' AND EXISTS (
             SELECT 1 FROM sessions child WHERE child.parent_session_id = s.id AND {continues}))"
    )
}

/// How many lineages a listing has.
pub(crate) fn count(connection: &Connection, filter: &ListFilter) -> Result<u64> {
    let mut statement =
        connection.prepare_cached(&format!("SELECT count(*) FROM sessions s WHERE {}", listed()))?;
    Ok(statement.query_row([&filter.source], |found| row::count(found, 0))?)
}

/// Lineages by their live ends, the one used last first.
pub(crate) fn list(connection: &Connection, filter: &ListFilter) -> Result<Vec<Listed>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT s.id, s.title, s.source, s.model, s.started_at,
             max(s.started_at, coalesce((SELECT max(m.timestamp) FROM messages m WHERE m.session_id = s.id), 0)) AS last_active
         FROM sessions s WHERE {} ORDER BY last_active DESC, s.rowid DESC LIMIT ?2 OFFSET ?3",
        listed()
    ))?;
    let limit = filter.limit.map_or(-1, row::to_column);
    let found = statement
        .query_map(
            params![filter.source, limit, row::to_column(filter.offset)],
            |found| {
                Ok(Listed {
                    id: SessionId::new(row::text(found, 0)?.unwrap_or_default()),
                    root_session_id: SessionId::new(String::new()),
                    title: row::text(found, 1)?,
                    source: row::text(found, 2)?.unwrap_or_default(),
                    model: row::text(found, 3)?,
                    started_at: Timestamp(row::real(found, 4)?.unwrap_or_default()),
                    last_active: Timestamp(row::real(found, 5)?.unwrap_or_default()),
                    message_count: 0,
                    preview: String::new(),
                })
            },
        )?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    found
        .into_iter()
        .map(|listed| complete(connection, listed))
        .collect()
}

/// Adds what stands in other rows: the lineage's root and start, how it began, how many messages are live.
fn complete(connection: &Connection, mut listed: Listed) -> Result<Listed> {
    let root = root(connection, &listed.id)?;
    let started: Option<f64> = connection
        .prepare_cached("SELECT started_at FROM sessions WHERE id = ?1")?
        .query_row([root.as_str()], |found| row::real(found, 0))
        .optional()?
        .flatten();
    listed.started_at = started.map_or(listed.started_at, Timestamp);
    listed.message_count = connection
        .prepare_cached("SELECT count(*) FROM messages WHERE session_id = ?1 AND active = 1")?
        .query_row([listed.id.as_str()], |found| row::count(found, 0))?;
    let first: Option<String> = connection
        .prepare_cached(
            "SELECT content FROM messages WHERE session_id = ?1 AND role = 'user' AND content IS NOT NULL
             ORDER BY id LIMIT 1",
        )?
        .query_row([root.as_str()], |found| row::text(found, 0))
        .optional()?
        .flatten();
    listed.preview = first
        .map(|column| preview(&content::decode(column).text()))
        .unwrap_or_default();
    listed.root_session_id = root;
    Ok(listed)
}

/// The beginning of a text on one line, secrets masked.
fn preview(text: &str) -> String {
    const LONGEST: usize = 60;
    // Masked before it is cut, so that half a key is not taken for a word.
    let start: String = text.chars().take(20 * LONGEST).collect();
    let line = mask::mask(&start)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
