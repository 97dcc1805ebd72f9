//! Makes a stored conversation sendable.

use std::sync::Arc;

use talaria_types::Message;

/// Repairs a conversation for the wire without touching what it is stored as.
///
/// The result is valid for every protocol: calls and results paired, roles in
/// order, arguments JSON objects, no empty assistant messages, Unicode only.
/// A message that needs no repair is the same `Arc` (so that adapters can reuse
/// the bytes they made of it); what a repair makes of a message depends only on
/// the messages before it and its own results, so the bytes of earlier messages
/// never change when later ones are added.
pub fn compose(_history: &[Arc<Message>]) -> Vec<Arc<Message>> {
    unimplemented!()
}
