//! Full-text search.
//!
//! A query of words goes to `messages_fts` as it is; one of runs goes to
//! `message_pairs`; one of both is worked out as sets of rows. Hits come best
//! first, those of sessions that a person started before those of machines.
//! What a word is worth is only reckoned for the newest [`RANKED`] hits, so a
//! common word costs no more than that.

pub(crate) mod pairs;
mod query;
mod sets;
mod snippet;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rusqlite::{Connection, OptionalExtension, params};
use talaria_types::{MessageId, SessionId, Timestamp};

use super::{lineage, row};
use crate::{Hit, Result, SearchQuery, SearchResults};
use query::Node;

/// The newest hits that are ranked; of a query with more, the older ones are only counted.
const RANKED: usize = 20_000;
/// Sessions with more messages than this are filtered hit by hit.
const PICKED: i64 = 200_000;

/// Which rows may be found.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope<'a> {
    /// Only rows of these sessions.
    pub(crate) sessions: Option<&'a [SessionId]>,
}

/// Searches; the rows of `scope` only.
pub(crate) fn search(
    connection: &Connection,
    query: &SearchQuery,
    scope: Scope<'_>,
) -> Result<SearchResults> {
    let Some(parsed) = query::parse(&query.text) else {
        let note =
            (!query.text.trim().is_empty()).then(|| "there is no word to look for in the query".to_owned());
        return Ok(SearchResults {
            note,
            ..SearchResults::default()
        });
    };
    let allowed = allowed(connection, query, scope)?;
    let mut parsed = parsed;
    let mut candidates = Candidates::find(connection, &parsed, allowed.as_deref())?;
    let mut note = None;
    if candidates.total == 0
        && let Some(relaxed) = parsed.with_any_of(&query.text)
    {
        parsed = relaxed;
        candidates = Candidates::find(connection, &parsed, allowed.as_deref())?;
        note = (candidates.total > 0)
            .then(|| "no message has all of these words; these have some of them".to_owned());
    }
    if candidates.cut {
        note = Some(format!(
            "{} messages match; only the newest {RANKED} were ranked",
            candidates.total
        ));
    }
    let mut collector = Collector::new(connection, query, &parsed);
    for id in &candidates.ranked {
        if !collector.take(*id)? {
            break;
        }
    }
    let total = match query.role {
        Some(_) => collector.matching,
        None => candidates.total - collector.repeated,
    };
    Ok(SearchResults {
        hits: collector.finish()?,
        total: total as u64,
        note,
    })
}

/// The rows of the sessions that may be found, when they are few enough to be listed.
fn allowed(connection: &Connection, query: &SearchQuery, scope: Scope<'_>) -> Result<Option<Vec<i64>>> {
    let mut rows = Vec::new();
    if let Some(sessions) = scope.sessions {
        let mut statement = connection.prepare_cached("SELECT id FROM messages WHERE session_id = ?1")?;
        for session in sessions {
            let found = statement.query_map([session.as_str()], |found| found.get::<_, i64>(0))?;
            rows.extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
        }
        rows.sort_unstable();
        return Ok(Some(rows));
    }
    let Some(source) = &query.source else {
        return Ok(None);
    };
    let messages: i64 = connection
        .prepare_cached("SELECT coalesce(sum(message_count), 0) FROM sessions WHERE source = ?1")?
        .query_row([source], |found| found.get(0))?;
    if messages > PICKED {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(
        "SELECT m.id FROM sessions s JOIN messages m ON m.session_id = s.id WHERE s.source = ?1",
    )?;
    rows.extend(
        statement
            .query_map([source], |found| found.get::<_, i64>(0))?
            .collect::<rusqlite::Result<Vec<_>>>()?,
    );
    rows.sort_unstable();
    Ok(Some(rows))
}

/// Rows in a range of ids that are never shown: taken back by the person, or copies of other rows. Rising.
fn hidden(connection: &Connection, first: i64, last: i64) -> Result<Vec<i64>> {
    let mut hidden = Vec::new();
    for sql in [
        "SELECT id FROM messages WHERE active = 0 AND compacted = 0 AND id BETWEEN ?1 AND ?2",
        "SELECT copy_id FROM message_copies WHERE copy_id BETWEEN ?1 AND ?2",
    ] {
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_map([first, last], |found| found.get::<_, i64>(0))?;
        hidden.extend(found.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    hidden.sort_unstable();
    Ok(hidden)
}

/// The rows that match.
struct Candidates {
    /// The best first.
    ranked: Vec<i64>,
    /// How many there are in all.
    total: usize,
    /// Whether older ones were left out of `ranked`.
    cut: bool,
}

/// A query that one index answers by itself.
struct Ranking {
    table: &'static str,
    query: String,
}

impl Candidates {
    fn find(connection: &Connection, parsed: &Node, allowed: Option<&[i64]>) -> Result<Self> {
        let ranking = Ranking::of(connection, parsed)?;
        let (mut ranked, mut older) = match (&ranking, allowed) {
            (Some(ranking), None) => ranking.newest(connection)?,
            (Some(ranking), Some(allowed)) => {
                let mut rows = sets::both(&sets::rows(connection, ranking.table, &ranking.query)?, allowed);
                let older = cut_older(&mut rows);
                (ranking.ranked(connection, &rows)?, older)
            }
            (None, allowed) => {
                // Parts of the query have their worth in different indexes: the newest first.
                let mut rows = sets::evaluate(connection, parsed)?;
                if let Some(allowed) = allowed {
                    rows = sets::both(&rows, allowed);
                }
                let older = cut_older(&mut rows);
                rows.reverse();
                (rows, older)
            }
        };
        let cut = !older.is_empty();
        let all = || ranked.iter().chain(&older);
        if let (Some(first), Some(last)) = (all().min(), all().max()) {
            let hidden = hidden(connection, *first, *last)?;
            let shown = |id: &i64| hidden.binary_search(id).is_err();
            ranked.retain(shown);
            older.retain(shown);
        }
        Ok(Self {
            total: ranked.len() + older.len(),
            ranked,
            cut,
        })
    }
}

/// Takes all but the newest [`RANKED`] of rising rows out.
fn cut_older(rows: &mut Vec<i64>) -> Vec<i64> {
    let surplus = rows.len().saturating_sub(RANKED);
    rows.drain(..surplus).collect()
}

impl Ranking {
    fn of(connection: &Connection, parsed: &Node) -> Result<Option<Self>> {
        let (mut words, mut runs) = (false, false);
        parsed.leaves(true, &mut |leaf, _| match leaf.in_words() {
            Some(_) => words = true,
            None => runs = true,
        });
        Ok(match (words, runs) {
            (true, false) if !sets::is_glued(connection, parsed)? => Some(Self {
                table: "messages_fts",
                query: parsed.to_fts(&|leaf| leaf.in_words().unwrap_or_default()),
            }),
            (false, true) => Some(Self {
                table: "message_pairs",
                query: parsed.to_fts(&query::Leaf::in_pairs),
            }),
            _ => None,
        })
    }

    /// The newest rows, best first, and the older ones, which are not ranked.
    fn newest(&self, connection: &Connection) -> Result<(Vec<i64>, Vec<i64>)> {
        let table = self.table;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT rowid, rank FROM {table} WHERE {table} MATCH ?1 ORDER BY rowid DESC LIMIT ?2"
        ))?;
        let found = statement
            .query_map(params![self.query, row::to_column(RANKED as u64)], |found| {
                Ok((found.get(0)?, found.get(1)?))
            })?
            .collect::<rusqlite::Result<Vec<(i64, f64)>>>()?;
        let older = match found.last() {
            Some((oldest, _)) if found.len() == RANKED => {
                let mut statement = connection.prepare_cached(&format!(
                    "SELECT rowid FROM {table} WHERE {table} MATCH ?1 AND rowid < ?2"
                ))?;
                let older = statement.query_map(params![self.query, oldest], |found| found.get(0))?;
                older.collect::<rusqlite::Result<Vec<i64>>>()?
            }
            _ => Vec::new(),
        };
        Ok((best_first(found), older))
    }

    /// These rows, which rise, best first.
    fn ranked(&self, connection: &Connection, rows: &[i64]) -> Result<Vec<i64>> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok(Vec::new());
        };
        let table = self.table;
        let mut statement = connection.prepare_cached(&format!(
            "SELECT rowid, rank FROM {table} WHERE {table} MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC"
        ))?;
        let mut found = statement
            .query_map(params![self.query, first, last], |found| {
                Ok((found.get(0)?, found.get(1)?))
            })?
            .collect::<rusqlite::Result<Vec<(i64, f64)>>>()?;
        found.retain(|(id, _)| rows.binary_search(id).is_ok());
        Ok(best_first(found))
    }
}

/// Sorts by rank, the best of which is the lowest; the newer of equals stays first.
fn best_first(mut found: Vec<(i64, f64)>) -> Vec<i64> {
    found.sort_by(|(_, one), (_, other)| one.total_cmp(other));
    found.into_iter().map(|(id, _)| id).collect()
}

/// What is known of a session once one of its rows was found.
#[derive(Clone)]
struct Owner {
    root: SessionId,
    source: String,
    title: Option<String>,
    machine: bool,
}

/// Picks the hits that are shown from the rows, which come best first.
struct Collector<'a> {
    connection: &'a Connection,
    query: &'a SearchQuery,
    needles: Vec<String>,
    owners: HashMap<String, Owner>,
    /// Sessions that a person started.
    people: Vec<Hit>,
    machines: Vec<Hit>,
    /// What was shown of a lineage already, for copies that another program made: which session shows it.
    shown: HashMap<(SessionId, u64), SessionId>,
    repeated: usize,
    matching: usize,
}

impl<'a> Collector<'a> {
    fn new(connection: &'a Connection, query: &'a SearchQuery, parsed: &Node) -> Self {
        Self {
            connection,
            query,
            needles: snippet::needles(parsed),
            owners: HashMap::new(),
            people: Vec::new(),
            machines: Vec::new(),
            shown: HashMap::new(),
            repeated: 0,
            matching: 0,
        }
    }

    /// How many hits are needed to show the page that was asked for.
    fn wanted(&self) -> usize {
        usize::try_from(self.query.offset.saturating_add(self.query.limit)).unwrap_or(usize::MAX)
    }

    /// Looks at one row; tells whether more are needed.
    fn take(&mut self, id: i64) -> Result<bool> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT session_id, role, timestamp FROM messages WHERE id = ?1")?;
        let found = statement.query_row([id], |found| {
            Ok((
                row::text(found, 0)?.unwrap_or_default(),
                row::text(found, 1)?.unwrap_or_default(),
                row::real(found, 2)?.unwrap_or_default(),
            ))
        });
        let Some((session, role, timestamp)) = found.optional()? else {
            // Another program erased the row; only `message_pairs` can still name it.
            self.repeated += 1;
            return Ok(true);
        };
        let owner = self.owner(&session)?;
        if self.query.role.as_ref().is_some_and(|wanted| *wanted != role)
            || self
                .query
                .source
                .as_ref()
                .is_some_and(|wanted| *wanted != owner.source)
        {
            return Ok(true);
        }
        self.matching += 1;
        let kept = if owner.machine {
            &self.machines
        } else {
            &self.people
        };
        if kept.len() < self.wanted() {
            let hit = Hit {
                session_id: SessionId::new(session),
                root_session_id: owner.root,
                message_id: MessageId(id),
                role,
                timestamp: Timestamp(timestamp),
                source: owner.source,
                title: owner.title,
                snippet: String::new(),
            };
            self.keep(hit, owner.machine)?;
        }
        // With a filter everything is looked at, so that the total is right.
        Ok(self.query.role.is_some() || self.people.len() < self.wanted())
    }

    /// Keeps a hit with the words around it, unless another session of its lineage shows the same.
    fn keep(&mut self, mut hit: Hit, machine: bool) -> Result<()> {
        let text = self
            .connection
            .prepare_cached("SELECT content, tool_name, tool_calls FROM messages WHERE id = ?1")?
            .query_row([hit.message_id.0], |found| pairs::words_of(found, 0))?;
        let mut hasher = DefaultHasher::new();
        (&hit.role, &text).hash(&mut hasher);
        let key = (hit.root_session_id.clone(), hasher.finish());
        if self
            .shown
            .get(&key)
            .is_some_and(|session| *session != hit.session_id)
        {
            self.repeated += 1;
            return Ok(());
        }
        self.shown.insert(key, hit.session_id.clone());
        hit.snippet = snippet::around(&text, &self.needles);
        if machine {
            self.machines.push(hit);
        } else {
            self.people.push(hit);
        }
        Ok(())
    }

    fn owner(&mut self, session: &str) -> Result<Owner> {
        if let Some(owner) = self.owners.get(session) {
            return Ok(owner.clone());
        }
        let mut statement = self.connection.prepare_cached(&format!(
            "SELECT s.source, s.title, {} FROM sessions s WHERE s.id = ?1",
            lineage::MACHINE_MADE
        ))?;
        let found = statement.query_row([session], |found| {
            Ok((
                row::text(found, 0)?.unwrap_or_default(),
                row::text(found, 1)?,
                found.get::<_, bool>(2)?,
            ))
        });
        let (source, title, machine) = found.optional()?.unwrap_or_default();
        let root = lineage::root(self.connection, &SessionId::new(session))?;
        let owner = Owner {
            root,
            source,
            title,
            machine,
        };
        self.owners.insert(session.to_owned(), owner.clone());
        Ok(owner)
    }

    fn finish(self) -> Result<Vec<Hit>> {
        let skip = usize::try_from(self.query.offset).unwrap_or(usize::MAX);
        let limit = usize::try_from(self.query.limit).unwrap_or(usize::MAX);
        let hits: Vec<Hit> = self
            .people
            .into_iter()
            .chain(self.machines)
            .skip(skip)
            .take(limit)
            .collect();
        // A row of a lineage's later session may have been met before its earlier twin.
        debug_assert_eq!(
            hits.iter()
                .map(|hit| hit.message_id)
                .collect::<HashSet<_>>()
                .len(),
            hits.len()
        );
        Ok(hits)
    }
}
