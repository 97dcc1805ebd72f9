//! A store in a folder that goes away, and words for what is in it.

use std::sync::Arc;

use serde_json::json;
use talaria_store::{NewSession, SessionStore, SqliteStore};
use talaria_types::{Message, MessageId, SessionId, StoredMessage, Timestamp, ToolCall};

/// A store in a folder of its own.
pub(crate) struct Home {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: SqliteStore,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store =
            SqliteStore::open(&folder.path().join("state.db"), &folder.path().join("images")).unwrap();
        Self { folder, store }
    }

    /// A home whose database is a copy of a sample file.
    pub(crate) fn of_sample(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name);
        std::fs::copy(sample, folder.path().join("state.db")).unwrap();
        let store =
            SqliteStore::open(&folder.path().join("state.db"), &folder.path().join("images")).unwrap();
        Self { folder, store }
    }

    /// Closes the store and opens it again.
    pub(crate) fn reopen(self) -> Self {
        let Self { folder, store } = self;
        drop(store);
        let store =
            SqliteStore::open(&folder.path().join("state.db"), &folder.path().join("images")).unwrap();
        Self { folder, store }
    }

    /// A connection that is not the store's.
    pub(crate) fn sql(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.folder.path().join("state.db")).unwrap()
    }

    /// A fresh session.
    pub(crate) fn session(&self, id: &str) -> SessionId {
        self.store.create_session(&new(id)).unwrap();
        SessionId::new(id)
    }

    /// Appends and gives the ids.
    pub(crate) fn say(&self, session: &SessionId, messages: &[Message]) -> Vec<MessageId> {
        let messages: Vec<Arc<Message>> = messages.iter().cloned().map(Arc::new).collect();
        self.store.append(session, &messages, at(0.0)).unwrap()
    }
}

pub(crate) fn new(id: &str) -> NewSession {
    NewSession {
        id: SessionId::new(id),
        source: "cli".into(),
        parent: None,
        model: "mock-model".into(),
        model_config: json!({ "max_iterations": 90 }),
        system_prompt: "You are Talaria.".into(),
        cwd: Some("/work".into()),
        title: None,
        started_at: at(0.0),
        billing: ("custom".into(), "http://127.0.0.1/v1".into(), String::new()),
    }
}

pub(crate) fn at(seconds: f64) -> Timestamp {
    Timestamp(1_767_258_000.0 + seconds)
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Message {
    let mut message = Message::assistant("");
    message.tool_calls = vec![ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
        extra: Default::default(),
    }];
    message.finish_reason = Some("tool_calls".into());
    message
}

pub(crate) fn texts(messages: &[StoredMessage]) -> Vec<String> {
    messages
        .iter()
        .map(|stored| stored.message.content.text().into_owned())
        .collect()
}
