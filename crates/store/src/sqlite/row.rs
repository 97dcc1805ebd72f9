//! Reading columns that another program may have filled.
//!
//! SQLite types values, not columns: a text may be missing, a number, or bytes
//! that are no UTF-8. None of this may make a session unreadable.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;

/// A text column; what is no text is shown as text.
pub(crate) fn text(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        }),
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
    })
}

/// A number column; anything else is 0.
pub(crate) fn number(row: &Row<'_>, index: usize) -> rusqlite::Result<i64> {
    Ok(match row.get_ref(index)? {
        ValueRef::Integer(number) => number,
        ValueRef::Real(number) => number as i64,
        _ => 0,
    })
}

/// A count; anything that is none is 0.
pub(crate) fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(number(row, index)?).unwrap_or_default())
}

/// A moment or an amount; NULL and what is no number are `None`.
pub(crate) fn real(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<f64>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        _ => None,
    })
}

/// A JSON column; what cannot be parsed is `None`.
pub(crate) fn json(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<Value>> {
    Ok(match row.get_ref(index)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => serde_json::from_slice(bytes).ok(),
        _ => None,
    })
}

/// A count on its way into a column.
pub(crate) fn to_column(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
