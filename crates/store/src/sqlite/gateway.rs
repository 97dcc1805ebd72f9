//! What Hermes up to 0.14 kept of its chats in `sessions/sessions.json`.

use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::{Map, Value};

/// Copies what the file knows into columns that are still empty. A missing or broken file is no reason to stop.
pub(crate) fn fill(connection: &Connection, home: &Path) -> rusqlite::Result<()> {
    let text = std::fs::read_to_string(home.join("sessions/sessions.json")).unwrap_or_default();
    let Ok(Value::Object(entries)) = serde_json::from_str(&text) else {
        return Ok(());
    };
    for (key, entry) in &entries {
        if let (false, Value::Object(entry)) = (key.starts_with('_'), entry) {
            fill_one(connection, key, entry)?;
        }
    }
    Ok(())
}

fn fill_one(connection: &Connection, key: &str, entry: &Map<String, Value>) -> rusqlite::Result<()> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let origin = entry.get("origin").filter(|origin| origin.is_object());
    let of_origin = |name: &str| origin.and_then(|origin| origin.get(name)).and_then(Value::as_str);
    let finished = ["expiry_finalized", "memory_flushed"]
        .iter()
        .any(|name| entry.get(*name).and_then(Value::as_bool).unwrap_or_default());
    connection.execute(
        "UPDATE sessions SET
             session_key = coalesce(session_key, ?1), chat_id = coalesce(chat_id, ?2),
             chat_type = coalesce(chat_type, ?3), thread_id = coalesce(thread_id, ?4),
             display_name = coalesce(display_name, ?5), origin_json = coalesce(origin_json, ?6),
             expiry_finalized = max(coalesce(expiry_finalized, 0), ?7)
         WHERE id = ?8",
        params![
            text("session_key").unwrap_or(key),
            of_origin("chat_id"),
            text("chat_type"),
            of_origin("thread_id"),
            text("display_name"),
            origin.map(Value::to_string),
            finished,
            text("session_id"),
        ],
    )?;
    Ok(())
}
