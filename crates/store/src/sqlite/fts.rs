//! The two search indexes that Hermes reads too: `messages_fts` (words) and
//! `messages_fts_trigram` (runs of three characters).
//!
//! Hermes keeps a copy of each text in each index and puts every row into the
//! second one; that is two thirds of the time of a write and of the size of the
//! file. Here the indexes hold no text: it is read through a view
//! (`content=…`), so that `snippet()` works for either program, and the second
//! index only holds rows with characters outside of ASCII. The triggers use
//! nothing but functions of SQLite, so Hermes can fire them.
//!
//! A file in Hermes' layout is used as it is; [`rebuild`] turns it into this one.

use rusqlite::Connection;

/// The six triggers, by the names Hermes counts.
pub(crate) const TRIGGERS: [&str; 6] = [
    "messages_fts_insert",
    "messages_fts_delete",
    "messages_fts_update",
    "messages_fts_trigram_insert",
    "messages_fts_trigram_delete",
    "messages_fts_trigram_update",
];

/// Key of `state_meta`: present while rows may be missing from the indexes.
pub(crate) const STALE: &str = "talaria:search_index_stale";

/// SQL for the text of a row that is searched: what was said, the tool, the calls.
///
/// `at` is `new.`, `old.` or nothing. Structured content stands behind a NUL, at
/// which the index of three characters would stop; it is searched from its JSON on.
pub(crate) fn searched(at: &str) -> String {
    format!(
        "CASE WHEN substr({at}content, 1, 1) = '' THEN CAST(substr(CAST({at}content AS BLOB), 7) AS TEXT) \
         ELSE coalesce({at}content, '') END || ' ' || coalesce({at}tool_name, '') || ' ' || coalesce({at}tool_calls, '')"
    )
}

/// SQL that is true when the text `sql` has a character outside of ASCII.
fn beyond_ascii(sql: &str) -> String {
    format!("length(CAST({sql} AS BLOB)) <> length({sql})")
}

/// Makes indexes, views and triggers in a file that has none of them.
pub(crate) fn create(connection: &Connection) -> rusqlite::Result<()> {
    let text = searched("");
    let wide = beyond_ascii("content");
    connection.execute_batch(&format!(
        "CREATE VIEW IF NOT EXISTS messages_fts_text AS SELECT id, {text} AS content FROM messages;
         CREATE VIEW IF NOT EXISTS messages_fts_trigram_text AS SELECT id, content FROM messages_fts_text WHERE {wide};
         CREATE VIRTUAL TABLE messages_fts USING fts5(
             content, content='messages_fts_text', content_rowid='id');
         CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(
             content, content='messages_fts_trigram_text', content_rowid='id', tokenize='trigram');"
    ))?;
    create_triggers(connection)
}

/// Makes the six triggers.
fn create_triggers(connection: &Connection) -> rusqlite::Result<()> {
    let (new, old) = (searched("new."), searched("old."));
    let columns = "content, tool_name, tool_calls";
    connection.execute_batch(&format!(
        "CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
             INSERT INTO messages_fts(rowid, content) VALUES (new.id, {new});
         END;
         CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
             INSERT INTO messages_fts(messages_fts, rowid, content) VALUES ('delete', old.id, {old});
         END;
         CREATE TRIGGER messages_fts_update AFTER UPDATE OF {columns} ON messages BEGIN
             INSERT INTO messages_fts(messages_fts, rowid, content) VALUES ('delete', old.id, {old});
             INSERT INTO messages_fts(rowid, content) VALUES (new.id, {new});
         END;
         CREATE TRIGGER messages_fts_trigram_insert AFTER INSERT ON messages WHEN {new_wide} BEGIN
             INSERT INTO messages_fts_trigram(rowid, content) VALUES (new.id, {new});
         END;
         CREATE TRIGGER messages_fts_trigram_delete AFTER DELETE ON messages WHEN {old_wide} BEGIN
             INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content) VALUES ('delete', old.id, {old});
         END;
         CREATE TRIGGER messages_fts_trigram_update AFTER UPDATE OF {columns} ON messages BEGIN
             INSERT INTO messages_fts_trigram(messages_fts_trigram, rowid, content)
                 SELECT 'delete', old.id, {old} WHERE {old_wide};
             INSERT INTO messages_fts_trigram(rowid, content) SELECT new.id, {new} WHERE {new_wide};
         END;",
        new_wide = beyond_ascii(&format!("({new})")),
        old_wide = beyond_ascii(&format!("({old})")),
    ))
}

/// Drops both indexes with all that belongs to them and fills new ones from the rows.
pub(crate) fn rebuild(connection: &Connection) -> rusqlite::Result<()> {
    drop_triggers(connection)?;
    connection.execute_batch(
        "DROP TABLE IF EXISTS messages_fts;
         DROP TABLE IF EXISTS messages_fts_trigram;
         DROP VIEW IF EXISTS messages_fts_trigram_text;
         DROP VIEW IF EXISTS messages_fts_text;",
    )?;
    create(connection)?;
    connection.execute_batch(
        "INSERT INTO messages_fts(messages_fts) VALUES ('rebuild');
         INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES ('rebuild');",
    )?;
    connection.execute("DELETE FROM state_meta WHERE key = ?1", [STALE])?;
    Ok(())
}

/// Lets rows be stored although the indexes cannot take them.
///
/// The triggers keep their names and do nothing: if they were gone, Hermes would
/// lay its own over an index of another layout, or stop at the damaged one.
pub(crate) fn silence(connection: &Connection) -> rusqlite::Result<()> {
    drop_triggers(connection)?;
    for name in TRIGGERS {
        let event = name.rsplit('_').next().unwrap_or_default().to_uppercase();
        connection.execute_batch(&format!(
            "CREATE TRIGGER {name} AFTER {event} ON messages BEGIN SELECT 'the search index is damaged'; END;"
        ))?;
    }
    connection.execute(
        "INSERT INTO state_meta (key, value) VALUES (?1, '1') ON CONFLICT (key) DO UPDATE SET value = '1'",
        [STALE],
    )?;
    Ok(())
}

fn drop_triggers(connection: &Connection) -> rusqlite::Result<()> {
    for name in TRIGGERS {
        connection.execute_batch(&format!("DROP TRIGGER IF EXISTS {name};"))?;
    }
    Ok(())
}

/// Whether a failed write may have been refused by a damaged index.
///
/// FTS5 names damage in several ways, some of them only when the transaction is
/// committed; whether it was the index shows when the write works without it.
pub(crate) fn may_have_refused(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(code, message) = error else {
        return false;
    };
    let words = message.as_deref().unwrap_or_default();
    match code.code {
        rusqlite::ErrorCode::DatabaseCorrupt => true,
        // Rules of the tables name the table; those of the index's own tables do not.
        rusqlite::ErrorCode::ConstraintViolation => {
            !words.contains("FOREIGN KEY") && !words.contains("failed: ")
        }
        _ => words.contains("fts5") || words.contains("vtable constructor"),
    }
}
