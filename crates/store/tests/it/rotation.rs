//! Compression, its undo, and the lock on it.

use std::sync::Arc;

use serde_json::json;
use talaria_store::{
    Compacted, CompactionFacts, LeaseOutcome, Origin, Rotation, SearchQuery, SessionStore, StoreError,
    lock_holder,
};
use talaria_types::{Anchors, Message, MessageId, SessionId, StoredMessage, Timestamp, Trigger, Usage};

use crate::common::{Home, at, call, new, texts};

fn facts() -> CompactionFacts {
    CompactionFacts {
        trigger: Trigger::AfterTools,
        summary: "the summary".into(),
        anchor_index: json!([{ "text": "/srv/app", "ids": [1] }]),
        anchors: Anchors { kept: 3, total: 4 },
        tokens_before: 9000,
        tokens_after: 900,
        usage: Usage {
            prompt_tokens: 100,
            ..Usage::default()
        },
        cost_usd: Some(0.5),
        model: Some("mock-model".into()),
        duration_ms: 12,
    }
}

/// Keeps the first and the last `tail` live messages and puts a summary between them.
fn rotation(home: &Home, session: &SessionId, child: Option<&str>, tail: usize, seconds: f64) -> Rotation {
    let live = home.store.live(session).unwrap();
    let kept = |message: &StoredMessage| Compacted {
        message: message.message.clone(),
        origin: Origin::Row(message.id),
    };
    let mut messages = vec![kept(&live[0])];
    messages.push(Compacted {
        message: Arc::new(Message::assistant("SUMMARY so far")),
        origin: Origin::New,
    });
    messages.extend(live[live.len() - tail..].iter().map(kept));
    Rotation {
        session: session.clone(),
        pending: Vec::new(),
        child: child.map(SessionId::new),
        system_prompt: "You are Talaria, rebuilt.".into(),
        messages,
        summary_at: Some(1),
        facts: facts(),
        at: at(seconds),
    }
}

fn talk(home: &Home, session: &SessionId, name: &str, turns: usize) -> Vec<MessageId> {
    let messages: Vec<Message> = (0..turns)
        .flat_map(|turn| {
            [
                Message::user(format!("{name} ask {turn}")),
                Message::assistant(format!("{name} reply {turn}")),
            ]
        })
        .collect();
    home.say(session, &messages)
}

#[test]
fn a_rotation_ends_the_old_session_and_goes_on_in_a_child_with_all_its_metadata() {
    let home = Home::new();
    let old = home.session("20260101_090000_aaaaaa");
    home.store.set_title(&old, Some("Chat work")).unwrap();
    home.store
        .set_meta("goal:20260101_090000_aaaaaa", Some(r#"{"goal":"finish"}"#))
        .unwrap();
    home.sql()
        .execute(
            "UPDATE sessions SET source = 'telegram', user_id = 'u-77', session_key = 'k', chat_id = '9',
             chat_type = 'dm', thread_id = 't-5', compression_fallback_streak = 1",
            [],
        )
        .unwrap();
    let ids = talk(&home, &old, "T", 4);
    let before = dump(&home);
    let mut compress = rotation(&home, &old, Some("20260101_100000_bbbbbb"), 2, 100.0);
    let mut tool = Message::tool("c1", "terminal", "pressed");
    tool.brief = Some("[terminal] pressed".into());
    compress.pending = vec![
        Arc::new(Message::user("QQ1")),
        Arc::new(call("c1", "terminal", "{}")),
        Arc::new(tool),
    ];
    for index in 0..3 {
        let message = compress.pending[index].clone();
        compress.messages.push(Compacted {
            message,
            origin: Origin::Pending(index),
        });
    }
    let written = home.store.rotate(&compress).unwrap();
    let child = SessionId::new("20260101_100000_bbbbbb");
    assert_eq!(
        (written.session.clone(), written.title.as_deref()),
        (child.clone(), Some("Chat work #2"))
    );
    assert_eq!(written.hidden, 5);

    let row = home.store.session(&old).unwrap().unwrap();
    assert_eq!(
        (row.end_reason.as_deref(), row.ended_at),
        (Some("compression"), Some(at(100.0)))
    );
    assert_eq!(
        texts(&home.store.live(&old).unwrap())[8..],
        ["QQ1", "", "pressed"]
    );
    let live = home.store.live(&child).unwrap();
    assert_eq!(
        texts(&live),
        [
            "T ask 0",
            "SUMMARY so far",
            "T ask 3",
            "T reply 3",
            "QQ1",
            "",
            "pressed"
        ],
        "the child holds the compacted list at once"
    );
    assert_eq!(live[6].message.brief.as_deref(), Some("[terminal] pressed"));
    assert_eq!(
        (live[0].origin, live[1].origin, live[4].origin),
        (ids[0], live[1].id, written.pending[0])
    );
    let row = home.store.session(&child).unwrap().unwrap();
    assert_eq!(row.parent_session_id.as_ref(), Some(&old));
    assert_eq!(
        (row.source.as_str(), row.cwd.as_deref(), row.message_count),
        ("telegram", Some("/work"), 7)
    );
    assert_eq!(row.system_prompt.as_deref(), Some("You are Talaria, rebuilt."));
    let columns: (String, String, String, String, String, i64) = home
        .sql()
        .query_row(
            "SELECT user_id, session_key, chat_id, chat_type, thread_id, compression_fallback_streak FROM sessions WHERE id = ?1",
            [child.as_str()],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)),
        )
        .unwrap();
    assert_eq!(
        columns,
        (
            "u-77".into(),
            "k".into(),
            "9".into(),
            "dm".into(),
            "t-5".into(),
            1
        )
    );
    assert_eq!(
        home.store.meta("goal:20260101_100000_bbbbbb").unwrap().as_deref(),
        Some(r#"{"goal":"finish"}"#)
    );
    assert_eq!(home.store.meta("goal:20260101_090000_aaaaaa").unwrap(), None);
    assert!(dump(&home).starts_with(&before), "no stored row changed");
}

#[test]
fn a_rotation_leaves_a_record_and_moves_every_name_to_the_child() {
    let home = Home::new();
    let old = home.session("20260101_090000_aaaaaa");
    home.store.set_title(&old, Some("Chat work")).unwrap();
    let ids = talk(&home, &old, "T", 4);
    let compress = rotation(&home, &old, Some("20260101_100000_bbbbbb"), 2, 100.0);
    home.store.rotate(&compress).unwrap();
    let child = SessionId::new("20260101_100000_bbbbbb");
    let live = home.store.live(&child).unwrap();
    assert_eq!(home.store.tip(&old).unwrap(), child);
    assert_eq!(home.store.lineage(&child).unwrap(), [old, child.clone()]);
    assert_eq!(home.store.newest(None).unwrap(), Some(child.clone()));
    assert_eq!(home.store.resolve("Chat work").unwrap(), child);
    let record = &home.store.compactions(&child).unwrap()[0];
    assert_eq!(
        (record.hidden.as_slice(), record.summary_message),
        (&ids[1..6], Some(live[1].id))
    );
    assert_eq!(record.facts, facts());
    let again = home.store.rotate(&compress);
    assert!(matches!(again, Err(StoreError::AlreadyCompressed { tip, .. }) if tip == child.as_str()));
}

/// Every message row in every column.
fn dump(home: &Home) -> Vec<Vec<rusqlite::types::Value>> {
    let sql = home.sql();
    let mut statement = sql.prepare("SELECT * FROM messages ORDER BY id").unwrap();
    let width = statement.column_count();
    let rows = statement
        .query_map([], |row| (0..width).map(|index| row.get(index)).collect())
        .unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn a_lineage_is_shown_once_and_its_originals_stay_searchable_and_recallable() {
    let home = Home::new();
    let mut session = home.session("s0");
    home.store.set_title(&session, Some("Long")).unwrap();
    let mut ids = talk(&home, &session, "T0", 4);
    home.say(&session, &[Message::user("the word is PELICANQ")]);
    talk(&home, &session, "T0b", 2);
    for round in 1..=5 {
        let child = format!("s{round}");
        home.store
            .rotate(&rotation(
                &home,
                &session,
                Some(&child),
                2,
                100.0 * f64::from(round),
            ))
            .unwrap();
        session = SessionId::new(child);
        ids.extend(talk(&home, &session, &format!("T{round}"), 2));
    }
    assert_eq!(home.store.lineage(&session).unwrap().len(), 6);
    assert_eq!(home.store.tip(&SessionId::new("s0")).unwrap(), session);
    let listed = home.store.list(&Default::default()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].id.as_str(), listed[0].root_session_id.as_str()),
        ("s5", "s0")
    );
    assert_eq!(
        (listed[0].title.as_deref(), listed[0].preview.as_str()),
        (Some("Long #6"), "T0 ask 0")
    );
    let full = home.store.full(&session).unwrap();
    let summaries = full
        .iter()
        .filter(|message| message.message.content.text().starts_with("SUMMARY"))
        .count();
    assert_eq!(
        (full.len() - summaries, summaries),
        (13 + 5 * 4, 5),
        "each original once"
    );
    let query = SearchQuery {
        text: "PELICANQ".into(),
        limit: 9,
        ..SearchQuery::default()
    };
    let found = home.store.search(&query).unwrap();
    assert_eq!((found.total, found.hits[0].session_id.as_str()), (1, "s0"));
    assert_eq!(found.hits[0].root_session_id.as_str(), "s0");
    let recalled = home.store.recall(&[ids[7], ids[0], MessageId(99_999)]).unwrap();
    assert_eq!(
        texts(&recalled),
        ["T0 ask 0", "T0 reply 3"],
        "in order, the unknown one left out"
    );
    let copy = home.store.live(&session).unwrap()[0].id;
    assert_eq!(
        home.store.recall(&[copy]).unwrap()[0].id,
        ids[0],
        "the id of a copy names the original"
    );
}

#[test]
fn an_undo_brings_back_the_originals_and_all_that_came_after() {
    let home = Home::new();
    let old = home.session("old");
    home.store.set_title(&old, Some("Undo me")).unwrap();
    talk(&home, &old, "T", 6);
    let originals = texts(&home.store.live(&old).unwrap());
    let mut compress = rotation(&home, &old, Some("tip"), 3, 100.0);
    compress.messages.push(Compacted {
        message: Arc::new(Message::user("a list of tasks")),
        origin: Origin::New,
    });
    home.store.rotate(&compress).unwrap();
    let tip = SessionId::new("tip");
    talk(&home, &tip, "later", 2);
    let before = dump(&home);
    let mut undone = new("undone");
    undone.started_at = at(500.0);
    let mut want = originals;
    want.extend(["later ask 0", "later reply 0", "later ask 1", "later reply 1"].map(str::to_owned));
    assert_eq!(texts(&home.store.originals(&old, 1).unwrap()), want);
    let written = home.store.uncompress(&old, 1, &undone).unwrap();
    assert_eq!((written.from.as_str(), written.messages), ("tip", 16));
    let id = SessionId::new("undone");
    assert_eq!(texts(&home.store.live(&id).unwrap()), want);
    assert!(dump(&home).starts_with(&before), "nothing stored changed");
    let row = home.store.session(&id).unwrap().unwrap();
    assert_eq!(row.parent_session_id, Some(tip.clone()));
    assert_eq!(row.model_config["_branched_from"], "tip");
    assert!(row.model_config["_undo_of"].is_i64());
    assert_eq!(
        home.store.tip(&old).unwrap(),
        tip,
        "old ids still reach the old end"
    );
    assert_eq!(
        home.store.newest(None).unwrap(),
        Some(id.clone()),
        "the newest session is the new one"
    );
    assert_eq!(home.store.lineage(&id).unwrap(), [old, id.clone()]);
    assert!(home.store.compactions(&id).unwrap().is_empty());
    assert_eq!(
        home.store.compactions(&tip).unwrap()[0].undone_by,
        Some(id.clone())
    );
    assert!(matches!(
        home.store.uncompress(&id, 1, &new("x")),
        Err(StoreError::NothingToUndo { have: 0, .. })
    ));
    assert_eq!(texts(&home.store.full(&id).unwrap()), want);
}

#[test]
fn several_compressions_are_undone_at_once() {
    let home = Home::new();
    let first = home.session("one");
    talk(&home, &first, "T", 5);
    let mut want = texts(&home.store.live(&first).unwrap());
    let mut session = first;
    for (index, child) in ["two", "three"].iter().enumerate() {
        home.store
            .rotate(&rotation(
                &home,
                &session,
                Some(child),
                1,
                100.0 * (index + 1) as f64,
            ))
            .unwrap();
        session = SessionId::new(*child);
        talk(&home, &session, child, 2);
        want.extend(texts(&home.store.live(&session).unwrap()).split_off(3));
    }
    assert_eq!(texts(&home.store.originals(&session, 2).unwrap()), want);
    assert_eq!(
        texts(&home.store.originals(&session, 1).unwrap())[1],
        "SUMMARY so far"
    );
    assert!(matches!(
        home.store.originals(&session, 3),
        Err(StoreError::NothingToUndo {
            have: 2,
            wanted: 3,
            ..
        })
    ));
    // Undoing one and then one more is undoing two.
    home.store.uncompress(&session, 1, &new("undone1")).unwrap();
    let undone = SessionId::new("undone1");
    assert_eq!(home.store.compactions(&undone).unwrap().len(), 1);
    home.store.uncompress(&undone, 1, &new("undone2")).unwrap();
    assert_eq!(texts(&home.store.live(&SessionId::new("undone2")).unwrap()), want);
}

#[test]
fn a_compression_in_place_keeps_the_id_and_archives_the_rows_unchanged() {
    let home = Home::new();
    let session = home.session("s");
    home.store.set_title(&session, Some("In place")).unwrap();
    talk(&home, &session, "T", 4);
    home.say(&session, &[Message::user("ZANZIBARQ")]);
    home.say(&session, &[Message::assistant("end")]);
    let originals = texts(&home.store.live(&session).unwrap());
    let written = home
        .store
        .rotate(&rotation(&home, &session, None, 1, 100.0))
        .unwrap();
    assert_eq!(written.session, session);
    let row = home.store.session(&session).unwrap().unwrap();
    assert_eq!(
        (row.end_reason, row.title.as_deref(), row.message_count),
        (None, Some("In place"), 3)
    );
    assert_eq!(
        texts(&home.store.live(&session).unwrap()),
        ["T ask 0", "SUMMARY so far", "end"]
    );
    let all = home.store.all(&session).unwrap();
    assert!(
        all[..10]
            .iter()
            .all(|message| !message.active && message.compacted)
    );
    let query = SearchQuery {
        text: "ZANZIBARQ".into(),
        limit: 9,
        ..SearchQuery::default()
    };
    assert_eq!(home.store.search(&query).unwrap().total, 1);
    talk(&home, &session, "later", 1);
    home.store
        .rotate(&rotation(&home, &session, None, 1, 200.0))
        .unwrap();
    talk(&home, &session, "last", 1);
    let mut want = originals;
    want.extend(["later ask 0", "later reply 0", "last ask 0", "last reply 0"].map(str::to_owned));
    assert_eq!(texts(&home.store.originals(&session, 2).unwrap()), want);
    let one = texts(&home.store.originals(&session, 1).unwrap());
    assert_eq!(
        one,
        [
            "T ask 0",
            "SUMMARY so far",
            "end",
            "later ask 0",
            "later reply 0",
            "last ask 0",
            "last reply 0"
        ]
    );
    home.store.uncompress(&session, 2, &new("undone")).unwrap();
    let undone = SessionId::new("undone");
    assert_eq!(texts(&home.store.live(&undone).unwrap()), want);
    assert!(home.store.compactions(&undone).unwrap().is_empty());
    assert_eq!(home.store.full(&undone).unwrap().len(), want.len());
}

#[test]
fn a_branch_that_is_compressed_goes_on_as_itself() {
    let home = Home::new();
    let trunk = home.session("trunk");
    talk(&home, &trunk, "T", 3);
    home.store.branch(&trunk, &new("branch")).unwrap();
    let branch = SessionId::new("branch");
    home.store
        .rotate(&rotation(&home, &branch, Some("branch2"), 1, 50.0))
        .unwrap();
    assert_eq!(home.store.tip(&branch).unwrap().as_str(), "branch2");
    assert_eq!(home.store.tip(&trunk).unwrap(), trunk);
    assert_eq!(home.store.list(&Default::default()).unwrap().len(), 2);
}

#[test]
fn a_chain_is_listed_and_searched_after_its_root_was_deleted() {
    let home = Home::new();
    let root = home.session("root");
    let ids = talk(&home, &root, "T", 4);
    home.store
        .rotate(&rotation(&home, &root, Some("mid"), 2, 100.0))
        .unwrap();
    let mid = SessionId::new("mid");
    home.store
        .rotate(&rotation(&home, &mid, Some("tip"), 1, 200.0))
        .unwrap();
    home.store.delete(&root).unwrap();
    let listed: Vec<String> = home
        .store
        .list(&Default::default())
        .unwrap()
        .into_iter()
        .map(|listed| listed.id.to_string())
        .collect();
    assert_eq!(listed, ["tip"]);
    assert_eq!(home.store.tip(&mid).unwrap().as_str(), "tip");
    assert!(home.store.recall(&[ids[0]]).unwrap().is_empty());
    // What the child kept of the deleted rows is now the only one there is, and found once.
    let query = SearchQuery {
        text: "\"T reply 3\"".into(),
        limit: 9,
        ..SearchQuery::default()
    };
    assert_eq!(home.store.search(&query).unwrap().total, 1);
    assert!(matches!(
        home.store.delete(&root),
        Err(StoreError::UnknownSession { .. })
    ));
}

#[test]
fn prune_takes_old_conversations_whole_and_leaves_the_past_of_live_ones() {
    let home = Home::new();
    for (root, tip) in [("live", "live2"), ("dead", "dead2")] {
        let session = home.session(root);
        talk(&home, &session, "T", 3);
        home.store
            .rotate(&rotation(&home, &session, Some(tip), 1, 100.0))
            .unwrap();
    }
    home.store
        .end_session(&SessionId::new("dead2"), "cli_close", at(200.0))
        .unwrap();
    assert_eq!(home.store.prune(at(50.0), None).unwrap(), 0);
    assert_eq!(home.store.prune(at(1000.0), Some("telegram")).unwrap(), 0);
    assert_eq!(home.store.prune(at(1000.0), None).unwrap(), 2);
    assert_eq!(home.store.stats().unwrap().sessions, 2);
    assert_eq!(home.store.stats().unwrap().lineages, 1);
    let left: i64 = home
        .sql()
        .query_row("SELECT count(*) FROM compactions", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 1);
}

#[test]
fn a_lock_of_a_dead_process_or_one_whose_time_is_over_is_void() {
    let home = Home::new();
    let session = home.session("s");
    let until = |seconds| at(seconds);
    let take = |holder: &str, now: Timestamp| {
        home.store
            .acquire_compression_lock(&session, holder, now, until(now.since(at(0.0)) + 300.0))
            .unwrap()
    };
    assert_eq!(
        take("pid=4194399:tid=1:agent=x:nonce=0", at(0.0)),
        LeaseOutcome::Held
    );
    let (one, two) = (lock_holder(), lock_holder());
    assert_eq!(take(&one, at(1.0)), LeaseOutcome::Held);
    assert!(matches!(take(&two, at(2.0)), LeaseOutcome::Busy { .. }));
    assert!(
        home.store
            .renew_compression_lock(&session, &one, at(400.0))
            .unwrap()
    );
    assert!(
        !home
            .store
            .renew_compression_lock(&session, &two, at(400.0))
            .unwrap()
    );
    assert!(matches!(take(&two, at(399.0)), LeaseOutcome::Busy { .. }));
    assert_eq!(take(&two, at(401.0)), LeaseOutcome::Held);
    home.store.release_compression_lock(&session, &one).unwrap();
    assert!(matches!(take(&one, at(402.0)), LeaseOutcome::Busy { .. }));
    home.store.release_compression_lock(&session, &two).unwrap();
    let left: i64 = home
        .sql()
        .query_row("SELECT count(*) FROM compression_locks", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}
