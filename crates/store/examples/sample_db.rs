//! Writes a database with all that another program must be able to read: a lineage with a
//! rotation and one in place, a branch, an undo, tool calls, a picture, Chinese.
//!
//! `cargo run --example sample_db -p talaria-store -- state.db`, then
//! `python crates/store/tests/hermes/check.py state.db` with Hermes installed.

#![allow(
    clippy::unwrap_used,
    reason = "a program for a terminal that may stop at any failure"
)]

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use talaria_store::{
    Compacted, CompactionFacts, NewSession, Origin, Rotation, SessionStore, SqliteStore, store_image,
};
use talaria_types::{Anchors, Content, Message, Part, SessionId, Timestamp, ToolCall, Trigger, Usage};

fn main() {
    let path = PathBuf::from(std::env::args().nth(1).unwrap());
    let images = path.with_file_name("images");
    let store = SqliteStore::open(&path, &images).unwrap();
    let old = new("20260101_090000_aaaaaa");
    store.create_session(&old).unwrap();
    store.set_title(&old.id, Some("Shared work")).unwrap();
    let mut call = Message::assistant("let me look");
    call.tool_calls.push(ToolCall {
        id: "call_1".into(),
        name: "terminal".into(),
        arguments: r#"{"command":"echo 桂林山水"}"#.into(),
        extra: serde_json::Map::new(),
    });
    let picture = store_image(&images, b"not really a picture", "image/png").unwrap();
    let picture = vec![
        Part::Text {
            text: "caption WALRUS 图片说明".into(),
        },
        Part::Image(picture),
    ];
    say(
        &store,
        &old.id,
        vec![
            Message::user("the word is PELICANQ"),
            call,
            Message::tool("call_1", "terminal", "输出 数据库完成"),
            Message::assistant("seen"),
            Message::user(Content::Parts(picture)),
            Message::assistant("a picture"),
        ],
    );
    compress(&store, &old.id, Some("20260101_100000_bbbbbb"), 10.0);
    let tip = SessionId::new("20260101_100000_bbbbbb");
    say(
        &store,
        &tip,
        vec![Message::user("and then"), Message::assistant("final answer")],
    );
    store.branch(&tip, &new("20260101_110000_cccccc")).unwrap();
    compress(&store, &SessionId::new("20260101_110000_cccccc"), None, 20.0);
    store
        .uncompress(&old.id, 1, &new("20260101_120000_dddddd"))
        .unwrap();
}

fn new(id: &str) -> NewSession {
    NewSession {
        id: SessionId::new(id),
        source: "cli".into(),
        parent: None,
        model: "mock-model".into(),
        model_config: json!({ "max_iterations": 90 }),
        system_prompt: "You are an agent.".into(),
        cwd: None,
        title: None,
        started_at: Timestamp(1_767_258_000.0),
        billing: Default::default(),
    }
}

fn say(store: &SqliteStore, session: &SessionId, messages: Vec<Message>) {
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    store
        .append(session, &messages, Timestamp(1_767_258_001.0))
        .unwrap();
}

fn compress(store: &SqliteStore, session: &SessionId, child: Option<&str>, seconds: f64) {
    let live = store.live(session).unwrap();
    let last = &live[live.len() - 1];
    let summary = Arc::new(Message::user("[CONTEXT COMPACTION — REFERENCE ONLY] SUMWORD"));
    store
        .rotate(&Rotation {
            session: session.clone(),
            pending: Vec::new(),
            child: child.map(SessionId::new),
            system_prompt: "You are an agent.".into(),
            messages: vec![
                Compacted {
                    message: summary,
                    origin: Origin::New,
                },
                Compacted {
                    message: last.message.clone(),
                    origin: Origin::Row(last.id),
                },
            ],
            summary_at: Some(0),
            facts: CompactionFacts {
                trigger: Trigger::Command,
                summary: "SUMWORD".into(),
                anchor_index: json!([]),
                anchors: Anchors::default(),
                tokens_before: 100,
                tokens_after: 10,
                usage: Usage::default(),
                cost_usd: None,
                model: None,
                duration_ms: 1,
            },
            at: Timestamp(1_767_258_000.0 + seconds),
        })
        .unwrap();
}
