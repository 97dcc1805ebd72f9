//! Files that Hermes wrote.

use rstest::rstest;
use talaria_store::{SearchQuery, SessionStore};
use talaria_types::{Message, SessionId};

use crate::common::{Home, texts};

/// Every row of a table that a sample file has, in the columns it has.
fn dump(sql: &rusqlite::Connection, table: &str, columns: &str) -> Vec<Vec<rusqlite::types::Value>> {
    let mut statement = sql
        .prepare(&format!("SELECT {columns} FROM {table} ORDER BY rowid"))
        .unwrap();
    let width = statement.column_count();
    let rows = statement
        .query_map([], |row| (0..width).map(|index| row.get(index)).collect())
        .unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

fn columns(sql: &rusqlite::Connection, table: &str) -> Vec<String> {
    let mut statement = sql.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
    statement
        .query_map([table], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap()
}

#[rstest]
fn an_older_file_opens_without_a_row_changed_and_gets_all_tables(
    #[values("sample14.db", "sample19.db")] name: &str,
) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("before.db");
    std::fs::copy(&path, &copy).unwrap();
    let original = rusqlite::Connection::open(&copy).unwrap();
    let home = Home::of_sample(name);
    let sql = home.sql();
    for table in ["messages", "sessions", "state_meta"] {
        // The marks of delegated runs are a migration of Hermes' own.
        let names: Vec<String> = columns(&original, table)
            .into_iter()
            .filter(|name| name != "model_config")
            .collect();
        let names = names.join(", ");
        assert_eq!(
            dump(&original, table, &names),
            dump(&sql, table, &names),
            "{table}"
        );
    }
    let version: i64 = sql
        .query_row("SELECT version FROM schema_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 22);
    let fresh = Home::new();
    let objects = |sql: &rusqlite::Connection| -> Vec<String> {
        let mut statement = sql
            .prepare("SELECT type || ' ' || name FROM sqlite_schema WHERE name NOT GLOB '*_content' AND type <> 'view' ORDER BY 1")
            .unwrap();
        statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap()
    };
    assert_eq!(objects(&sql), objects(&fresh.sql()));
    for table in ["messages", "sessions", "session_model_usage"] {
        let (mut old, mut new) = (columns(&sql, table), columns(&fresh.sql(), table));
        old.sort();
        new.sort();
        assert_eq!(old, new, "{table}");
    }
}

#[rstest]
fn a_lineage_of_another_program_is_listed_once_searched_and_continued(
    #[values("sample14.db", "sample19.db")] name: &str,
) {
    let home = Home::of_sample(name);
    let listed: Vec<String> = home
        .store
        .list(&Default::default())
        .unwrap()
        .into_iter()
        .map(|listed| listed.id.to_string())
        .collect();
    let root = "20260520_143022_a3f5b2";
    assert!(!listed.iter().any(|id| id == root), "{listed:?}");
    let tip = home.store.tip(&SessionId::new(root)).unwrap();
    assert!(listed.contains(&tip.to_string()), "{listed:?}");
    assert_eq!(home.store.lineage(&tip).unwrap()[0].as_str(), root);
    let find = |text: &str| {
        home.store
            .search(&SearchQuery {
                text: text.into(),
                limit: 20,
                ..SearchQuery::default()
            })
            .unwrap()
            .hits
    };
    assert!(
        find("chat-send")
            .iter()
            .any(|hit| hit.session_id.as_str() == root)
    );
    assert!(!find("桂林").is_empty());
    let before = home.store.live(&tip).unwrap().len();
    home.say(&tip, &[Message::user("go on here")]);
    assert_eq!(home.store.live(&tip).unwrap().len(), before + 1);
    assert!(!find("\"go on here\"").is_empty());
}

#[test]
fn archived_rows_are_searched_and_rewound_ones_are_gone() {
    let home = Home::of_sample("sample19.db");
    let session = SessionId::new("20260521_090000_f1f1f1");
    let live = texts(&home.store.live(&session).unwrap()).join("\n");
    assert!(
        live.contains("summary text") && !live.contains("ask 0 uniqarch") && !live.contains("rewindme"),
        "{live}"
    );
    let find = |text: &str| {
        home.store
            .search(&SearchQuery {
                text: text.into(),
                limit: 20,
                ..SearchQuery::default()
            })
            .unwrap()
            .total
    };
    assert!(find("uniqarch") > 0);
    assert_eq!(find("rewindme"), 0);
}

#[test]
fn an_up_to_date_file_is_not_written_when_it_is_opened() {
    let home = Home::new();
    home.session("s");
    home.sql()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let path = home.folder.path().join("state.db");
    let before = std::fs::read(&path).unwrap();
    let home = home.reopen();
    assert!(home.store.session(&SessionId::new("s")).unwrap().is_some());
    let log = std::fs::metadata(home.folder.path().join("state.db-wal"))
        .map(|file| file.len())
        .unwrap_or_default();
    assert_eq!((std::fs::read(&path).unwrap() == before, log), (true, 0));
}

#[test]
fn rows_whose_flag_was_never_set_are_live_again() {
    let home = Home::new();
    let session = home.session("s");
    home.say(&session, &[Message::user("hidden by an old program")]);
    // Files made by some versions lack the NOT NULL.
    let sql = home.sql();
    sql.execute_batch(
        "PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(sql, 'active INTEGER NOT NULL DEFAULT 1', 'active INTEGER')
             WHERE name = 'messages';
         PRAGMA writable_schema = RESET;",
    )
    .unwrap();
    drop(sql);
    home.sql()
        .execute("UPDATE messages SET active = NULL", [])
        .unwrap();
    let home = home.reopen();
    assert_eq!(home.store.live(&session).unwrap().len(), 1);
}

#[test]
fn a_file_of_a_newer_program_is_used_as_it_is() {
    let home = Home::new();
    home.sql()
        .execute("UPDATE schema_version SET version = 30", [])
        .unwrap();
    let home = home.reopen();
    assert!(
        home.store
            .warnings()
            .iter()
            .any(|warning| warning.contains("newer Hermes")),
        "{:?}",
        home.store.warnings()
    );
    let session = home.session("s");
    home.say(&session, &[Message::user("still works")]);
    let version: i64 = home
        .sql()
        .query_row("SELECT version FROM schema_version", [], |row| row.get(0))
        .unwrap();
    assert_eq!(version, 30);
}

#[test]
fn titles_that_two_sessions_share_stay_with_the_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    let sql = rusqlite::Connection::open(&path).unwrap();
    sql.execute_batch(
        "CREATE TABLE schema_version (version INTEGER NOT NULL); INSERT INTO schema_version VALUES (11);
         CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL, title TEXT,
             parent_session_id TEXT, ended_at REAL, end_reason TEXT, message_count INTEGER DEFAULT 0, model_config TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
             content TEXT, timestamp REAL NOT NULL);
         INSERT INTO sessions (id, source, started_at, title) VALUES ('a', 'cli', 1, 'Same'), ('b', 'cli', 2, 'Same');
         INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('child', 'cli', 3, 'a');
         INSERT INTO messages (session_id, role, content, timestamp) VALUES ('a', 'user', 'oldword 旧的内容', 1);",
    )
    .unwrap();
    drop(sql);
    let store = talaria_store::SqliteStore::open(&path, folder.path()).unwrap();
    assert_eq!(store.resolve("Same").unwrap().as_str(), "b");
    for text in ["oldword", "旧的"] {
        let query = SearchQuery {
            text: text.into(),
            limit: 5,
            ..SearchQuery::default()
        };
        assert_eq!(store.search(&query).unwrap().total, 1, "{text}");
    }
    let child = store.session(&SessionId::new("child")).unwrap().unwrap();
    assert_eq!(
        child.model_config["_delegate_from"], "a",
        "an unmarked child is a delegated run"
    );
    store.create_session(&crate::common::new("c")).unwrap();
    assert_eq!(store.list(&Default::default()).unwrap().len(), 3);
}

#[test]
fn what_old_gateways_kept_in_a_file_fills_empty_columns() {
    let folder = tempfile::tempdir().unwrap();
    let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample14.db");
    std::fs::copy(sample, folder.path().join("state.db")).unwrap();
    std::fs::create_dir(folder.path().join("sessions")).unwrap();
    std::fs::write(
        folder.path().join("sessions/sessions.json"),
        r#"{"agent:main:telegram:dm:9": {"session_id": "20260520_143022_a3f5b2", "chat_type": "dm", "display_name": "Ada",
            "origin": {"chat_id": "9", "thread_id": "t5"}, "memory_flushed": true}, "_version": 1}"#,
    )
    .unwrap();
    let path = folder.path().join("state.db");
    drop(talaria_store::SqliteStore::open(&path, folder.path()).unwrap());
    let sql = rusqlite::Connection::open(&path).unwrap();
    let found: (String, String, String, i64) = sql
        .query_row(
            "SELECT session_key, chat_id, display_name, expiry_finalized FROM sessions WHERE id = '20260520_143022_a3f5b2'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(
        found,
        ("agent:main:telegram:dm:9".into(), "9".into(), "Ada".into(), 1)
    );
}

#[test]
fn the_file_has_the_shape_of_hermes() {
    let home = Home::new();
    let sql = home.sql();
    let mode: String = sql
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
    let mut statement = sql
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name")
        .unwrap();
    let triggers: Vec<String> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert_eq!(
        triggers,
        [
            "messages_fts_delete",
            "messages_fts_insert",
            "messages_fts_trigram_delete",
            "messages_fts_trigram_insert",
            "messages_fts_trigram_update",
            "messages_fts_update"
        ]
    );
    for table in [
        "compactions",
        "tool_journal",
        "turn_records",
        "async_delegations",
        "gateway_routing",
    ] {
        assert!(!columns(&sql, table).is_empty(), "{table}");
    }
}

#[test]
fn a_lineage_that_hermes_compressed_is_shown_once() {
    let home = Home::new();
    let old = home.session("old");
    let say = |text: &str| Message::user(text);
    home.say(
        &old,
        &[
            say("first"),
            say("continue"),
            say("hidden"),
            say("continue"),
            say("last"),
        ],
    );
    let mut child = crate::common::new("child");
    child.parent = Some(old.clone());
    home.store
        .end_session(&old, "compression", crate::common::at(5.0))
        .unwrap();
    home.store.create_session(&child).unwrap();
    home.say(
        &child.id,
        &[
            say("first"),
            say("[CONTEXT COMPACTION] summary"),
            say("continue"),
            say("last"),
            say("new"),
            say("continue"),
        ],
    );
    let full = texts(&home.store.full(&child.id).unwrap());
    assert_eq!(full[5..], ["[CONTEXT COMPACTION] summary", "new", "continue"]);
    assert_eq!(full.len(), 8);
    let query = SearchQuery {
        text: "last".into(),
        limit: 5,
        ..SearchQuery::default()
    };
    let found = home.store.search(&query).unwrap();
    assert_eq!(
        (found.total, found.hits.len()),
        (1, 1),
        "a copy without a mark is one hit with its original"
    );
}
