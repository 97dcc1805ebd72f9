//! Check, backup, repair, vacuum, and files that are damaged.

use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use rstest::rstest;
use talaria_store::{ListFilter, SearchQuery, SessionStore, SqliteStore, StoreError, care};
use talaria_types::{Message, SessionId};

use crate::common::{Home, texts};

fn path(home: &Home) -> PathBuf {
    home.folder.path().join("state.db")
}

/// A home with enough rows for many pages, closed.
fn filled() -> (tempfile::TempDir, PathBuf) {
    let home = Home::new();
    for name in ["one", "two", "three"] {
        let session = home.session(name);
        let messages: Vec<Message> = (0..900)
            .map(|index| Message::user(format!("{name} number {index} {}", "filler ".repeat(40))))
            .collect();
        home.say(&session, &messages);
    }
    let path = path(&home);
    home.sql()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let Home { folder, store } = home;
    drop(store);
    (folder, path)
}

fn overwrite(path: &std::path::Path, page: u64, pages: usize) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(4096 * page)).unwrap();
    file.write_all(&vec![0xff; 4096 * pages]).unwrap();
}

#[test]
fn a_sound_file_is_sound_and_its_backup_is_complete() {
    let (folder, path) = filled();
    let report = care::check(&path).unwrap();
    assert_eq!((report.sound, report.problems), (true, vec![]));
    assert_eq!(
        (report.sessions, report.messages, report.indexed),
        (3, 2700, 2700)
    );
    let copy = folder.path().join("copy.db");
    care::backup(&path, &copy).unwrap();
    assert!(care::check(&copy).unwrap().sound);
    let store = SqliteStore::open(&copy, folder.path()).unwrap();
    assert_eq!(store.live(&SessionId::new("two")).unwrap().len(), 900);
    assert!(
        matches!(care::backup(&path, &copy), Err(StoreError::File { .. })),
        "nothing is overwritten"
    );
}

#[test]
fn a_damaged_search_index_never_stops_a_turn_and_repair_brings_everything_back() {
    let home = Home::new();
    let session = home.session("s");
    home.say(&session, &[Message::user("wordalpha 前面")]);
    home.sql()
        .execute(
            "UPDATE messages_fts_data SET block = x'00112233' WHERE id = 10 OR id = 1",
            [],
        )
        .unwrap();
    let home = home.reopen();
    home.say(&session, &[Message::user("wordbravo 中间")]);
    assert!(
        home.store
            .warnings()
            .iter()
            .any(|warning| warning.contains("db repair")),
        "{:?}",
        home.store.warnings()
    );
    let home = home.reopen();
    assert!(
        home.store
            .warnings()
            .iter()
            .any(|warning| warning.contains("db repair"))
    );
    assert!(!care::check(&path(&home)).unwrap().sound);
    let Home { folder, store } = home;
    drop(store);
    let report = care::repair(&folder.path().join("state.db")).unwrap();
    assert_eq!((report.kept, report.messages), (None, 2));
    let store = SqliteStore::open(&folder.path().join("state.db"), folder.path()).unwrap();
    let home = Home { folder, store };
    home.say(&session, &[Message::user("wordcarol 后面")]);
    for word in ["wordalpha", "wordbravo", "wordcarol", "前面", "中间", "后面"] {
        let query = SearchQuery {
            text: word.into(),
            limit: 5,
            ..SearchQuery::default()
        };
        assert_eq!(home.store.search(&query).unwrap().total, 1, "{word}");
    }
    assert!(home.store.warnings().is_empty());
    assert!(care::check(&path(&home)).unwrap().sound);
}

#[rstest]
fn any_damaged_page_is_noticed_and_repaired_with_what_can_be_read(#[values(3, 5, 9, 20, 40)] page: u64) {
    let (folder, path) = filled();
    overwrite(&path, page, 1);
    let report = care::check(&path).unwrap();
    assert!(!report.sound && !report.problems.is_empty());
    let report = care::repair(&path).unwrap();
    assert!(care::check(&path).unwrap().sound, "{report:?}");
    assert!(report.messages >= 2600, "{report:?}");
    if let Some(kept) = &report.kept {
        assert!(
            kept.exists()
                && kept
                    .file_name()
                    .unwrap()
                    .to_string_lossy()
                    .starts_with("state.db.damaged-")
        );
    }
    let store = SqliteStore::open(&path, folder.path()).unwrap();
    store
        .append(
            &SessionId::new("one"),
            &[std::sync::Arc::new(Message::user("goes on"))],
            crate::common::at(9.0),
        )
        .unwrap();
}

#[rstest]
fn a_truncated_file_gives_back_what_is_in_it(#[values(3, 5, 8)] tenths: u64) {
    let (folder, path) = filled();
    let size = std::fs::metadata(&path).unwrap().len();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(size * tenths / 10 / 4096 * 4096).unwrap();
    drop(file);
    assert!(!care::check(&path).unwrap().sound);
    let report = care::repair(&path).unwrap();
    assert!(report.kept.is_some() && report.messages > 0, "{report:?}");
    assert!(care::check(&path).unwrap().sound);
    let store = SqliteStore::open(&path, folder.path()).unwrap();
    assert!(!texts(&store.live(&SessionId::new("one")).unwrap()).is_empty());
}

#[rstest]
fn a_file_with_damage_on_every_page_gives_back_what_can_be_read(#[values(1_333, 5_003)] step: usize) {
    let (folder, path) = filled();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8192..]
        .iter_mut()
        .step_by(step)
        .for_each(|byte| *byte ^= 0xff);
    std::fs::write(&path, bytes).unwrap();
    let report = care::repair(&path).unwrap();
    assert!(report.kept.is_some() && report.messages > 0, "{report:?}");
    assert!(care::check(&path).unwrap().sound);
    let store = SqliteStore::open(&path, folder.path()).unwrap();
    assert!(!store.list(&ListFilter::default()).unwrap().is_empty());
}

#[test]
fn a_file_with_damage_five_times_a_page_is_renewed_and_kept() {
    let (folder, path) = filled();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8192..]
        .iter_mut()
        .step_by(777)
        .for_each(|byte| *byte ^= 0xff);
    std::fs::write(&path, bytes).unwrap();
    let report = care::repair(&path).unwrap();
    assert!(report.kept.is_some_and(|kept| kept.exists()));
    assert!(
        report.done.iter().any(|done| done.contains("backup")),
        "{:?}",
        report.done
    );
    assert!(care::check(&path).unwrap().sound);
    SqliteStore::open(&path, folder.path()).unwrap();
}

#[test]
fn a_file_that_is_no_database_is_named_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    std::fs::write(
        &path,
        "this is a text, and long enough to be taken for a database header by nobody".repeat(100),
    )
    .unwrap();
    let error = SqliteStore::open(&path, folder.path()).unwrap_err();
    assert!(
        matches!(&error, StoreError::Damaged { path: named, .. } if *named == path),
        "{error:?}"
    );
    assert!(!care::check(&path).unwrap().sound);
    assert!(matches!(care::repair(&path), Err(StoreError::Damaged { .. })));
    assert!(std::fs::read(&path).unwrap().starts_with(b"this is a text"));
}

#[test]
fn vacuum_changes_no_row_and_lays_out_the_index_of_another_program_anew() {
    let home = Home::of_sample("sample19.db");
    let path = path(&home);
    let rows = |home: &Home| {
        let sql = home.sql();
        let mut statement = sql
            .prepare("SELECT id, session_id, role, content, active FROM messages ORDER BY id")
            .unwrap();
        let rows = statement
            .query_map([], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, Option<String>>(3)?,
                    row.get::<_, i64>(4)?,
                ))
            })
            .unwrap();
        rows.collect::<rusqlite::Result<Vec<_>>>().unwrap()
    };
    let before = rows(&home);
    let report = care::vacuum(&path).unwrap();
    assert!(report.index_rebuilt && report.after > 0);
    assert_eq!(rows(&home), before);
    assert!(care::check(&path).unwrap().sound, "{:?}", care::check(&path));
    assert!(!care::vacuum(&path).unwrap().index_rebuilt);
    let query = SearchQuery {
        text: "chat-send".into(),
        limit: 5,
        ..SearchQuery::default()
    };
    assert!(home.store.search(&query).unwrap().total > 0);
}

#[rstest]
fn a_file_that_lost_its_beginning_gives_back_its_rows(#[values(16, 100, 4096)] bytes: usize) {
    let (folder, path) = filled();
    let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all(&vec![0; bytes]).unwrap();
    drop(file);
    assert!(!care::check(&path).unwrap().sound);
    let report = care::repair(&path).unwrap();
    assert_eq!((report.sessions, report.messages), (3, 2700));
    assert!(care::check(&path).unwrap().sound);
    let names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with("state.db-") && name != "images")
        .collect();
    assert_eq!(names.len(), 2, "the new file and the damaged one: {names:?}");
}

#[rstest]
fn a_database_of_hermes_with_pictures_is_no_damaged_one(#[values("sample14.db", "sample19.db")] name: &str) {
    let home = Home::of_sample(name);
    let report = care::check(&path(&home)).unwrap();
    assert_eq!((report.sound, report.problems), (true, vec![]));
}

#[test]
fn a_database_that_cannot_be_written_is_read_with_what_its_log_holds() {
    let home = Home::new();
    let session = home.session("kept");
    home.say(&session, &[Message::user("only in the log so far")]);
    // The store is open, so its newest rows stand in the log.
    let log = home.folder.path().join("state.db-wal");
    assert!(log.metadata().unwrap().len() > 0);
    let read = SqliteStore::open_to_read(&path(&home), home.folder.path()).unwrap();
    assert_eq!(texts(&read.live(&session).unwrap()), ["only in the log so far"]);
    let query = SearchQuery {
        text: "log".to_owned(),
        limit: 5,
        ..SearchQuery::default()
    };
    assert_eq!(read.search(&query).unwrap().hits.len(), 1);
    assert!(read.warnings()[0].contains("cannot be written"));
}

#[test]
fn a_database_that_cannot_be_written_is_read_without_a_log_and_never_changed() {
    let (folder, path) = filled();
    let before = std::fs::read(&path).unwrap();
    let read = SqliteStore::open_to_read(&path, folder.path()).unwrap();
    assert_eq!(read.live(&SessionId::new("two")).unwrap().len(), 900);
    let refused = read.set_title(&SessionId::new("two"), Some("new"));
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })), "{refused:?}");
    drop(read);
    assert!(before == std::fs::read(&path).unwrap());
    assert!(!folder.path().join("state.db-wal").exists());
}
