//! Sessions and their messages.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use talaria_store::{
    CallJournal, CallState, LeaseOutcome, SessionStore, StoreError, TurnRecord, UsageRow, holder,
};
use talaria_types::{Content, Effect, Message, Part, SessionId, TurnId, Usage};

use crate::common::{Home, at, call, new, texts};

#[test]
fn what_was_appended_comes_back_after_the_program_ended() {
    let home = Home::new();
    let session = home.session("20260101_090000_aaaaaa");
    let mut tool = Message::tool("c1", "terminal", "total 0");
    tool.brief = Some("[terminal] ran `ls` -> exit 0, 1 line output".into());
    let mut answer = Message::assistant("done");
    answer.reasoning.text = Some("thinking".into());
    answer.reasoning.content = Some(String::new());
    answer.reasoning.details = Some(json!([{ "type": "thinking", "signature": "s" }]));
    answer.finish_reason = Some("stop".into());
    let mut prompt = Message::user("list the files");
    prompt.sent_as = Some("list the files\n<memory>x</memory>".into());
    let said = vec![
        prompt,
        call("c1", "terminal", r#"{"command":"ls"}"#),
        tool,
        answer,
    ];
    let ids = home.say(&session, &said);
    let home = home.reopen();
    let live = home.store.live(&session).unwrap();
    let back: Vec<Message> = live.iter().map(|stored| (*stored.message).clone()).collect();
    assert_eq!(back, said);
    assert_eq!(live.iter().map(|stored| stored.id).collect::<Vec<_>>(), ids);
    let row = home.store.session(&session).unwrap().unwrap();
    assert_eq!((row.message_count, row.tool_call_count), (4, 1));
    assert_eq!(row.system_prompt.as_deref(), Some("You are Talaria."));
}

#[test]
fn the_first_end_reason_stays() {
    let home = Home::new();
    let session = home.session("a");
    home.store.end_session(&session, "compression", at(5.0)).unwrap();
    home.store.end_session(&session, "cli_close", at(9.0)).unwrap();
    let row = home.store.session(&session).unwrap().unwrap();
    assert_eq!(
        (row.end_reason.as_deref(), row.ended_at),
        (Some("compression"), Some(at(5.0)))
    );
    home.store.reopen(&session).unwrap();
    assert!(
        home.store.session(&session).unwrap().unwrap().ended_at.is_some(),
        "a compressed session stays ended"
    );
}

#[test]
fn a_session_is_found_by_id_prefix_and_title() {
    let home = Home::new();
    let one = home.session("20260101_090000_aaaaaa");
    let two = home.session("20260101_100000_bbbbbb");
    home.store.set_title(&one, Some("Refactor auth")).unwrap();
    home.store.set_title(&two, Some("Refactor auth #2")).unwrap();
    assert_eq!(home.store.resolve("20260101_0900").unwrap(), one);
    assert_eq!(home.store.resolve("Refactor auth").unwrap(), two);
    assert_eq!(home.store.resolve("Refactor auth #2").unwrap(), two);
    assert!(matches!(
        home.store.resolve("2026"),
        Err(StoreError::AmbiguousSession { .. })
    ));
    assert!(matches!(
        home.store.resolve("nobody"),
        Err(StoreError::UnknownSession { .. })
    ));
    assert!(matches!(
        home.store.resolve("20260101%"),
        Err(StoreError::UnknownSession { .. })
    ));
    let taken = home.store.set_title(&one, Some("Refactor auth #2"));
    assert!(matches!(taken, Err(StoreError::TitleTaken { owner, .. }) if owner == two.as_str()));
    assert_eq!(
        home.store.next_title("Refactor auth #2").unwrap(),
        "Refactor auth #3"
    );
}

#[test]
fn usage_counts_cached_tokens_apart_and_side_tasks_by_model_only() {
    let home = Home::new();
    let session = home.session("a");
    let mut usage = UsageRow {
        task: "main".into(),
        model: "m".into(),
        billing: Default::default(),
        calls: 2,
        usage: Usage {
            prompt_tokens: 2200,
            completion_tokens: 80,
            cache_read_tokens: 1300,
            ..Usage::default()
        },
        cost_usd: None,
    };
    home.store.add_usage(&session, &usage, at(1.0)).unwrap();
    usage.task = "compression".into();
    home.store.add_usage(&session, &usage, at(2.0)).unwrap();
    let row = home.store.session(&session).unwrap().unwrap();
    assert_eq!(
        (
            row.input_tokens,
            row.cache_read_tokens,
            row.output_tokens,
            row.api_call_count
        ),
        (900, 1300, 80, 2)
    );
    assert_eq!(
        (row.estimated_cost_usd, row.cost_status.as_deref()),
        (None, Some("unknown"))
    );
    let side: i64 = home
        .sql()
        .query_row(
            "SELECT input_tokens FROM session_model_usage WHERE task = 'compression'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(side, 900);
    let totals = home.store.totals(&session).unwrap();
    assert_eq!((totals.usage.prompt_tokens, totals.cost_usd), (2200, None));
}

#[test]
fn a_call_is_open_until_its_result_has_a_row() {
    let home = Home::new();
    let session = home.session("a");
    let entry = |state, result: Option<Message>| CallJournal {
        session_id: session.clone(),
        turn_id: TurnId::new("t1"),
        call_id: "call_0".into(),
        tool: "terminal".into(),
        effect: Effect::Execute,
        state,
        started_at: None,
        pid: Some(7),
        result: result.map(Arc::new),
    };
    home.say(&session, &[Message::user("go"), call("call_0", "terminal", "{}")]);
    home.store
        .journal(&entry(CallState::Intended, None), at(1.0))
        .unwrap();
    home.store
        .journal(&entry(CallState::Started, None), at(2.0))
        .unwrap();
    let open = home.store.open_calls(&session).unwrap();
    assert_eq!(
        (open.len(), open[0].state, open[0].started_at),
        (1, CallState::Started, Some(at(2.0)))
    );
    let result = Message::tool("call_0", "terminal", "out");
    home.store
        .journal(&entry(CallState::Finished, Some(result.clone())), at(3.0))
        .unwrap();
    home.store
        .journal(&entry(CallState::Started, None), at(4.0))
        .unwrap();
    let open = home.store.open_calls(&session).unwrap();
    assert_eq!(
        (open[0].state, open[0].result.as_deref()),
        (CallState::Finished, Some(&result))
    );
    home.say(&session, &[result]);
    assert!(home.store.open_calls(&session).unwrap().is_empty());
    let left: Option<String> = home
        .sql()
        .query_row("SELECT result FROM tool_journal", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, None, "the result is kept once");
}

#[test]
fn the_lease_of_a_dead_process_is_void() {
    let home = Home::new();
    let session = home.session("a");
    let (own, other) = (holder(), holder());
    assert_eq!(
        home.store
            .acquire_lease(&session, "4194399:5:00", at(0.0))
            .unwrap(),
        LeaseOutcome::Held
    );
    assert_eq!(
        home.store.acquire_lease(&session, &own, at(1.0)).unwrap(),
        LeaseOutcome::Held
    );
    assert!(matches!(
        home.store.acquire_lease(&session, &other, at(2.0)).unwrap(),
        LeaseOutcome::Busy { .. }
    ));
    home.store.release_lease(&session, &other).unwrap();
    assert!(matches!(
        home.store.acquire_lease(&session, &other, at(2.0)).unwrap(),
        LeaseOutcome::Busy { .. }
    ));
    home.store.release_lease(&session, &own).unwrap();
    assert_eq!(
        home.store.acquire_lease(&session, &other, at(3.0)).unwrap(),
        LeaseOutcome::Held
    );
}

#[test]
fn records_come_back_by_turn_in_order() {
    let home = Home::new();
    let session = home.session("a");
    let record = |turn: &str, kind: &str| TurnRecord {
        session_id: session.clone(),
        turn_id: TurnId::new(turn),
        kind: kind.into(),
        payload: json!({ "n": kind }),
    };
    home.store
        .record(&[record("t1", "begin"), record("t1", "request")], at(1.0))
        .unwrap();
    home.store.record(&[record("t2", "begin")], at(2.0)).unwrap();
    let kinds: Vec<String> = home
        .store
        .records(&session, &TurnId::new("t1"))
        .unwrap()
        .into_iter()
        .map(|row| row.record.kind)
        .collect();
    assert_eq!(kinds, ["begin", "request"]);
    assert_eq!(
        home.store.turns(&session).unwrap(),
        [TurnId::new("t1"), TurnId::new("t2")]
    );
}

#[test]
fn a_row_for_an_unknown_session_is_refused_by_name() {
    let home = Home::new();
    let nobody = SessionId::new("nobody");
    let refused = home
        .store
        .append(&nobody, &[Arc::new(Message::user("x"))], at(0.0));
    assert!(matches!(refused, Err(StoreError::UnknownSession { name }) if name == "nobody"));
}

#[test]
fn a_branch_goes_its_own_way_and_its_messages_are_shown_by_their_originals() {
    let home = Home::new();
    let trunk = home.session("trunk");
    home.store.set_title(&trunk, Some("Trunk")).unwrap();
    let ids = home.say(&trunk, &[Message::user("one"), Message::assistant("two")]);
    let mut branch = new("branch");
    branch.started_at = at(10.0);
    assert_eq!(home.store.branch(&trunk, &branch).unwrap(), 2);
    home.say(&trunk, &[Message::user("only on the trunk")]);
    let id = SessionId::new("branch");
    assert_eq!(texts(&home.store.live(&id).unwrap()), ["one", "two"]);
    let full = home.store.full(&id).unwrap();
    assert_eq!(full.iter().map(|stored| stored.id).collect::<Vec<_>>(), ids);
    let row = home.store.session(&id).unwrap().unwrap();
    assert_eq!(row.title.as_deref(), Some("Trunk #2"));
    assert_eq!(row.model_config["_branched_from"], "trunk");
    assert_eq!(home.store.tip(&trunk).unwrap(), trunk);
    assert_eq!(home.store.lineage(&id).unwrap(), [id]);
}

#[test]
fn an_undone_turn_is_not_sent_any_more() {
    let home = Home::new();
    let session = home.session("a");
    home.say(
        &session,
        &[
            Message::user("keep"),
            Message::assistant("kept"),
            Message::user("gone"),
            Message::assistant("x"),
        ],
    );
    assert_eq!(home.store.rewind(&session, 1).unwrap(), 2);
    assert_eq!(texts(&home.store.live(&session).unwrap()), ["keep", "kept"]);
    assert_eq!(home.store.all(&session).unwrap().len(), 4);
    assert_eq!(home.store.session(&session).unwrap().unwrap().message_count, 2);
    assert_eq!(home.store.rewind(&session, 9).unwrap(), 2);
}

#[test]
fn the_laws_of_every_store_hold() {
    let home = Home::new();
    talaria_store::conformance::all(&home.store).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = talaria_store::SqliteStore::open_in_memory(folder.path()).unwrap();
    talaria_store::conformance::all(&store).unwrap();
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.db");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let (path, folder) = (&path, &folder);
            scope.spawn(move || {
                // Each opens the file itself, the first ones before it exists.
                let store = talaria_store::SqliteStore::open(path, folder.path()).unwrap();
                let session = new(&format!("writer{writer}"));
                store.create_session(&session).unwrap();
                for index in 0..20 {
                    let message = Arc::new(Message::user(format!("w{writer} message {index}")));
                    store
                        .append(&session.id, &[message], at(f64::from(index)))
                        .unwrap();
                }
            });
        }
    });
    assert!(talaria_store::care::check(&path).unwrap().sound);
    let store = talaria_store::SqliteStore::open(&path, folder.path()).unwrap();
    for writer in 0..4 {
        assert_eq!(
            store
                .live(&SessionId::new(format!("writer{writer}")))
                .unwrap()
                .len(),
            20
        );
    }
    let query = talaria_store::SearchQuery {
        text: "message".into(),
        limit: 1,
        ..Default::default()
    };
    assert_eq!(store.search(&query).unwrap().total, 80);
}

#[test]
fn a_picture_goes_with_the_last_session_that_shows_it() {
    let home = Home::new();
    let image = talaria_store::store_image(home.store.images(), b"pixels", "image/png").unwrap();
    let path = talaria_store::image_path(home.store.images(), &image).unwrap();
    let message = Message::user(Content::Parts(vec![
        Part::Text { text: "look".into() },
        Part::Image(image),
    ]));
    let one = home.session("one");
    home.say(&one, std::slice::from_ref(&message));
    home.store.branch(&one, &new("two")).unwrap();
    let column: String = home
        .sql()
        .query_row("SELECT content FROM messages LIMIT 1", [], |row| row.get(0))
        .unwrap();
    assert!(
        column.contains("[image: images/") && !column.contains("cGl4ZWxz"),
        "{column}"
    );
    home.store.delete(&one).unwrap();
    assert!(path.exists());
    let two = SessionId::new("two");
    assert_eq!(*home.store.live(&two).unwrap()[0].message, message);
    home.store.delete(&two).unwrap();
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_comes_back_as_it_was(
        said in proptest::collection::vec("\\PC{0,40}|[\0json:\\[\\]{}\"\u{4e00}-\u{4e10}]{0,12}|\0json:\\[\\]", 1..6),
        arguments in "\\PC{0,30}",
    ) {
        thread_local! {
            static HOME: Home = Home::new();
        }
        HOME.with(|home| {
            let session = home.session(&format!("s{}", home.store.stats().unwrap().sessions));
            let mut messages: Vec<Message> = said.iter().map(|text| Message::user(text.as_str())).collect();
            messages.push(call("c", "tool", &arguments));
            messages.push(Message::tool("c", "tool", said[0].as_str()));
            home.say(&session, &messages);
            let back: Vec<Message> =
                home.store.live(&session).unwrap().iter().map(|stored| (*stored.message).clone()).collect();
            prop_assert_eq!(back, messages);
            Ok(())
        })?;
    }
}

#[test]
fn a_session_in_which_a_turn_runs_is_not_erased() {
    let home = Home::new();
    let session = home.session("a");
    home.say(&session, &[Message::user("hello")]);
    let own = holder();
    home.store.acquire_lease(&session, &own, at(0.0)).unwrap();
    let refused = home.store.delete(&session);
    assert!(
        matches!(&refused, Err(StoreError::SessionBusy { holder }) if holder.starts_with("process ")),
        "{refused:?}"
    );
    home.store.end_session(&session, "done", at(1.0)).unwrap();
    assert_eq!(home.store.prune(at(1e12), None).unwrap(), 0);
    home.store.release_lease(&session, &own).unwrap();
    home.store.delete(&session).unwrap();
    let late = home
        .store
        .append(&session, &[Arc::new(Message::user("late"))], at(2.0));
    assert!(matches!(late, Err(StoreError::UnknownSession { .. })), "{late:?}");
}

#[test]
fn the_address_that_is_billed_holds_no_credentials() {
    let home = Home::new();
    let mut new = new("a");
    let url = "http://bob:hunter2@host:80/v1?api-key=K1234";
    new.billing = ("p".to_owned(), url.to_owned(), String::new());
    home.store.create_session(&new).unwrap();
    let usage = UsageRow {
        model: "m".to_owned(),
        billing: ("p".to_owned(), url.to_owned(), String::new()),
        task: String::new(),
        usage: Usage::default(),
        calls: 1,
        cost_usd: None,
    };
    home.store.add_usage(&new.id, &usage, at(0.0)).unwrap();
    for table in ["sessions", "session_model_usage"] {
        let kept: String = home
            .sql()
            .query_row(&format!("SELECT billing_base_url FROM {table}"), [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(kept, "http://host:80/v1", "{table}");
    }
}
