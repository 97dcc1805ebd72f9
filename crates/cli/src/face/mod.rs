//! Shows a session to a person or a program: one turn, or a conversation.

mod departure;
mod interactive;
mod keyboard;
mod markdown;
mod one_turn;
mod opening;
mod preview;
mod questions;
mod signals;
mod trust;
mod turn;
mod view;

use talaria_runtime::Engine;
use talaria_types::SessionId;

pub(crate) use interactive::converse;
pub(crate) use one_turn::one_turn;
pub(crate) use opening::engine_for_commands;

/// Whether a session can be gone on with later.
fn is_stored(engine: &Engine, id: &SessionId) -> bool {
    engine.store().session(id).is_ok_and(|row| row.is_some())
}

/// One prompt and how its turn is shown.
pub(crate) struct Asked {
    /// What the person says.
    pub(crate) prompt: String,
    /// How much is shown.
    pub(crate) manner: Manner,
}

/// How much is shown beside the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Warnings and errors.
    Quiet,
    /// Progress and the session's id too.
    Chat,
}
