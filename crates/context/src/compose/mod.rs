//! Makes a stored conversation sendable.
//!
//! Why: what is stored is what happened (a killed process, arguments cut in the
//! middle, two prompts in a row), and strict servers refuse most of that for
//! ever. The repairs are made on a wire copy; nothing stored changes.
//!
//! A conversation is read once, from its beginning, one row after the other:
//!
//! ```text
//! row ─► user       closes the round, joins the user row before it
//!     ─► assistant  closes the round, joins the assistant row before it, drops
//!     │             out when it says nothing, opens a round with its calls
//!     ─► tool       takes its place in the open round, or drops out
//! end ─► the round closes: results in the order of the calls, notes for lost ones
//! ```
//!
//! Because a row is only ever repaired by what stands before it (and a call by
//! its own results), the bytes of what was sent never change when more is said.
//! [`Composer`] keeps where it stopped, so that the next request of the same
//! conversation only costs its new rows.
//!
//! Not here: provider dialects, cache marks, images, reasoning fields (adapters
//! of the provider crate), and the tool schemas.

mod arguments;
mod names;
mod roles;
mod rounds;
mod validate;

use std::sync::Arc;

use talaria_types::{Message, Role};

pub use arguments::{Damage, Repaired, repair_arguments};
pub use rounds::RESULT_LOST;
pub use validate::{Finding, Rule, validate};

use rounds::Rows;

/// What stands in for a user row that says nothing.
const EMPTY_USER: &str = "(empty message)";
/// The first row when the conversation begins with the assistant.
const OPENING: &str = "(The beginning of this conversation is not shown.)";
/// The last row when the conversation ends with the assistant.
const CONTINUE: &str = "Continue.";

/// Repairs a conversation for the wire without touching what it is stored as.
///
/// The result is valid for every protocol: calls and results paired, roles in
/// order, arguments JSON objects, no empty assistant messages, Unicode only.
/// A message that needs no repair is the same `Arc` (so that adapters can reuse
/// the bytes they made of it); what a repair makes of a message depends only on
/// the messages before it and its own results, so the bytes of earlier messages
/// never change when later ones are added.
pub fn compose(history: &[Arc<Message>]) -> Vec<Arc<Message>> {
    Composer::default().compose(history)
}

/// [`compose`] for a conversation that grows: remembers what it has read.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    read: Vec<Arc<Message>>,
    rows: Rows,
}

impl Composer {
    /// Composes `history`. Rows that were composed before (the same `Arc`s from
    /// the beginning on) are not looked at again, and their repaired copies are
    /// the same `Arc`s too.
    pub fn compose(&mut self, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let mut sent = self.compose_prefilled(history);
        if sent.last().is_some_and(|last| last.role == Role::Assistant) {
            sent.push(Arc::new(Message::user(CONTINUE)));
        }
        sent
    }

    /// The same for a model that goes on from an assistant message in the last place.
    pub fn compose_prefilled(&mut self, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let known = self.read.len();
        let grows = known <= history.len()
            && self
                .read
                .iter()
                .zip(history)
                .all(|(old, new)| Arc::ptr_eq(old, new));
        let fresh = if grows { &history[known..] } else { history };
        if !grows {
            *self = Self::default();
        }
        for message in fresh {
            self.rows.push(message);
            self.read.push(Arc::clone(message));
        }
        self.rows.closed()
    }
}

#[cfg(test)]
mod tests;
