//! Reading what can be read of a damaged file into a new one.
//!
//! SQLite refuses a page that makes no sense, not the file. So each table is read
//! forwards to the damage, backwards to it, and row by row in between.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Statement, ToSql, params_from_iter};

use super::repair::remove_database;
use super::{rebuild_indexes, transplant};
use crate::sqlite::{connection, fts, schema};
use crate::{Result, StoreError};

/// Row ids that are tried one by one between the readable ends of a table.
const TRIED: i64 = 5_000_000;
/// Row ids that are tried beyond the last readable one, when the other end cannot be read.
const BEYOND: i64 = 100_000;

/// Tables whose rows are made anew rather than copied.
const MADE_ANEW: [&str; 2] = ["schema_version", "sqlite_sequence"];

/// Copies all readable rows of `from` into the new file `to`; says what was done.
pub(super) fn salvage(from: &Path, to: &Path) -> Result<Vec<String>> {
    let unreadable = match read_list(from) {
        Ok((source, tables)) => return copy_all(&source, &tables, to),
        Err(error @ (StoreError::Locked | StoreError::Open { .. })) => return Err(error),
        Err(error) => error,
    };
    let candidates = transplant::candidates(from)?;
    let mut done = Err(unreadable);
    for candidate in &candidates {
        if let Ok((source, tables)) = read_list(candidate) {
            done = copy_all(&source, &tables, to);
            break;
        }
    }
    for candidate in candidates {
        let removed = remove_database(&candidate);
        removed.map_err(|source| StoreError::File {
            path: candidate,
            source,
        })?;
    }
    done
}

/// Opens a damaged file and reads its list of tables.
fn read_list(path: &Path) -> Result<(Connection, Vec<(String, String)>)> {
    let source = open_damaged(path)?;
    let tables = tables(&source).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        detail: format!("its list of tables cannot be read, so nothing can be saved: {error}"),
    })?;
    Ok((source, tables))
}

fn copy_all(source: &Connection, tables: &[(String, String)], to: &Path) -> Result<Vec<String>> {
    let (mut target, _) = connection::open(to, true)?;
    let sorted = |error| StoreError::from_sqlite(to, error);
    schema::bring_up_to_date(&mut target, None).map_err(sorted)?;
    target
        .execute_batch("PRAGMA foreign_keys = OFF")
        .map_err(sorted)?;
    let mut done = Vec::new();
    let transaction = target.transaction().map_err(sorted)?;
    fts::silence(&transaction).map_err(sorted)?;
    for (table, sql) in tables {
        let rows = copy_table(source, &transaction, table, sql).map_err(sorted)?;
        if rows > 0 {
            done.push(format!("{table}: {rows} rows were saved"));
        }
    }
    let stubs = adopt(&transaction).map_err(sorted)?;
    if stubs > 0 {
        done.push(format!(
            "{stubs} sessions were made for messages whose session could not be read"
        ));
    }
    keep_counting(source, &transaction).map_err(sorted)?;
    transaction.commit().map_err(sorted)?;
    rebuild_indexes(&mut target)?;
    target
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .map_err(sorted)?;
    target.close().map_err(|(_, error)| sorted(error))?;
    Ok(done)
}

/// Opens a damaged file for this process alone.
fn open_damaged(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let source = Connection::open_with_flags(path, flags)?;
        // A schema with doubled or broken entries is read as far as it goes.
        source.execute_batch(
            "PRAGMA writable_schema = ON; PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON;",
        )?;
        source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(source)
    };
    open().map_err(|error: rusqlite::Error| StoreError::from_sqlite(path, error))
}

/// The ordinary tables of a file with their SQL.
fn tables(source: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    let mut statement = source.prepare(
        "SELECT name, sql FROM sqlite_schema
         WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'sqlite_%'
           AND name NOT GLOB 'messages_fts*' AND name NOT GLOB 'message_pairs*'",
    )?;
    let mut rows = statement.query([])?;
    let mut found = BTreeMap::new();
    // The list itself may be damaged further on; what was read of it counts.
    while let Ok(Some(row)) = rows.next() {
        if let (Ok(name), Ok(sql)) = (row.get::<_, String>(0), row.get::<_, String>(1)) {
            found.entry(name).or_insert(sql);
        }
    }
    if found.is_empty() {
        return Err(rusqlite::Error::QueryReturnedNoRows);
    }
    Ok(found
        .into_iter()
        .filter(|(name, _)| !MADE_ANEW.contains(&name.as_str()))
        .collect())
}

/// Copies the readable rows of one table; gives how many.
fn copy_table(source: &Connection, target: &Connection, table: &str, sql: &str) -> rusqlite::Result<u64> {
    let have = columns(target, table)?;
    if have.is_empty() {
        // A table that this program does not know, such as a gateway's own.
        // Where the list itself is damaged, a name may not be that of the SQL behind it.
        if target.execute_batch(sql).is_err() {
            return Ok(0);
        }
    }
    let have = columns(target, table)?;
    let shared: Vec<String> = columns(source, table)?
        .into_iter()
        .filter(|column| have.contains(column))
        .collect();
    if shared.is_empty() {
        return Ok(0);
    }
    let names = shared.join(", ");
    let places = vec!["?"; shared.len()].join(", ");
    let insert = format!("INSERT OR IGNORE INTO {table} ({names}) VALUES ({places})");
    let Ok(mut insert) = target.prepare(&insert) else {
        return Ok(0);
    };
    let mut rows = 0;
    let mut sink = |values: Vec<Value>| -> rusqlite::Result<()> {
        // A row that breaks a rule of its table is damage as well.
        match insert.execute(params_from_iter(values)) {
            Ok(inserted) => rows += inserted as u64,
            Err(error) if is_of_the_row(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    };
    if sql.to_uppercase().contains("WITHOUT ROWID") {
        let Ok(mut all) = source.prepare(&format!("SELECT 0, {names} FROM {table}")) else {
            return Ok(0);
        };
        read(&mut all, &[], shared.len(), &mut sink)?;
    } else {
        read_around_damage(source, table, &names, shared.len(), &mut sink)?;
    }
    Ok(rows)
}

/// Whether a row was refused for what is in it.
fn is_of_the_row(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, TooBig, TypeMismatch};
    matches!(
        error.sqlite_error_code(),
        Some(ConstraintViolation | TooBig | TypeMismatch)
    )
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// How reading went.
struct Read {
    /// The last row id that was read.
    last: Option<i64>,
    /// Whether it got to the end.
    whole: bool,
}

/// Reads rows until the end or until the damage. The first column is the row id.
fn read(
    statement: &mut Statement<'_>,
    values: &[&dyn ToSql],
    width: usize,
    sink: &mut impl FnMut(Vec<Value>) -> rusqlite::Result<()>,
) -> rusqlite::Result<Read> {
    let mut last = None;
    let Ok(mut rows) = statement.query(values) else {
        return Ok(Read { last, whole: false });
    };
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(Read { last, whole: true }),
            Err(_) => return Ok(Read { last, whole: false }),
        };
        let values: rusqlite::Result<Vec<Value>> = (1..=width).map(|index| row.get(index)).collect();
        let (Ok(id), Ok(values)) = (row.get::<_, i64>(0), values) else {
            return Ok(Read { last, whole: false });
        };
        last = Some(id);
        sink(values)?;
    }
}

/// Reads a table from both ends and tries the rows between.
fn read_around_damage(
    source: &Connection,
    table: &str,
    names: &str,
    width: usize,
    sink: &mut impl FnMut(Vec<Value>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let select = |rest: &str| format!("SELECT rowid, {names} FROM {table} NOT INDEXED {rest}");
    let Ok(mut upwards) = source.prepare(&select("ORDER BY rowid")) else {
        return Ok(());
    };
    let up = read(&mut upwards, &[], width, sink)?;
    if up.whole {
        return Ok(());
    }
    let low = up.last.unwrap_or(0);
    let Ok(mut downwards) = source.prepare(&select("WHERE rowid > ?1 ORDER BY rowid DESC")) else {
        return Ok(());
    };
    let down = read(&mut downwards, &[&low], width, sink)?;
    if down.whole {
        return Ok(());
    }
    let high = down
        .last
        .unwrap_or_else(|| low.max(highest(source, table)).saturating_add(BEYOND));
    let Ok(mut one) = source.prepare(&select("WHERE rowid = ?1")) else {
        return Ok(());
    };
    for id in low.saturating_add(1)..high.min(low.saturating_add(TRIED)) {
        read(&mut one, &[&id], width, sink)?;
    }
    Ok(())
}

/// The highest row id a table ever had, as far as the file says.
fn highest(source: &Connection, table: &str) -> i64 {
    let counted = source.query_row(
        "SELECT seq FROM sqlite_sequence WHERE name = ?1",
        [table],
        |row| row.get(0),
    );
    counted.unwrap_or_default()
}

/// Gives messages without a session one, so that they can be found; tells how many were made.
fn adopt(target: &Connection) -> rusqlite::Result<usize> {
    target.execute(
        "INSERT INTO sessions (id, source, started_at, message_count)
         SELECT session_id, 'unknown', min(timestamp), count(*) FROM messages
         WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id",
        [],
    )
}

/// Takes care that the id of a lost row is never given to another one.
fn keep_counting(source: &Connection, target: &Connection) -> rusqlite::Result<()> {
    for table in ["messages", "compactions", "tool_journal", "turn_records"] {
        let highest = highest(source, table);
        let rows = target.execute(
            "UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = ?2",
            (highest, table),
        )?;
        if rows == 0 && highest > 0 {
            target.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
                (table, highest),
            )?;
        }
    }
    Ok(())
}
