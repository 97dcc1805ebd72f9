//! The rows of a conversation while it is compressed.

use std::sync::Arc;

use talaria_types::{Content, Message, MessageId, Part, Role, StoredMessage};

use super::handoff::{self, Handoff};
use crate::tokens::Counter;

/// One row: what it was, and what is left of it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Where it stands in the history that was given.
    pub(super) index: usize,
    /// The original's id, which summaries cite.
    pub(super) origin: MessageId,
    /// As it was.
    pub(super) original: Arc<Message>,
    /// As it is now: the same until something shortens it.
    pub(super) message: Arc<Message>,
    /// Its size now, before calibration.
    pub(super) tokens: u64,
    /// Its size before anything was shortened.
    pub(super) original_tokens: u64,
}

impl Row {
    pub(super) fn role(&self) -> Role {
        self.message.role
    }

    pub(super) fn is_plain_user(&self) -> bool {
        self.role() == Role::User
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.message.tool_calls.is_empty()
    }

    /// Whether it differs from the stored row.
    pub(super) fn is_changed(&self) -> bool {
        !Arc::ptr_eq(&self.original, &self.message)
    }

    /// Puts a shorter message in its place.
    ///
    /// What was signed or remembered about the old words does not hold for the new.
    pub(super) fn replace(&mut self, mut message: Message) {
        message.sent_as = None;
        message.reasoning.details = None;
        message.reasoning.response_items = None;
        message.reasoning.message_items = None;
        self.tokens = Counter::quick_message(&message);
        self.message = Arc::new(message);
    }
}

/// A conversation as rows, its summaries taken out.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    pub(super) rows: Vec<Row>,
    /// The bodies of summaries found among the rows, oldest first.
    pub(super) previous: Vec<Handoff>,
    /// Before which row the newest summary stood.
    pub(super) summary_at: Option<usize>,
}

impl Conversation {
    /// Reads the history. System rows are left out: the prompt travels beside it.
    pub(super) fn read(history: &[StoredMessage]) -> Self {
        let mut read = Self::default();
        for (index, stored) in history.iter().enumerate() {
            if stored.message.role == Role::System {
                continue;
            }
            match handoff::take(&stored.message) {
                None => read.push(index, stored, Arc::clone(&stored.message)),
                Some((handoff, rest)) => {
                    read.previous.push(handoff);
                    read.summary_at = Some(read.rows.len());
                    // A row that also says something of its own goes on without the summary.
                    if let Some(rest) = rest {
                        read.push(index, stored, Arc::new(rest));
                    }
                }
            }
        }
        read
    }

    /// Reads the history with its summaries left in their rows, for a pass that
    /// writes none.
    pub(super) fn whole(history: &[StoredMessage]) -> Self {
        let mut read = Self::default();
        for (index, stored) in history
            .iter()
            .enumerate()
            .filter(|(_, row)| row.message.role != Role::System)
        {
            read.push(index, stored, Arc::clone(&stored.message));
        }
        read
    }

    /// Tokens of everything that was read, before calibration.
    pub(super) fn tokens(&self) -> u64 {
        let summaries: u64 = self.previous.iter().map(|handoff| handoff.tokens).sum();
        summaries + self.rows.iter().map(|row| row.original_tokens).sum::<u64>()
    }

    /// Whether anything was said that can be sent.
    pub(super) fn says_something(&self) -> bool {
        let speaks =
            |row: &Row| row.role() != Role::Tool && (!row.message.content.is_blank() || row.has_calls());
        self.rows.iter().any(speaks)
    }

    fn push(&mut self, index: usize, stored: &StoredMessage, message: Arc<Message>) {
        let tokens = Counter::quick_message(&message);
        self.rows.push(Row {
            index,
            origin: stored.origin,
            tokens,
            original_tokens: tokens,
            original: Arc::clone(&stored.message),
            message,
        });
    }
}

/// All text of a content, without a copy where it is one text.
pub(super) fn text_of(content: &Content) -> std::borrow::Cow<'_, str> {
    match content {
        Content::Text(text) => text.as_str().into(),
        Content::Parts(parts) => {
            let said: Vec<&str> = parts
                .iter()
                .map(|part| match part {
                    Part::Text { text } => text.as_str(),
                    Part::Image(_) => "[image]",
                })
                .collect();
            said.join("\n").into()
        }
    }
}
