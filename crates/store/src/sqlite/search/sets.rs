//! Queries worked out as sets of rows, each a rising list of ids.

use rusqlite::{Connection, OptionalExtension};

use super::query::{Leaf, Node};
use crate::Result;

/// Rows of one index that match a query, rising.
pub(crate) fn rows(connection: &Connection, table: &str, query: &str) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT rowid FROM {table} WHERE {table} MATCH ?1 ORDER BY rowid"
    ))?;
    let found = statement.query_map([query], |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

/// Whether some word of the query stands somewhere glued to a run, where `messages_fts` cannot see it.
pub(crate) fn is_glued(connection: &Connection, query: &Node) -> Result<bool> {
    let mut leaves = Vec::new();
    query.leaves(true, &mut |leaf, _| leaves.push(leaf.in_pairs()));
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM message_pairs WHERE message_pairs MATCH ?1 LIMIT 1")?;
    Ok(statement
        .query_row([leaves.join(" OR ")], |_| Ok(()))
        .optional()?
        .is_some())
}

/// Rows that match the query in either index, rising.
pub(crate) fn evaluate(connection: &Connection, node: &Node) -> Result<Vec<i64>> {
    match node {
        Node::Leaf(leaf) => of_leaf(connection, leaf),
        Node::Or(any) => any.iter().try_fold(Vec::new(), |sum, node| {
            Ok(either(&sum, &evaluate(connection, node)?))
        }),
        Node::And { all, none } => {
            let mut kept: Option<Vec<i64>> = None;
            for node in all {
                let rows = evaluate(connection, node)?;
                kept = Some(kept.map_or_else(|| rows.clone(), |kept| both(&kept, &rows)));
            }
            let mut kept = kept.unwrap_or_default();
            for node in none {
                kept = without(&kept, &evaluate(connection, node)?);
            }
            Ok(kept)
        }
    }
}

fn of_leaf(connection: &Connection, leaf: &Leaf) -> Result<Vec<i64>> {
    let glued = rows(connection, "message_pairs", &leaf.in_pairs())?;
    match leaf.in_words() {
        Some(query) => Ok(either(&rows(connection, "messages_fts", &query)?, &glued)),
        None => Ok(glued),
    }
}

/// Ids in both lists.
pub(crate) fn both(one: &[i64], other: &[i64]) -> Vec<i64> {
    merge(one, other, |in_one, in_other| in_one && in_other)
}

/// Ids in the first list that are not in the second.
pub(crate) fn without(one: &[i64], other: &[i64]) -> Vec<i64> {
    if other.is_empty() {
        return one.to_vec();
    }
    merge(one, other, |in_one, in_other| in_one && !in_other)
}

fn either(one: &[i64], other: &[i64]) -> Vec<i64> {
    merge(one, other, |_, _| true)
}

fn merge(one: &[i64], other: &[i64], keep: impl Fn(bool, bool) -> bool) -> Vec<i64> {
    let mut kept = Vec::new();
    let (mut i, mut j) = (0, 0);
    loop {
        let id = match (one.get(i), other.get(j)) {
            (Some(a), Some(b)) => *a.min(b),
            (Some(id), None) | (None, Some(id)) => *id,
            (None, None) => return kept,
        };
        let (in_one, in_other) = (one.get(i) == Some(&id), other.get(j) == Some(&id));
        i += usize::from(in_one);
        j += usize::from(in_other);
        if keep(in_one, in_other) {
            kept.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_joined_met_and_parted() {
        let (one, other) = ([1, 2, 5, 9], [2, 3, 9]);
        assert_eq!(both(&one, &other), [2, 9]);
        assert_eq!(either(&one, &other), [1, 2, 3, 5, 9]);
        assert_eq!(without(&one, &other), [1, 5]);
    }
}
