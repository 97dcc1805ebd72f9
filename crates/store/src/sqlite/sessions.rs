//! Rows of `sessions`: their life, tokens and money, branches, erasure.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;
use talaria_types::{SessionId, Timestamp, Usage};

use super::append::{self, Copied};
use super::messages;
use super::{lineage, row, titles};
use crate::mask::place_of;
use crate::{ListFilter, NewSession, Result, SessionRow, SessionTotals, StoreError, StoreStats, UsageRow};

/// Adds a session; of one that is there, only empty fields are filled.
pub(crate) fn create(connection: &Connection, new: &NewSession) -> Result<()> {
    let (provider, base_url, mode) = &new.billing;
    let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, source, parent_session_id, model, model_config, system_prompt, cwd, started_at,
                 billing_provider, billing_base_url, billing_mode)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (id) DO UPDATE SET
                 parent_session_id = coalesce(parent_session_id, excluded.parent_session_id),
                 model = coalesce(model, excluded.model),
                 model_config = coalesce(model_config, excluded.model_config),
                 system_prompt = coalesce(system_prompt, excluded.system_prompt),
                 cwd = coalesce(cwd, excluded.cwd),
                 billing_provider = coalesce(billing_provider, excluded.billing_provider),
                 billing_base_url = coalesce(billing_base_url, excluded.billing_base_url),
                 billing_mode = coalesce(billing_mode, excluded.billing_mode)",
        )?
        .execute(params![
            new.id.as_str(),
            new.source,
            new.parent.as_ref().map(SessionId::as_str),
            filled(&new.model),
            (!new.model_config.is_null()).then(|| new.model_config.to_string()),
            new.system_prompt,
            new.cwd,
            new.started_at.0,
            filled(provider),
            filled(&place_of(base_url)),
            filled(mode),
        ])?;
    match &new.title {
        Some(title) => titles::set_if_none(connection, &new.id, title).map(|_| ()),
        None => Ok(()),
    }
}

/// One row.
pub(crate) fn get(connection: &Connection, id: &SessionId) -> Result<Option<SessionRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, source, parent_session_id, model, model_config, system_prompt, started_at, ended_at, end_reason,
             title, cwd, message_count, tool_call_count, api_call_count, input_tokens, output_tokens,
             cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_cost_usd, cost_status
         FROM sessions WHERE id = ?1",
    )?;
    let found = statement.query_row([id.as_str()], |found| {
        Ok(SessionRow {
            id: id.clone(),
            source: row::text(found, 1)?.unwrap_or_default(),
            parent_session_id: row::text(found, 2)?.map(SessionId::new),
            model: row::text(found, 3)?,
            model_config: row::json(found, 4)?.unwrap_or_default(),
            system_prompt: row::text(found, 5)?,
            started_at: Timestamp(row::real(found, 6)?.unwrap_or_default()),
            ended_at: row::real(found, 7)?.map(Timestamp),
            end_reason: row::text(found, 8)?,
            title: row::text(found, 9)?,
            cwd: row::text(found, 10)?,
            message_count: row::count(found, 11)?,
            tool_call_count: row::count(found, 12)?,
            api_call_count: row::count(found, 13)?,
            input_tokens: row::count(found, 14)?,
            output_tokens: row::count(found, 15)?,
            cache_read_tokens: row::count(found, 16)?,
            cache_write_tokens: row::count(found, 17)?,
            reasoning_tokens: row::count(found, 18)?,
            estimated_cost_usd: row::real(found, 19)?,
            cost_status: row::text(found, 20)?,
        })
    });
    Ok(found.optional()?)
}

/// Ends a session that is open.
pub(crate) fn end(connection: &Connection, id: &SessionId, reason: &str, at: Timestamp) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE sessions SET ended_at = ?1, end_reason = ?2 WHERE id = ?3 AND ended_at IS NULL",
        )?
        .execute(params![at.0, reason, id.as_str()])?;
    Ok(())
}

/// Opens a session again, unless a compression ended it: that one goes on in its child.
pub(crate) fn reopen(connection: &Connection, id: &SessionId) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE sessions SET ended_at = NULL, end_reason = NULL
             WHERE id = ?1 AND ended_at IS NOT NULL AND end_reason IS NOT 'compression'",
        )?
        .execute([id.as_str()])?;
    Ok(())
}

/// Stores a rebuilt system prompt.
pub(crate) fn set_system_prompt(connection: &Connection, id: &SessionId, prompt: &str) -> Result<()> {
    connection
        .prepare_cached("UPDATE sessions SET system_prompt = ?1 WHERE id = ?2")?
        .execute(params![prompt, id.as_str()])?;
    Ok(())
}

/// Stores another model; marks of the lineage in the old configuration stay.
pub(crate) fn set_model(connection: &Connection, id: &SessionId, model: &str, config: &Value) -> Result<()> {
    let old = get(connection, id)?.ok_or_else(|| unknown(id))?.model_config;
    let mut config = config.clone();
    if let (Value::Object(old), Value::Object(new)) = (old, &mut config) {
        for (name, value) in old.into_iter().filter(|(name, _)| name.starts_with('_')) {
            new.entry(name).or_insert(value);
        }
    }
    connection
        .prepare_cached("UPDATE sessions SET model = ?1, model_config = ?2 WHERE id = ?3")?
        .execute(params![model, config.to_string(), id.as_str()])?;
    Ok(())
}

/// Adds tokens and money: of the conversation to the session and to its model, of a side task to its model only.
pub(crate) fn add_usage(
    connection: &Connection,
    id: &SessionId,
    usage: &UsageRow,
    at: Timestamp,
) -> Result<()> {
    let main = usage.task == "main";
    if main {
        add_to_session(connection, id, usage)?;
    }
    if usage.task != super::insights::DELEGATE {
        super::insights::add_to_day(connection, usage.cost_usd.unwrap_or_default(), at)?;
    }
    let (provider, base_url, mode) = &usage.billing;
    let status = if usage.cost_usd.is_some() {
        "known"
    } else {
        "unknown"
    };
    let tokens = usage.usage;
    connection
        .prepare_cached(
            "INSERT INTO session_model_usage (session_id, model, billing_provider, billing_base_url, billing_mode, task,
                 api_call_count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
                 estimated_cost_usd, cost_status, first_seen, last_seen)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?15)
             ON CONFLICT (session_id, model, billing_provider, billing_base_url, billing_mode, task) DO UPDATE SET
                 api_call_count = api_call_count + excluded.api_call_count,
                 input_tokens = input_tokens + excluded.input_tokens,
                 output_tokens = output_tokens + excluded.output_tokens,
                 cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
                 cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
                 reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
                 estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd,
                 cost_status = CASE WHEN cost_status IS excluded.cost_status THEN cost_status ELSE 'partial' END,
                 last_seen = excluded.last_seen",
        )?
        .execute(params![
            id.as_str(),
            usage.model,
            provider,
            place_of(base_url),
            mode,
            if main { "" } else { usage.task.as_str() },
            row::to_column(usage.calls),
            row::to_column(uncached(tokens)),
            row::to_column(tokens.completion_tokens),
            row::to_column(tokens.cache_read_tokens),
            row::to_column(tokens.cache_write_tokens),
            row::to_column(tokens.reasoning_tokens),
            usage.cost_usd.unwrap_or_default(),
            status,
            at.0,
        ])?;
    Ok(())
}

/// Prompt tokens as Hermes counts them: cached ones stand in columns of their own.
fn uncached(usage: Usage) -> u64 {
    usage
        .prompt_tokens
        .saturating_sub(usage.cache_read_tokens)
        .saturating_sub(usage.cache_write_tokens)
}

fn add_to_session(connection: &Connection, id: &SessionId, usage: &UsageRow) -> Result<()> {
    let (provider, base_url, mode) = &usage.billing;
    let tokens = usage.usage;
    let rows = connection
        .prepare_cached(
            "UPDATE sessions SET
                 cost_status = CASE
                     WHEN coalesce(api_call_count, 0) = 0 OR cost_status IS NULL THEN ?1
                     WHEN cost_status IS ?1 OR (?1 = 'known' AND cost_status IN ('estimated', 'included')) THEN cost_status
                     ELSE 'partial' END,
                 api_call_count = coalesce(api_call_count, 0) + ?2,
                 input_tokens = coalesce(input_tokens, 0) + ?3,
                 output_tokens = coalesce(output_tokens, 0) + ?4,
                 cache_read_tokens = coalesce(cache_read_tokens, 0) + ?5,
                 cache_write_tokens = coalesce(cache_write_tokens, 0) + ?6,
                 reasoning_tokens = coalesce(reasoning_tokens, 0) + ?7,
                 estimated_cost_usd = CASE WHEN ?8 IS NULL THEN estimated_cost_usd
                     ELSE coalesce(estimated_cost_usd, 0) + ?8 END,
                 model = coalesce(model, ?9),
                 billing_provider = coalesce(billing_provider, nullif(?10, '')),
                 billing_base_url = coalesce(billing_base_url, nullif(?11, '')),
                 billing_mode = coalesce(billing_mode, nullif(?12, ''))
             WHERE id = ?13",
        )?
        .execute(params![
            if usage.cost_usd.is_some() { "known" } else { "unknown" },
            row::to_column(usage.calls),
            row::to_column(uncached(tokens)),
            row::to_column(tokens.completion_tokens),
            row::to_column(tokens.cache_read_tokens),
            row::to_column(tokens.cache_write_tokens),
            row::to_column(tokens.reasoning_tokens),
            usage.cost_usd,
            usage.model,
            provider,
            place_of(base_url),
            mode,
            id.as_str(),
        ])?;
    if rows == 0 { Err(unknown(id)) } else { Ok(()) }
}

/// Tokens and money of the lineage of a session, side tasks included.
pub(crate) fn totals(connection: &Connection, id: &SessionId) -> Result<SessionTotals> {
    let mut totals = SessionTotals {
        cost_usd: Some(0.0),
        ..SessionTotals::default()
    };
    let tip = lineage::tip(connection, id)?;
    for session in lineage::ancestors(connection, &tip)? {
        let Some(found) = get(connection, &session)? else {
            continue;
        };
        totals.api_calls += found.api_call_count;
        totals.usage += Usage {
            prompt_tokens: found.input_tokens + found.cache_read_tokens + found.cache_write_tokens,
            completion_tokens: found.output_tokens,
            cache_read_tokens: found.cache_read_tokens,
            cache_write_tokens: found.cache_write_tokens,
            reasoning_tokens: found.reasoning_tokens,
        };
        let (side, unknown) = side_cost(connection, &session)?;
        let priced = found
            .cost_status
            .as_deref()
            .is_some_and(|status| !matches!(status, "unknown" | "partial"));
        let own = match found.estimated_cost_usd {
            Some(cost) if priced => Some(cost),
            _ if found.api_call_count == 0 => Some(0.0),
            _ => None,
        };
        totals.cost_usd = match (totals.cost_usd, own) {
            (Some(sum), Some(cost)) if !unknown => Some(sum + cost + side),
            _ => None,
        };
    }
    Ok(totals)
}

/// Money of a session's side tasks, and whether some of it is unknown.
fn side_cost(connection: &Connection, id: &SessionId) -> Result<(f64, bool)> {
    Ok(connection
        .prepare_cached(
            "SELECT coalesce(sum(estimated_cost_usd), 0.0),
                 coalesce(max(coalesce(cost_status, 'unknown') IN ('unknown', 'partial')), 0)
             FROM session_model_usage WHERE session_id = ?1 AND task <> ''",
        )?
        .query_row([id.as_str()], |found| Ok((found.get(0)?, found.get(1)?)))?)
}

/// Copies the live messages of `from` into a new session that goes its own way.
pub(crate) fn branch(
    connection: &Connection,
    from: &SessionId,
    new: &NewSession,
    images: &Path,
) -> Result<u64> {
    let parent = get(connection, from)?.ok_or_else(|| unknown(from))?;
    let mut new = marked(new, from);
    if new.title.is_none()
        && let Some(title) = &parent.title
    {
        new.title = Some(titles::next(connection, title)?);
    }
    create(connection, &new)?;
    copy_place(connection, from, &new.id)?;
    let live = messages::of_session(connection, from, messages::Which::Live)?;
    let copies: Vec<Copied> = live
        .into_iter()
        .map(|stored| Copied {
            message: stored.message,
            origin: Some(stored.origin),
        })
        .collect();
    let ids = append::write_copies(connection, &new.id, &copies, new.started_at, images)?;
    Ok(ids.len() as u64)
}

/// Gives a session what another one's row says of the person and the place.
pub(crate) fn copy_place(connection: &Connection, from: &SessionId, to: &SessionId) -> Result<()> {
    connection.execute(
        "UPDATE sessions SET (user_id, git_branch, git_repo_root, profile_name)
             = (SELECT user_id, git_branch, git_repo_root, profile_name FROM sessions WHERE id = ?1)
         WHERE id = ?2",
        params![from.as_str(), to.as_str()],
    )?;
    Ok(())
}

/// `new` as a child of `from` that continues nothing.
pub(crate) fn marked(new: &NewSession, from: &SessionId) -> NewSession {
    let mut new = new.clone();
    if !new.model_config.is_object() {
        new.model_config = Value::Object(serde_json::Map::new());
    }
    if let Value::Object(config) = &mut new.model_config {
        config
            .entry("_branched_from")
            .or_insert_with(|| Value::String(from.to_string()));
    }
    new.parent = Some(from.clone());
    new
}

/// The error of a session that is not there.
pub(crate) fn unknown(id: &SessionId) -> StoreError {
    StoreError::UnknownSession { name: id.to_string() }
}

/// A value of `state_meta`.
pub(crate) fn meta(connection: &Connection, key: &str) -> Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT value FROM state_meta WHERE key = ?1")?;
    Ok(statement
        .query_row([key], |found| row::text(found, 0))
        .optional()?
        .flatten())
}

/// Sets a value of `state_meta`, or takes it away.
pub(crate) fn set_meta(connection: &Connection, key: &str, value: Option<&str>) -> Result<()> {
    match value {
        Some(value) => connection
            .prepare_cached(
                "INSERT INTO state_meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            )?
            .execute([key, value])?,
        None => connection.prepare_cached("DELETE FROM state_meta WHERE key = ?1")?.execute([key])?,
    };
    Ok(())
}

/// Numbers of the whole store; the size of the file is not among them.
pub(crate) fn stats(connection: &Connection) -> Result<StoreStats> {
    let count = |sql: &str| connection.query_row(sql, [], |found| row::count(found, 0));
    let mut statement = connection.prepare_cached("SELECT source, count(*) FROM sessions GROUP BY source")?;
    let by_source = statement
        .query_map([], |found| {
            Ok((row::text(found, 0)?.unwrap_or_default(), row::count(found, 1)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let all = ListFilter::default();
    Ok(StoreStats {
        sessions: count("SELECT count(*) FROM sessions")?,
        lineages: lineage::count(connection, &all)?,
        messages: count("SELECT count(*) FROM messages")?,
        bytes: 0,
        by_source,
    })
}
