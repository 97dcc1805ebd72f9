//! What was used over a span of days: by model, task, tool and source, and money by day.
//!
//! Tokens and money come from `session_model_usage`, which counts a session as a
//! whole: a session that was used in the span counts with all it ever used. What
//! a day has cost is counted apart, in `state_meta`, so that a limit per day holds
//! for a session that runs over midnight.

use rusqlite::{Connection, params};
use talaria_types::{Timestamp, Usage};

use super::row;
use crate::{Insights, ModelUsage, Result};

/// Begins the keys of `state_meta` under which the money of a day stands.
const DAY: &str = "spent_usd:";
/// The task under which a session is charged for its subagents; they are counted in their own sessions too.
pub(crate) const DELEGATE: &str = "delegate";
/// Days that are remembered.
const REMEMBERED: &str = "-100 days";

/// Adds to what a day has cost.
pub(crate) fn add_to_day(connection: &Connection, usd: f64, at: Timestamp) -> Result<()> {
    if usd <= 0.0 {
        return Ok(());
    }
    connection
        .prepare_cached(
            "INSERT INTO state_meta (key, value) VALUES (?1 || date(?2, 'unixepoch', 'localtime'), CAST(?3 AS TEXT))
             ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(value AS REAL) + ?3 AS TEXT)",
        )?
        .execute(params![DAY, at.0, usd])?;
    connection
        .prepare_cached(
            "DELETE FROM state_meta WHERE key >= ?1 AND key < ?1 || date(?2, 'unixepoch', 'localtime', ?3)",
        )?
        .execute(params![DAY, at.0, REMEMBERED])?;
    Ok(())
}

/// What the day of `at` has cost so far, as far as prices are known.
pub(crate) fn day_cost(connection: &Connection, at: Timestamp) -> Result<f64> {
    Ok(connection
        .prepare_cached(
            "SELECT coalesce(sum(CAST(value AS REAL)), 0.0) FROM state_meta
             WHERE key = ?1 || date(?2, 'unixepoch', 'localtime')",
        )?
        .query_row(params![DAY, at.0], |found| found.get(0))?)
}

/// What was used since `since`.
pub(crate) fn insights(connection: &Connection, since: Timestamp) -> Result<Insights> {
    let mut insights = Insights {
        models: models(connection, since)?,
        tools: counts(
            connection,
            "SELECT tool_name, count(DISTINCT coalesce(tool_call_id, id)) FROM messages
             WHERE role = 'tool' AND timestamp >= ?1 AND tool_name <> '' GROUP BY tool_name ORDER BY 2 DESC, 1",
            since,
        )?,
        sources: counts(
            connection,
            "SELECT source, count(*) FROM sessions WHERE started_at >= ?1 GROUP BY source ORDER BY 2 DESC, 1",
            since,
        )?,
        days: days(connection, since)?,
        ..Insights::default()
    };
    let mut statement = connection.prepare_cached(
        "SELECT (SELECT count(*) FROM sessions WHERE started_at >= ?1),
                (SELECT count(*) FROM messages WHERE timestamp >= ?1 AND role IN ('user', 'assistant', 'tool'))",
    )?;
    (insights.sessions, insights.messages) = statement.query_row([since.0], |found| {
        Ok((row::count(found, 0)?, row::count(found, 1)?))
    })?;
    Ok(insights)
}

fn models(connection: &Connection, since: Timestamp) -> Result<Vec<ModelUsage>> {
    let mut statement = connection.prepare_cached(
        "SELECT model, billing_provider, task, sum(api_call_count), sum(input_tokens), sum(output_tokens),
                sum(cache_read_tokens), sum(cache_write_tokens), sum(reasoning_tokens), sum(estimated_cost_usd),
                max(coalesce(cost_status, 'unknown') IN ('unknown', 'partial'))
         FROM session_model_usage WHERE last_seen >= ?1 AND task <> 'delegate'
         GROUP BY model, billing_provider, task ORDER BY 10 DESC, 5 DESC, 1",
    )?;
    let rows = statement.query_map([since.0], |found| {
        let (read, write) = (row::count(found, 6)?, row::count(found, 7)?);
        let task = row::text(found, 2)?.filter(|task| !task.is_empty());
        let unknown: bool = found.get(10)?;
        Ok(ModelUsage {
            model: row::text(found, 0)?.unwrap_or_default(),
            provider: row::text(found, 1)?.unwrap_or_default(),
            task: task.unwrap_or_else(|| "main".to_owned()),
            api_calls: row::count(found, 3)?,
            usage: Usage {
                prompt_tokens: row::count(found, 4)? + read + write,
                completion_tokens: row::count(found, 5)?,
                cache_read_tokens: read,
                cache_write_tokens: write,
                reasoning_tokens: row::count(found, 8)?,
            },
            known_cost_usd: found.get(9)?,
            is_priced: !unknown,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn counts(connection: &Connection, sql: &str, since: Timestamp) -> Result<Vec<(String, u64)>> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([since.0], |found| {
        Ok((row::text(found, 0)?.unwrap_or_default(), row::count(found, 1)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn days(connection: &Connection, since: Timestamp) -> Result<Vec<(String, f64)>> {
    let mut statement = connection.prepare_cached(
        "SELECT substr(key, length(?1) + 1), CAST(value AS REAL) FROM state_meta
         WHERE key >= ?1 || date(?2, 'unixepoch', 'localtime') AND key < ?1 || '9999' ORDER BY key",
    )?;
    let rows = statement.query_map(params![DAY, since.0], |found| Ok((found.get(0)?, found.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
