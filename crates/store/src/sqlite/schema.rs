//! The tables of the file: making them, and bringing older files up to date.
//!
//! Two counters stand in a file. `schema_version` is Hermes' and says 22; it is
//! never lowered, and a higher one is left alone. SQLite's `user_version`, which
//! Hermes does not use, counts Talaria's own migrations. When both are current,
//! opening writes nothing.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, ToSql, TransactionBehavior};

use super::{fts, gateway};

/// Hermes' version that this program writes.
pub(crate) const HERMES: i64 = 22;

/// Own migrations, oldest first; their number is the version. Append only.
const OWN: [&str; 1] = [include_str!("../../migrations/0001_own_tables.sql")];

const TABLES: &str = include_str!("../../migrations/hermes_tables.sql");
const INDEXES: &str = include_str!("../../migrations/hermes_indexes.sql");
const UNIQUE_TITLES: &str =
    "CREATE UNIQUE INDEX IF NOT EXISTS idx_sessions_title_unique ON sessions(title) WHERE title IS NOT NULL";

/// What an open file looks like before anything is done about it.
struct State {
    /// Own migrations that have run.
    own: usize,
    /// Hermes' version; `None` in a file without its tables.
    hermes: Option<i64>,
    /// FTS triggers that are there.
    triggers: usize,
    /// Rows are known to be missing from the search index.
    stale: bool,
    /// Rows of an old Hermes whose flag was never set, so that they would not load.
    unset_flags: bool,
}

/// Makes or updates the tables where needed; gives warnings for the person.
///
/// `home` is the folder of the file: 0.14 kept some of the data in files there.
pub(crate) fn bring_up_to_date(
    connection: &mut Connection,
    home: Option<&Path>,
) -> rusqlite::Result<Vec<String>> {
    let state = look(connection)?;
    let current = state.own == OWN.len() && (state.is_newer() || state.is_whole());
    if !current && state.own <= OWN.len() {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have done it while this one waited for the lock.
        let state = look(&transaction)?;
        update(&transaction, &state, home)?;
        transaction.commit()?;
    }
    Ok(warnings(&state))
}

/// Whether the tables are those this version knows, so that nothing need be changed to read them.
pub(crate) fn is_readable(connection: &Connection) -> rusqlite::Result<bool> {
    let state = look(connection)?;
    Ok(state.own >= OWN.len() && (state.is_newer() || state.hermes == Some(HERMES)))
}

impl State {
    /// A newer Hermes wrote it: its tables are its own affair.
    fn is_newer(&self) -> bool {
        self.hermes.is_some_and(|version| version > HERMES)
    }

    /// Nothing of Hermes' part is missing.
    fn is_whole(&self) -> bool {
        self.hermes == Some(HERMES) && self.triggers == fts::TRIGGERS.len() && !self.unset_flags
    }
}

fn warnings(state: &State) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(version) = state.hermes.filter(|version| *version > HERMES) {
        warnings.push(format!(
            "the database was written by a newer Hermes (schema {version}, this program knows {HERMES}); it is used as it is"
        ));
    }
    if state.own > OWN.len() {
        warnings.push(
            "the database was written by a newer version of this program; it is used as it is".to_owned(),
        );
    }
    if state.stale {
        warnings.push(
            "the search index is damaged and some messages cannot be found; run `db repair`".to_owned(),
        );
    }
    warnings
}

fn look(connection: &Connection) -> rusqlite::Result<State> {
    let own: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let own = usize::try_from(own).unwrap_or_default();
    let has = |kind: &str, name: &str| -> rusqlite::Result<i64> {
        let mut statement = connection
            .prepare_cached("SELECT count(*) FROM sqlite_schema WHERE type = ?1 AND name GLOB ?2")?;
        statement.query_row([kind, name], |row| row.get(0))
    };
    let yes = |sql: &str, values: &[&dyn ToSql]| connection.query_row(sql, values, |row| row.get(0));
    let triggers = usize::try_from(has("trigger", "messages_fts_*")?).unwrap_or_default();
    let hermes = match has("table", "schema_version")? {
        0 => None,
        _ => connection
            .query_row("SELECT version FROM schema_version LIMIT 1", [], |row| row.get(0))
            .optional()?,
    };
    let stale = has("table", "state_meta")? > 0
        && yes(
            "SELECT EXISTS (SELECT 1 FROM state_meta WHERE key = ?1)",
            &[&fts::STALE],
        )?;
    let unset_flags = own > 0 && yes("SELECT EXISTS (SELECT 1 FROM messages WHERE active IS NULL)", &[])?;
    Ok(State {
        own,
        hermes,
        triggers,
        stale,
        unset_flags,
    })
}

fn update(connection: &Connection, state: &State, home: Option<&Path>) -> rusqlite::Result<()> {
    if !state.is_newer() {
        connection.execute_batch(TABLES)?;
        add_missing_columns(connection)?;
        connection.execute_batch(INDEXES)?;
        connection.execute("UPDATE messages SET active = 1 WHERE active IS NULL", [])?;
        unique_titles(connection)?;
    }
    let old_index = state.hermes.is_some_and(|version| version < 11);
    match state.hermes {
        None => {
            connection.execute("INSERT INTO schema_version (version) VALUES (?1)", [HERMES])?;
        }
        Some(version) if version < HERMES => {
            migrate_rows(connection, version, home)?;
            connection.execute("UPDATE schema_version SET version = ?1", [HERMES])?;
        }
        Some(_) => {}
    }
    for migration in OWN.iter().skip(state.own) {
        connection.execute_batch(migration)?;
    }
    if state.own < OWN.len() {
        connection.pragma_update(None, "user_version", i64::try_from(OWN.len()).unwrap_or(i64::MAX))?;
    }
    if old_index || (!state.is_newer() && state.triggers < fts::TRIGGERS.len()) {
        fts::rebuild(connection)?;
    }
    Ok(())
}

/// Adds the columns that a file of an older Hermes lacks, with their defaults.
fn add_missing_columns(connection: &Connection) -> rusqlite::Result<()> {
    let wanted = Connection::open_in_memory()?;
    wanted.execute_batch(TABLES)?;
    let mut names =
        wanted.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")?;
    let tables: Vec<String> = names
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for table in tables {
        let have: Vec<String> = columns(connection, &table)?
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        for (name, declaration) in columns(&wanted, &table)? {
            if !have.contains(&name) {
                connection.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {name} {declaration};"))?;
            }
        }
    }
    Ok(())
}

/// The columns of a table with what `ALTER TABLE` needs to add them.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement =
        connection.prepare("SELECT name, type, \"notnull\", dflt_value FROM pragma_table_info(?1)")?;
    let rows = statement.query_map([table], |row| {
        let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
        let (required, default): (bool, Option<String>) = (row.get(2)?, row.get(3)?);
        let required = if required && default.is_some() {
            " NOT NULL"
        } else {
            ""
        };
        let default = default
            .map(|value| format!(" DEFAULT {value}"))
            .unwrap_or_default();
        Ok((name, format!("{kind}{required}{default}")))
    })?;
    rows.collect()
}

/// Makes the index on titles; where two sessions share one, the newer keeps it.
fn unique_titles(connection: &Connection) -> rusqlite::Result<()> {
    if connection.execute_batch(UNIQUE_TITLES).is_ok() {
        return Ok(());
    }
    connection.execute(
        "UPDATE sessions AS older SET title = NULL WHERE title IS NOT NULL AND EXISTS (
             SELECT 1 FROM sessions AS newer WHERE newer.title = older.title AND newer.rowid > older.rowid)",
        [],
    )?;
    connection.execute_batch(UNIQUE_TITLES)
}

/// The steps of Hermes that change rows, from `version` to 22.
fn migrate_rows(connection: &Connection, version: i64, home: Option<&Path>) -> rusqlite::Result<()> {
    if version < 16 {
        connection.execute_batch(include_str!("../../migrations/hermes_16_delegates.sql"))?;
    }
    if version < 18
        && let Some(home) = home
    {
        gateway::fill(connection, home)?;
    }
    if version < 20 {
        connection.execute_batch(include_str!("../../migrations/hermes_20_usage.sql"))?;
    }
    if version < 22 {
        let keyed: bool = connection.query_row(
            "SELECT EXISTS (SELECT 1 FROM pragma_table_info('session_model_usage') WHERE name = 'task' AND pk > 0)",
            [],
            |row| row.get(0),
        )?;
        if !keyed {
            connection.execute_batch(include_str!("../../migrations/hermes_22_usage_task.sql"))?;
            connection.execute_batch(INDEXES)?;
        }
    }
    Ok(())
}
