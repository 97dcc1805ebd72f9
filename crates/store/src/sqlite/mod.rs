//! The store in SQLite: `state.db` in the shape of Hermes 0.19, with own tables beside.
//!
//! One connection writes, behind a lock, each call in one transaction that takes
//! the write lock at once; a second one, opened when it is first needed, reads.
//! The files of this module each hold one subject as functions over a
//! connection; [`SqliteStore`] only opens, locks, retries and sorts errors.

mod append;
mod calls;
pub mod care;
mod connection;
mod content;
mod delegations;
mod erase;
mod frozen;
mod fts;
mod gateway;
mod insights;
mod journal;
mod later;
mod lineage;
mod messages;
mod rotate;
mod row;
mod schema;
mod search;
mod sessions;
mod titles;
mod undo;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::Connection;
use serde_json::Value;
use talaria_types::{Message, MessageId, SessionId, StoredMessage, Timestamp, TurnId};

use self::writer::Writer;
use crate::{
    CallJournal, CompactionRow, Delegation, Insights, LeaseOutcome, ListFilter, Listed, NewSession,
    RecordRow, Result, Rotation, RotationIds, SearchQuery, SearchResults, SessionRow, SessionStore,
    SessionTotals, StoreError, StoreStats, TurnRecord, Undone, UsageRow,
};

/// The store in `state.db`.
pub struct SqliteStore {
    path: PathBuf,
    images: PathBuf,
    writer: Mutex<Writer>,
    /// Opened when something is first read; a database in memory, or only to be read, has one connection.
    reader: OnceLock<Mutex<Connection>>,
    one_connection: bool,
    /// What is read in place of a file that cannot be written.
    _copy: Option<frozen::Copy>,
    warnings: Mutex<Vec<String>>,
    later: later::LaterSync,
    /// The highest row in the index of pairs, as far as this process knows; below 0 when it does not.
    pairs_seen: AtomicI64,
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the database at `path`, making it when it is missing and bringing an older one up to date.
    ///
    /// `images` is the folder of image bytes; it is made when the first one is stored.
    /// A database that is up to date is not written to.
    pub fn open(path: &Path, images: &Path) -> Result<Self> {
        let (mut writer, warning) = connection::open(path, true)?;
        let mut warnings: Vec<String> = warning.into_iter().collect();
        warnings.extend(
            schema::bring_up_to_date(&mut writer, path.parent())
                .map_err(|error| StoreError::from_sqlite(path, error))?,
        );
        Ok(Self {
            path: path.to_owned(),
            images: images.to_owned(),
            writer: Mutex::new(Writer::new(writer)),
            reader: OnceLock::new(),
            one_connection: false,
            _copy: None,
            warnings: Mutex::new(warnings),
            later: later::LaterSync::new(Some(path)),
            pairs_seen: AtomicI64::new(-1),
        })
    }

    /// Opens a database that cannot be written, to read it; what would change it is refused.
    ///
    /// One that an older version wrote must be brought up to date first, which this cannot.
    pub fn open_to_read(path: &Path, images: &Path) -> Result<Self> {
        let frozen::Frozen { connection, copy } = frozen::open(path)?;
        if !schema::is_readable(&connection).map_err(|error| StoreError::from_sqlite(path, error))? {
            return Err(StoreError::ReadOnly {
                path: path.to_owned(),
            });
        }
        let warning = format!(
            "{} cannot be written; it is only read, as it is now",
            path.display()
        );
        Ok(Self {
            path: path.to_owned(),
            images: images.to_owned(),
            writer: Mutex::new(Writer::new(connection)),
            reader: OnceLock::new(),
            one_connection: true,
            _copy: copy,
            warnings: Mutex::new(vec![warning]),
            later: later::LaterSync::new(None),
            pairs_seen: AtomicI64::new(-1),
        })
    }

    /// A store that is gone when it is dropped, for tests; pictures go to `images`.
    pub fn open_in_memory(images: &Path) -> Result<Self> {
        let mut writer = connection::open_in_memory()?;
        schema::bring_up_to_date(&mut writer, None)?;
        Ok(Self {
            path: PathBuf::from(":memory:"),
            images: images.to_owned(),
            writer: Mutex::new(Writer::new(writer)),
            reader: OnceLock::new(),
            one_connection: true,
            _copy: None,
            warnings: Mutex::new(Vec::new()),
            later: later::LaterSync::new(None),
            pairs_seen: AtomicI64::new(-1),
        })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of the database; a database in memory has none.
    fn home(&self) -> Option<&Path> {
        if self.one_connection {
            None
        } else {
            self.path.parent()
        }
    }

    /// Reads with the connection that does not wait for writers.
    fn read<T>(&self, body: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let done = if self.one_connection {
            body(lock(&self.writer).connection())
        } else {
            body(&*self.reader()?)
        };
        done.map_err(|error| self.sorted(error))
    }

    fn reader(&self) -> Result<MutexGuard<'_, Connection>> {
        if self.reader.get().is_none() {
            let connection = connection::open_reader(&self.path)?;
            // Two threads may get here at once; the second connection is dropped.
            let _ = self.reader.set(Mutex::new(connection));
        }
        self.reader.get().map(lock).ok_or(StoreError::Locked)
    }

    /// Runs `body` in one transaction; what it wrote is on the disk when this returns `Ok`.
    ///
    /// When a damaged search index refuses the rows, they are stored without it:
    /// `body` is then run a second time, from the start.
    fn write<T>(&self, body: impl Fn(&Connection) -> Result<T>) -> Result<T> {
        let mut writer = lock(&self.writer);
        writer.set_durable(true)?;
        self.write_with(&writer, body)
    }

    /// The same, for what can be had again: it is on the disk a moment later.
    fn write_soon<T>(&self, body: impl Fn(&Connection) -> Result<T>) -> Result<T> {
        let mut writer = lock(&self.writer);
        writer.set_durable(false)?;
        let done = self.write_with(&writer, body);
        self.later.soon();
        done
    }

    fn write_with<T>(&self, writer: &Writer, body: impl Fn(&Connection) -> Result<T>) -> Result<T> {
        let done = match writer.transact(&body) {
            Err(StoreError::Sqlite(error)) if fts::may_have_refused(&error) => {
                // In one transaction: when the index was not the reason, it is not switched off either.
                let without_index = |connection: &Connection| {
                    fts::silence(connection)?;
                    body(connection)
                };
                writer
                    .transact(&without_index)
                    .inspect(|_| {
                        tracing::warn!(%error, "the search index is damaged; rows are stored without it");
                        self.warn("the search index is damaged; messages are stored but cannot be found until `db repair`");
                    })
                    .map_err(|_| StoreError::Sqlite(error))
            }
            done => done,
        };
        done.map_err(|error| self.sorted(error))
    }

    /// Brings the index of pairs up to date, so that a search need not; does nothing when it is.
    fn index_pairs(&self) -> Result<()> {
        loop {
            let (seen, more) = self.write(search::pairs::catch_up)?;
            self.pairs_seen.store(seen, Ordering::Relaxed);
            if !more {
                return Ok(());
            }
        }
    }

    /// Reads new rows into the index of pairs once there are enough of them to be worth a transaction.
    fn index_when_due(&self, newest: Option<&MessageId>) {
        const DUE: i64 = 512;
        let Some(MessageId(newest)) = newest else { return };
        if self.pairs_seen.load(Ordering::Relaxed) < 0 {
            let seen = search::pairs::seen(lock(&self.writer).connection()).unwrap_or(*newest);
            self.pairs_seen.store(seen, Ordering::Relaxed);
        }
        if newest - self.pairs_seen.load(Ordering::Relaxed) >= DUE
            && let Err(error) = self.index_pairs()
        {
            // The rows are stored; a search reads them itself.
            tracing::debug!(%error, "the index of pairs was not brought up to date");
        }
    }

    fn run_search(&self, query: &SearchQuery, scope: search::Scope<'_>) -> Result<SearchResults> {
        let mut behind = None;
        if self.read(search::pairs::is_behind)?
            && let Err(error) = self.index_pairs()
        {
            behind = Some(format!("the newest messages may be missing: {error}"));
        }
        let mut found = self.read(|connection| search::search(connection, query, scope));
        if matches!(found, Err(StoreError::Damaged { .. })) {
            // The index of pairs is our own and made from the rows, so it is simply made again.
            self.write(search::pairs::recreate)?;
            self.index_pairs()?;
            found = self.read(|connection| search::search(connection, query, scope));
        }
        let mut results = found?;
        let stale = self
            .read(|connection| sessions::meta(connection, fts::STALE))?
            .is_some();
        if stale {
            behind = Some(
                "the search index is damaged and some messages cannot be found; run `db repair`".to_owned(),
            );
        }
        results.note = behind.or(results.note);
        Ok(results)
    }

    fn warn(&self, text: &str) {
        let mut warnings = lock(&self.warnings);
        if !warnings.iter().any(|known| known == text) {
            warnings.push(text.to_owned());
        }
    }

    /// Sorts an error of SQLite into the kinds a person can act on.
    fn sorted(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::Sqlite(error) => StoreError::from_sqlite(&self.path, error),
            other => other,
        }
    }
}

/// Locks `mutex`; a thread that died with it left at most a rolled-back transaction.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SessionStore for SqliteStore {
    fn create_session(&self, new: &NewSession) -> Result<()> {
        self.write_soon(|connection| sessions::create(connection, new))
    }

    fn session(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        self.read(|connection| sessions::get(connection, id))
    }

    fn resolve(&self, name: &str) -> Result<SessionId> {
        self.read(|connection| lineage::resolve(connection, name))
    }

    fn tip(&self, id: &SessionId) -> Result<SessionId> {
        self.read(|connection| lineage::tip(connection, id))
    }

    fn lineage(&self, id: &SessionId) -> Result<Vec<SessionId>> {
        self.read(|connection| lineage::ancestors(connection, id))
    }

    fn newest(&self, source: Option<&str>) -> Result<Option<SessionId>> {
        self.read(|connection| lineage::newest(connection, source))
    }

    fn end_session(&self, id: &SessionId, reason: &str, at: Timestamp) -> Result<()> {
        self.write(|connection| sessions::end(connection, id, reason, at))
    }

    fn reopen(&self, id: &SessionId) -> Result<()> {
        self.write(|connection| sessions::reopen(connection, id))
    }

    fn set_title(&self, id: &SessionId, title: Option<&str>) -> Result<()> {
        self.write(|connection| titles::set(connection, id, title))
    }

    fn title_if_none(&self, id: &SessionId, title: &str) -> Result<Option<String>> {
        self.write(|connection| titles::set_if_none(connection, id, title))
    }

    fn next_title(&self, title: &str) -> Result<String> {
        self.read(|connection| titles::next(connection, title))
    }

    fn set_system_prompt(&self, id: &SessionId, prompt: &str) -> Result<()> {
        self.write(|connection| sessions::set_system_prompt(connection, id, prompt))
    }

    fn set_model(&self, id: &SessionId, model: &str, config: &Value) -> Result<()> {
        self.write(|connection| sessions::set_model(connection, id, model, config))
    }

    fn add_usage(&self, id: &SessionId, usage: &UsageRow, at: Timestamp) -> Result<()> {
        self.write_soon(|connection| sessions::add_usage(connection, id, usage, at))
    }

    fn totals(&self, id: &SessionId) -> Result<SessionTotals> {
        self.read(|connection| sessions::totals(connection, id))
    }

    fn insights(&self, since: Timestamp) -> Result<Insights> {
        self.read(|connection| insights::insights(connection, since))
    }

    fn day_cost(&self, at: Timestamp) -> Result<f64> {
        self.read(|connection| insights::day_cost(connection, at))
    }

    fn branch(&self, from: &SessionId, new: &NewSession) -> Result<u64> {
        self.write(|connection| sessions::branch(connection, from, new, &self.images))
    }

    fn append(
        &self,
        session: &SessionId,
        messages: &[Arc<Message>],
        at: Timestamp,
    ) -> Result<Vec<MessageId>> {
        let rows = append::encode_all(messages, &self.images)?;
        let ids = self.write(|connection| append::append_and_settle(connection, session, &rows, at))?;
        self.index_when_due(ids.last());
        Ok(ids)
    }

    fn append_repeatable(
        &self,
        session: &SessionId,
        messages: &[Arc<Message>],
        at: Timestamp,
    ) -> Result<Vec<MessageId>> {
        let rows = append::encode_all(messages, &self.images)?;
        let ids = self.write_soon(|connection| append::append(connection, session, &rows, at))?;
        self.index_when_due(ids.last());
        Ok(ids)
    }

    fn live(&self, session: &SessionId) -> Result<Vec<StoredMessage>> {
        self.read(|connection| messages::of_session(connection, session, messages::Which::Live))
    }

    fn all(&self, session: &SessionId) -> Result<Vec<StoredMessage>> {
        self.read(|connection| messages::of_session(connection, session, messages::Which::All))
    }

    fn full(&self, session: &SessionId) -> Result<Vec<StoredMessage>> {
        self.read(|connection| messages::full(connection, session))
    }

    fn recall(&self, ids: &[MessageId]) -> Result<Vec<StoredMessage>> {
        self.read(|connection| messages::recall(connection, ids))
    }

    fn rewind(&self, session: &SessionId, turns: u32) -> Result<u64> {
        self.write(|connection| messages::rewind(connection, session, turns))
    }

    fn rotate(&self, rotation: &Rotation) -> Result<RotationIds> {
        let pending = append::encode_all(&rotation.pending, &self.images)?;
        let ids = self.write(|connection| rotate::rotate(connection, rotation, &pending, &self.images))?;
        self.index_when_due(ids.messages.last());
        Ok(ids)
    }

    fn compactions(&self, session: &SessionId) -> Result<Vec<CompactionRow>> {
        self.read(|connection| undo::compactions(connection, session))
    }

    fn originals(&self, session: &SessionId, steps: usize) -> Result<Vec<StoredMessage>> {
        self.read(|connection| undo::originals(connection, session, steps))
    }

    fn uncompress(&self, session: &SessionId, steps: usize, new: &NewSession) -> Result<Undone> {
        self.write(|connection| undo::uncompress(connection, session, steps, new, &self.images))
    }

    fn acquire_compression_lock(
        &self,
        session: &SessionId,
        holder: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<LeaseOutcome> {
        self.write(|connection| rotate::acquire_lock(connection, session, holder, (now, until)))
    }

    fn renew_compression_lock(&self, session: &SessionId, holder: &str, until: Timestamp) -> Result<bool> {
        self.write(|connection| rotate::renew_lock(connection, session, holder, until))
    }

    fn release_compression_lock(&self, session: &SessionId, holder: &str) -> Result<()> {
        self.write(|connection| rotate::release_lock(connection, session, holder))
    }

    fn journal(&self, entry: &CallJournal, at: Timestamp) -> Result<()> {
        self.write(|connection| journal::write(connection, entry, at))
    }

    fn open_calls(&self, session: &SessionId) -> Result<Vec<CallJournal>> {
        self.read(|connection| journal::open_calls(connection, session))
    }

    fn record(&self, records: &[TurnRecord], at: Timestamp) -> Result<()> {
        self.write_soon(|connection| journal::record(connection, records, at))
    }

    fn records(&self, session: &SessionId, turn: &TurnId) -> Result<Vec<RecordRow>> {
        self.read(|connection| journal::records(connection, session, turn))
    }

    fn turns(&self, session: &SessionId) -> Result<Vec<TurnId>> {
        self.read(|connection| journal::turns(connection, session))
    }

    fn acquire_lease(&self, session: &SessionId, holder: &str, now: Timestamp) -> Result<LeaseOutcome> {
        self.write_soon(|connection| journal::acquire_lease(connection, session, holder, now))
    }

    fn release_lease(&self, session: &SessionId, holder: &str) -> Result<()> {
        self.write_soon(|connection| journal::release_lease(connection, session, holder))
    }

    fn delegates(&self, session: &SessionId) -> Result<Vec<SessionRow>> {
        self.read(|connection| delegations::delegates(connection, session))
    }

    fn delegate(&self, delegation: &Delegation) -> Result<()> {
        self.write(|connection| delegations::create(connection, delegation))
    }

    fn end_delegation(&self, id: &str, state: &str, result: &Value, at: Timestamp) -> Result<()> {
        self.write(|connection| delegations::end(connection, id, (state, result), at))
    }

    fn open_delegations(&self, session: &SessionId, at: Timestamp) -> Result<Vec<Delegation>> {
        let open = self.read(|connection| delegations::open(connection, session))?;
        if !open.iter().any(|found| found.abandoned) {
            return Ok(open.into_iter().map(|found| found.delegation).collect());
        }
        self.write(|connection| delegations::bury(connection, session, at))
    }

    fn deliver(
        &self,
        delegation: &str,
        session: &SessionId,
        message: &Arc<Message>,
        at: Timestamp,
    ) -> Result<Option<MessageId>> {
        let rows = append::encode_all(std::slice::from_ref(message), &self.images)?;
        self.write(|connection| delegations::deliver(connection, delegation, session, (&rows, at)))
    }

    fn list(&self, filter: &ListFilter) -> Result<Vec<Listed>> {
        self.read(|connection| lineage::list(connection, filter))
    }

    fn search(&self, query: &SearchQuery) -> Result<SearchResults> {
        self.run_search(query, search::Scope::default())
    }

    fn search_within(&self, query: &SearchQuery, sessions: &[SessionId]) -> Result<SearchResults> {
        self.run_search(
            query,
            search::Scope {
                sessions: Some(sessions),
            },
        )
    }

    fn delete(&self, id: &SessionId) -> Result<()> {
        let erased = self.write(|connection| erase::delete(connection, id))?;
        erase::remove_files(&erased, self.home(), &self.images);
        Ok(())
    }

    fn prune(&self, before: Timestamp, source: Option<&str>) -> Result<u64> {
        let erased = self.write(|connection| erase::prune(connection, before, source))?;
        erase::remove_files(&erased, self.home(), &self.images);
        Ok(erased.sessions.len() as u64)
    }

    fn stats(&self) -> Result<StoreStats> {
        let stats = self.read(sessions::stats)?;
        let bytes = std::fs::metadata(&self.path)
            .map(|file| file.len())
            .unwrap_or_default();
        Ok(StoreStats { bytes, ..stats })
    }

    fn meta(&self, key: &str) -> Result<Option<String>> {
        self.read(|connection| sessions::meta(connection, key))
    }

    fn set_meta(&self, key: &str, value: Option<&str>) -> Result<()> {
        self.write_soon(|connection| sessions::set_meta(connection, key, value))
    }

    fn warnings(&self) -> Vec<String> {
        lock(&self.warnings).clone()
    }

    fn images(&self) -> &Path {
        &self.images
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_and_the_store_goes_on_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("state.db"), folder.path()).unwrap();
        let limit = |pages: i64| {
            lock(&store.writer)
                .connection()
                .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))
                .unwrap();
        };
        store.set_meta("small", Some("fits")).unwrap();
        limit(1);
        let full = store.set_meta("big", Some(&"x".repeat(100_000)));
        assert!(matches!(full, Err(StoreError::DiskFull)), "{full:?}");
        limit(1_000_000);
        store.set_meta("big", Some("fits")).unwrap();
        assert_eq!(store.meta("big").unwrap().as_deref(), Some("fits"));
    }

    #[test]
    fn a_common_word_is_ranked_among_the_newest_hits_only_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_in_memory(folder.path()).unwrap();
        {
            let writer = lock(&store.writer);
            let writer = writer.connection();
            writer
                .execute(
                    "INSERT INTO sessions (id, source, started_at) VALUES ('s', 'cli', 1)",
                    [],
                )
                .unwrap();
            writer
                .execute(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20100)
                     INSERT INTO messages (session_id, role, content, timestamp) SELECT 's', 'user', 'common ' || i, i FROM n",
                    [],
                )
                .unwrap();
        }
        let query = SearchQuery {
            text: "common".into(),
            limit: 3,
            ..SearchQuery::default()
        };
        let found = store.search(&query).unwrap();
        assert_eq!((found.hits.len(), found.total), (3, 20_100));
        assert!(found.note.is_some_and(|note| note.contains("newest 20000")));
        let query = SearchQuery {
            text: "20050".into(),
            ..query
        };
        assert_eq!(store.search(&query).unwrap().note, None);
    }
}
