//! The conversation as the running turn sees it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use talaria_types::{Message, MessageId};

/// One message of the running turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The words.
    pub message: Arc<Message>,
    /// What it is to the store.
    pub kind: Kind,
}

/// What a message is to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A row that is stored.
    Row(MessageId),
    /// A row that is not stored yet; the next step depends on it.
    Unsaved,
    /// Sent in this turn and never a row: cut pieces, nudges, prefills.
    Scaffold,
}

/// The stored conversation and what the running turn added to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Talk {
    entries: Vec<Entry>,
}

impl Talk {
    /// A conversation of stored rows.
    pub fn stored(rows: impl IntoIterator<Item = (MessageId, Arc<Message>)>) -> Self {
        let entries = rows
            .into_iter()
            .map(|(id, message)| Entry {
                message,
                kind: Kind::Row(id),
            })
            .collect();
        Self { entries }
    }

    /// Every message, scaffolding included, oldest first: what a request is composed of.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        self.entries.iter().map(|entry| entry.message.clone()).collect()
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds a message that becomes a row before anything depends on it.
    pub(crate) fn say(&mut self, message: Message) {
        self.push(message, Kind::Unsaved);
    }

    /// Adds a message that is a row already.
    pub(crate) fn add_row(&mut self, id: MessageId, message: Arc<Message>) {
        self.entries.push(Entry {
            message,
            kind: Kind::Row(id),
        });
    }

    /// Adds a message that is only sent.
    pub(crate) fn prop(&mut self, message: Message) {
        self.push(message, Kind::Scaffold);
    }

    /// Takes all scaffolding down.
    pub(crate) fn strike(&mut self) {
        self.entries.retain(|entry| entry.kind != Kind::Scaffold);
    }

    /// The messages that must be rows before the next step, oldest first.
    pub(crate) fn unsaved(&self) -> Vec<Arc<Message>> {
        self.entries
            .iter()
            .filter(|entry| entry.kind == Kind::Unsaved)
            .map(|entry| entry.message.clone())
            .collect()
    }

    /// The unsaved messages are rows now, under these ids, in order.
    pub(crate) fn saved(&mut self, ids: &[MessageId]) {
        let unsaved = self
            .entries
            .iter_mut()
            .filter(|entry| entry.kind == Kind::Unsaved);
        for (entry, id) in unsaved.zip(ids) {
            entry.kind = Kind::Row(*id);
        }
    }

    /// The last message that is no scaffolding.
    pub(crate) fn last_row(&self) -> Option<&Arc<Message>> {
        self.entries
            .iter()
            .rev()
            .find(|entry| entry.kind != Kind::Scaffold)
            .map(|entry| &entry.message)
    }

    fn push(&mut self, message: Message, kind: Kind) {
        self.entries.push(Entry {
            message: Arc::new(message),
            kind,
        });
    }
}
