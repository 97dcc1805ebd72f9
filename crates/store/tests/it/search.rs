//! Search.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;
use talaria_store::{SearchQuery, SearchResults, SessionStore};
use talaria_types::{Message, SessionId};

use crate::common::{Home, call, new};

fn find(home: &Home, text: &str) -> SearchResults {
    home.store
        .search(&SearchQuery {
            text: text.into(),
            limit: 20,
            ..SearchQuery::default()
        })
        .unwrap()
}

/// The sessions that are found, by the names the tests give them.
fn sessions(home: &Home, text: &str) -> BTreeSet<String> {
    find(home, text)
        .hits
        .into_iter()
        .map(|hit| hit.session_id.to_string())
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn words_that_no_message_has_together_find_those_that_have_some_and_say_so() {
    let home = Home::new();
    let session = home.session("one");
    let said = [
        "the maple packer was slow",
        "a maple stands there",
        "nothing here",
    ];
    home.say(&session, &said.map(Message::user));
    let found = find(&home, "maple packer measured");
    assert_eq!(found.total, 2);
    assert!(found.hits[0].snippet.contains("packer"), "{found:?}");
    assert!(found.note.unwrap().contains("some of them"));
    for meant in [
        "maple AND measured",
        "\"maple measured\"",
        "measured",
        "maple NOT maple",
    ] {
        assert_eq!(find(&home, meant).total, 0, "{meant}");
    }
}

#[test]
fn hyphens_colons_operators_and_quotes_are_search_text() {
    let home = Home::new();
    for (id, text) in [
        ("a1", "chat-send failed today"),
        ("a2", "send the chat later"),
        ("a3", "docker networking notes"),
        ("a4", "networking of a docker host"),
        ("a5", "TODO: fix the parser"),
        ("a6", "I don't know C++ well"),
        ("a7", "see src/main.rs and my-app.config.ts and snake_case_name"),
    ] {
        let session = home.session(id);
        home.say(&session, &[Message::user(text), Message::assistant("ok")]);
    }
    for (query, want) in [
        ("chat-send", &["a1"][..]),
        ("wrong-book OR docker", &["a3", "a4"]),
        ("\"docker networking\"", &["a3"]),
        ("docker networking", &["a3", "a4"]),
        ("TODO: fix", &["a5"]),
        ("don't", &["a6"]),
        ("C++", &["a6"]),
        ("src/main.rs", &["a7"]),
        ("my-app.config.ts", &["a7"]),
        ("snake_case_name", &["a7"]),
        ("docker NOT host", &["a3"]),
        ("dock*", &["a3", "a4"]),
        ("(chat OR docker) NOT (send OR host)", &["a3"]),
        ("^docker", &["a3"]),
        ("NEAR(networking host, 3)", &["a4"]),
    ] {
        assert_eq!(sessions(&home, query), set(want), "{query}");
    }
}

#[test]
fn chinese_japanese_and_korean_words_of_any_length_are_found() {
    let home = Home::new();
    for (id, text) in [
        ("b0", "我们去广西桂林旅行"),
        ("b1", "广西的天气很好"),
        ("b2", "記憶断裂の問題を直す"),
        ("b3", "한국어 검색 시험"),
        ("b4", "agent 通信 协议"),
        ("b5", "使用docker部署服务"),
    ] {
        let session = home.session(id);
        home.say(&session, &[Message::user(text), Message::assistant("好")]);
    }
    for (query, want) in [
        ("广西", &["b0", "b1"][..]),
        ("广西桂林", &["b0"]),
        ("断裂", &["b2"]),
        ("검색", &["b3"]),
        ("通信", &["b4"]),
        ("桂", &["b0"]),
        ("林", &["b0"]),
        ("行", &["b0"]),
        ("广西 NOT 桂林", &["b1"]),
        ("广西 桂林", &["b0"]),
        ("agent 通信", &["b4"]),
        ("agent NOT 通信", &[]),
        ("通信 OR 断裂", &["b2", "b4"]),
        ("docker", &["b5"]),
        ("docker部署", &["b5"]),
        ("部署 docker NOT agent", &["b5"]),
        ("西广", &[]),
    ] {
        assert_eq!(sessions(&home, query), set(want), "{query}");
    }
    let hit = &find(&home, "桂林").hits[0];
    assert!(hit.snippet.contains("广西桂林"), "{}", hit.snippet);
}

#[test]
fn tool_names_arguments_and_structured_content_are_found() {
    let home = Home::new();
    let session = home.session("s");
    home.say(
        &session,
        &[
            call("c1", "patch", r#"{"path":"zebracrossing.py"}"#),
            Message::tool("c1", "patch", "{}"),
        ],
    );
    // As Hermes writes it: a NUL, a prefix, and everything outside of ASCII escaped.
    let content = format!(
        "\0json:{}",
        r#"[{"type":"text","text":"caption walrusword \u6842\u6797"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJDREVG"}}]"#
    );
    let calls =
        json!([{ "id": "c2", "function": { "name": "t", "arguments": "{\"q\": \"\\u5317\\u4eac\"}" } }])
            .to_string();
    let sql = home.sql();
    for (content, calls) in [
        (content.as_str(), None),
        ("\0json:{broken walnut", None),
        ("", Some(calls.as_str())),
    ] {
        sql.execute(
            "INSERT INTO messages (session_id, role, content, tool_calls, timestamp) VALUES ('s', 'user', ?1, ?2, 1.0)",
            rusqlite::params![content, calls],
        )
        .unwrap();
    }
    for query in [
        "zebracrossing.py",
        "walrusword",
        "walnut",
        "桂林",
        "北京",
        "patch",
    ] {
        assert_eq!(sessions(&home, query), set(&["s"]), "{query}");
    }
    assert!(find(&home, "walrusword").hits[0].snippet.contains("walrusword"));
    home.say(&session, &[Message::user("多字节字符")]);
    let trigrams: i64 = sql
        .query_row("SELECT count(*) FROM messages_fts_trigram_docsize", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(
        trigrams, 1,
        "only rows with characters outside of ASCII are in the second index"
    );
}

#[test]
fn rewound_rows_are_hidden_and_archived_ones_are_found() {
    let home = Home::new();
    let session = home.session("s");
    home.say(
        &session,
        &[
            Message::user("archivedword kept"),
            Message::user("rewoundword gone 消失内容"),
        ],
    );
    let sql = home.sql();
    sql.execute(
        "UPDATE messages SET active = 0, compacted = 1 WHERE content LIKE 'archived%'",
        [],
    )
    .unwrap();
    home.store.rewind(&session, 1).unwrap();
    assert_eq!(sessions(&home, "archivedword"), set(&["s"]));
    assert!(sessions(&home, "rewoundword").is_empty());
    assert!(sessions(&home, "消失").is_empty());
}

#[test]
fn cron_sessions_do_not_drown_the_persons_own() {
    let home = Home::new();
    for index in 0..50 {
        let mut cron = new(&format!("cron_ab12cd34ef56_20260201_{index:06}"));
        cron.source = "cron".into();
        home.store.create_session(&cron).unwrap();
        home.say(
            &cron.id,
            &[
                Message::user("deploy job deploy deploy"),
                Message::assistant("deploy done"),
            ],
        );
    }
    let own = home.session("20260101_090000_dddddd");
    home.say(
        &own,
        &[Message::user("deploy rollback decision: keep two versions")],
    );
    let hits = find(&home, "deploy").hits;
    assert_eq!(hits[0].session_id, own);
    let query = SearchQuery {
        text: "deploy".into(),
        limit: 5,
        source: Some("cron".into()),
        ..SearchQuery::default()
    };
    let found = home.store.search(&query).unwrap();
    assert_eq!((found.hits.len(), found.total), (5, 100));
    assert!(found.hits.iter().all(|hit| hit.source == "cron"));
    let query = SearchQuery {
        text: "deploy".into(),
        limit: 5,
        role: Some("assistant".into()),
        ..SearchQuery::default()
    };
    assert_eq!(home.store.search(&query).unwrap().total, 50);
}

#[test]
fn a_copy_is_not_a_second_hit() {
    let home = Home::new();
    let trunk = home.session("trunk");
    let ids = home.say(&trunk, &[Message::user("uniqueword here 独特词语")]);
    home.store.branch(&trunk, &new("branch")).unwrap();
    for query in ["uniqueword", "独特"] {
        let found = find(&home, query);
        assert_eq!(
            (found.total, found.hits.len(), found.hits[0].message_id),
            (1, 1, ids[0]),
            "{query}"
        );
    }
}

#[test]
fn pages_follow_each_other_without_gap_or_repeat() {
    let home = Home::new();
    let session = home.session("s");
    let messages: Vec<Message> = (0..25)
        .map(|index| Message::user(format!("pageword number {index}")))
        .collect();
    home.say(&session, &messages);
    let mut seen = BTreeSet::new();
    for offset in [0, 10, 20, 30] {
        let query = SearchQuery {
            text: "pageword".into(),
            limit: 10,
            offset,
            ..SearchQuery::default()
        };
        let found = home.store.search(&query).unwrap();
        assert_eq!(found.total, 25);
        for hit in found.hits {
            assert!(seen.insert(hit.message_id));
        }
    }
    assert_eq!(seen.len(), 25);
}

#[test]
fn words_are_found_within_the_sessions_that_are_named() {
    let home = Home::new();
    for id in ["one", "two"] {
        let session = home.session(id);
        home.say(&session, &[Message::user("sharedword")]);
    }
    let query = SearchQuery {
        text: "sharedword".into(),
        limit: 9,
        ..SearchQuery::default()
    };
    let found = home
        .store
        .search_within(&query, &[SessionId::new("two")])
        .unwrap();
    assert_eq!((found.total, found.hits[0].session_id.as_str()), (1, "two"));
}

#[test]
fn a_key_in_a_message_is_masked_in_the_hit() {
    let home = Home::new();
    let session = home.session("s");
    let key = "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH";
    home.say(
        &session,
        &[Message::user(format!("my key is {key} please keepword"))],
    );
    for hit in find(&home, "keepword").hits {
        assert!(
            !hit.snippet.contains("Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH"),
            "{}",
            hit.snippet
        );
    }
    assert!(
        !home.store.list(&Default::default()).unwrap()[0]
            .preview
            .contains("Zq8vN2mL5xK9wR3tY7uP1")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_query_is_an_error(text in "[a-c\"*()^:+\\-{}.,' \u{4e00}-\u{4e05}ANDORT]{0,24}|\\PC{0,40}") {
        thread_local! {
            static HOME: Home = {
                let home = Home::new();
                let session = home.session("s");
                home.say(&session, &[Message::user("a b c 一丁 七 abc AND OR NOT")]);
                home
            };
        }
        HOME.with(|home| {
            let query = SearchQuery { text: text.clone(), limit: 5, ..SearchQuery::default() };
            prop_assert!(home.store.search(&query).is_ok(), "{:?}", home.store.search(&query));
            Ok(())
        })?;
    }

    #[test]
    fn every_word_of_a_message_finds_it(text in "[\\PC ]{1,60}") {
        thread_local! {
            static HOME: Home = { let home = Home::new(); home.session("s"); home };
        }
        HOME.with(|home| {
            let id = home.say(&SessionId::new("s"), &[Message::user(text.clone())])[0];
            for word in text.split_whitespace() {
                let quoted = format!("\"{}\"", word.replace('"', " "));
                let query = SearchQuery { text: quoted, limit: 5000, ..SearchQuery::default() };
                let found = home.store.search(&query).unwrap();
                let looked_for = word.chars().any(char::is_alphanumeric) && word.is_ascii();
                if looked_for {
                    prop_assert!(found.hits.iter().any(|hit| hit.message_id == id), "{word:?} in {text:?}");
                }
            }
            Ok(())
        })?;
    }
}
