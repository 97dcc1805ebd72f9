//! The table of facts.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::words;

/// A fact counts half as new after so many days.
const HALF_LIFE_DAYS: f64 = 90.0;
/// What a judgement adds or takes.
const HELPED: f64 = 0.05;
const WRONG: f64 = 0.10;
/// Matches that are ranked.
const RANKED: usize = 200;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS facts (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  content TEXT NOT NULL UNIQUE,
  category TEXT NOT NULL DEFAULT 'general',
  tags TEXT NOT NULL DEFAULT '',
  trust REAL NOT NULL DEFAULT 0.5,
  recalled INTEGER NOT NULL DEFAULT 0,
  session_id TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL DEFAULT 'tool',
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL
);
CREATE VIRTUAL TABLE IF NOT EXISTS facts_words USING fts5(words, tokenize='porter unicode61 remove_diacritics 2');
";

/// A fact to be kept.
#[derive(Clone, Debug)]
pub(super) struct New {
    pub(super) content: String,
    pub(super) category: String,
    pub(super) tags: String,
    /// Where it was said.
    pub(super) session: String,
    /// `tool`, `turn` or `memory`.
    pub(super) origin: &'static str,
}

/// What of a fact becomes different; the rest stays.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub(super) content: Option<String>,
    pub(super) category: Option<String>,
    pub(super) tags: Option<String>,
}

/// A fact as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Fact {
    #[serde(rename = "fact_id")]
    pub(super) id: i64,
    pub(super) content: String,
    pub(super) category: String,
    pub(super) tags: String,
    pub(super) trust: f64,
    pub(super) session_id: String,
    pub(super) updated_at: f64,
}

/// An open database.
pub(super) struct Facts(Connection);

impl Facts {
    /// Opens `path`, making it when there is none; only its owner may read it.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        // What keeps it from being made is told by SQLite.
        let _ = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.execute_batch(SCHEMA)?;
        Ok(Self(connection))
    }

    /// Keeps a fact; its id, and whether it is new.
    pub(super) fn add(&mut self, new: &New, now: f64) -> rusqlite::Result<(i64, bool)> {
        let change = self
            .0
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let known: Option<i64> = change
            .query_row("SELECT id FROM facts WHERE content = ?1", [&new.content], |row| {
                row.get(0)
            })
            .optional()?;
        if let Some(id) = known {
            change.execute("UPDATE facts SET updated_at = ?2 WHERE id = ?1", params![id, now])?;
            change.commit()?;
            return Ok((id, false));
        }
        change.execute(
            "INSERT INTO facts (content, category, tags, session_id, origin, created_at, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
            params![new.content, new.category, new.tags, new.session, new.origin, now],
        )?;
        let id = change.last_insert_rowid();
        index(&change, id)?;
        change.commit()?;
        Ok((id, true))
    }

    /// The facts that match, best first, and no less trusted than `trusted`.
    pub(super) fn search(
        &self,
        text: &str,
        trusted: f64,
        limit: usize,
        now: f64,
    ) -> rusqlite::Result<Vec<Fact>> {
        let Some(query) = words::query(text) else {
            return Ok(Vec::new());
        };
        let mut found = self.0.prepare_cached(
            "SELECT f.id, f.content, f.category, f.tags, f.trust, f.session_id, f.updated_at, bm25(facts_words)
             FROM facts_words JOIN facts f ON f.id = facts_words.rowid
             WHERE facts_words MATCH ?1 AND f.trust >= ?2 ORDER BY bm25(facts_words) LIMIT ?3",
        )?;
        let rows = found.query_map(params![query, trusted, RANKED as i64], |row| {
            Ok((fact(row)?, row.get::<_, f64>(7)?))
        })?;
        let mut ranked: Vec<(Fact, f64)> = rows.collect::<rusqlite::Result<_>>()?;
        for (fact, score) in &mut ranked {
            *score = worth(-*score, fact, now);
        }
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.id.cmp(&other.0.id)));
        Ok(ranked.into_iter().take(limit).map(|(fact, _)| fact).collect())
    }

    /// The same, and counts that they were recalled.
    pub(super) fn recall(
        &mut self,
        text: &str,
        trusted: f64,
        limit: usize,
        now: f64,
    ) -> rusqlite::Result<Vec<Fact>> {
        let found = self.search(text, trusted, limit, now)?;
        for fact in &found {
            self.0.execute(
                "UPDATE facts SET recalled = recalled + 1 WHERE id = ?1",
                [fact.id],
            )?;
        }
        Ok(found)
    }

    /// The newest facts, of one category or of all.
    pub(super) fn list(&self, category: Option<&str>, limit: usize) -> rusqlite::Result<Vec<Fact>> {
        let mut found = self.0.prepare_cached(
            "SELECT id, content, category, tags, trust, session_id, updated_at FROM facts
             WHERE ?1 IS NULL OR category = ?1 ORDER BY updated_at DESC, id DESC LIMIT ?2",
        )?;
        let rows = found.query_map(params![category, limit as i64], fact)?;
        rows.collect()
    }

    /// Changes what is said; whether there was such a fact.
    pub(super) fn update(&mut self, id: i64, change: &Change, now: f64) -> rusqlite::Result<bool> {
        let work = self.0.transaction()?;
        let changed = work.execute(
            "UPDATE OR IGNORE facts SET content = coalesce(?2, content), category = coalesce(?3, category),
             tags = coalesce(?4, tags), updated_at = ?5 WHERE id = ?1",
            params![id, change.content, change.category, change.tags, now],
        )?;
        work.execute("DELETE FROM facts_words WHERE rowid = ?1", [id])?;
        index(&work, id)?;
        work.commit()?;
        Ok(changed > 0)
    }

    /// Forgets a fact; whether there was one.
    pub(super) fn remove(&mut self, id: i64) -> rusqlite::Result<bool> {
        let change = self.0.transaction()?;
        let removed = change.execute("DELETE FROM facts WHERE id = ?1", [id])?;
        change.execute("DELETE FROM facts_words WHERE rowid = ?1", [id])?;
        change.commit()?;
        Ok(removed > 0)
    }

    /// Forgets what the curated memory has taken out, as far as it came from there.
    pub(super) fn forget_mirrored(&mut self, part: &str) -> rusqlite::Result<()> {
        let gone: Option<i64> = self
            .0
            .query_row(
                "SELECT id FROM facts WHERE origin = 'memory' AND instr(content, ?1) > 0 ORDER BY id DESC",
                [part],
                |row| row.get(0),
            )
            .optional()?;
        if let Some(id) = gone {
            self.remove(id)?;
        }
        Ok(())
    }

    /// A fact helped or was wrong; how far it is trusted now.
    pub(super) fn judge(&mut self, id: i64, helpful: bool) -> rusqlite::Result<Option<f64>> {
        let by = if helpful { HELPED } else { -WRONG };
        self.0
            .query_row(
                "UPDATE facts SET trust = min(1.0, max(0.0, trust + ?2)) WHERE id = ?1 RETURNING trust",
                params![id, by],
                |row| row.get(0),
            )
            .optional()
    }
}

/// How much a match is worth: its words, its age, and what was said of it.
fn worth(words: f64, fact: &Fact, now: f64) -> f64 {
    let days = ((now - fact.updated_at) / 86_400.0).max(0.0);
    let newness = 0.5 + 0.5 * 0.5_f64.powf(days / HALF_LIFE_DAYS);
    // A match of common words has next to no weight of its own; it must not become negative.
    words.max(1e-9) * newness * (0.5 + fact.trust)
}

fn index(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    let found: Option<(String, String)> = connection
        .query_row("SELECT content, tags FROM facts WHERE id = ?1", [id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    if let Some((content, tags)) = found {
        let words = words::indexed(&format!("{content} {tags}"));
        connection.execute(
            "INSERT INTO facts_words (rowid, words) VALUES (?1, ?2)",
            params![id, words],
        )?;
    }
    Ok(())
}

fn fact(row: &Row<'_>) -> rusqlite::Result<Fact> {
    Ok(Fact {
        id: row.get(0)?,
        content: row.get(1)?,
        category: row.get(2)?,
        tags: row.get(3)?,
        trust: row.get(4)?,
        session_id: row.get(5)?,
        updated_at: row.get(6)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: f64 = 86_400.0;

    fn filled(texts: &[(&str, f64)]) -> (tempfile::TempDir, Facts) {
        let folder = tempfile::tempdir().unwrap();
        let mut facts = Facts::open(&folder.path().join("facts.db")).unwrap();
        for (text, at) in texts {
            let new = New {
                content: (*text).to_owned(),
                category: "general".to_owned(),
                tags: String::new(),
                session: "s1".to_owned(),
                origin: "tool",
            };
            facts.add(&new, *at).unwrap();
        }
        (folder, facts)
    }

    fn found(facts: &Facts, query: &str) -> Vec<String> {
        let found = facts.search(query, 0.3, 5, 1000.0 * DAY).unwrap();
        found.into_iter().map(|fact| fact.content).collect()
    }

    #[test]
    fn the_better_match_comes_first_then_the_newer_then_the_trusted() {
        let (_folder, mut facts) = filled(&[
            ("the deploy key lives in the vault", 1000.0 * DAY),
            ("the deploy runs on Fridays", 950.0 * DAY),
            ("the deploy runs on Mondays", 999.0 * DAY),
        ]);
        assert_eq!(
            found(&facts, "which deploy key?")[0],
            "the deploy key lives in the vault"
        );
        assert_eq!(
            found(&facts, "when does it run?")[0],
            "the deploy runs on Mondays"
        );
        for _ in 0..2 {
            facts.judge(3, false).unwrap();
        }
        for _ in 0..10 {
            facts.judge(2, true).unwrap();
        }
        assert_eq!(
            found(&facts, "when does it run?")[0],
            "the deploy runs on Fridays"
        );
        facts.judge(3, false).unwrap();
        assert_eq!(found(&facts, "Mondays"), Vec::<String>::new());
    }

    #[test]
    fn the_same_fact_is_kept_once_and_what_is_removed_is_not_found() {
        let (_folder, mut facts) = filled(&[("tea is oolong", 1.0), ("tea is oolong", 2.0)]);
        let change = Change {
            content: Some("tea is sencha".to_owned()),
            tags: Some("drinks".to_owned()),
            ..Change::default()
        };
        assert_eq!(facts.list(None, 10).unwrap().len(), 1);
        assert!(facts.update(1, &change, 3.0).unwrap());
        assert_eq!(found(&facts, "oolong"), Vec::<String>::new());
        assert_eq!(found(&facts, "drink"), ["tea is sencha"]);
        assert!(facts.remove(1).unwrap() && !facts.remove(1).unwrap());
        assert_eq!(found(&facts, "sencha"), Vec::<String>::new());
    }

    #[test]
    fn chinese_of_any_length_and_any_punctuation_is_found_or_harmless() {
        let (_folder, facts) = filled(&[("他喜欢乌龙茶", 1.0)]);
        assert_eq!(found(&facts, "乌龙"), ["他喜欢乌龙茶"]);
        assert_eq!(found(&facts, "茶"), ["他喜欢乌龙茶"]);
        for nonsense in [
            "\"",
            "AND OR NOT",
            "(((",
            "a:b*",
            "'; DROP TABLE facts;--",
            "NEAR(x y)",
        ] {
            found(&facts, nonsense);
        }
    }
}
