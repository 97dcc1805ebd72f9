//! Shows a session to a person or a program: one turn, or a conversation.

mod departure;
mod interactive;
mod keyboard;
mod markdown;
mod one_turn;
mod opening;
mod questions;
mod signals;
mod turn;
mod view;

pub(crate) use interactive::converse;
pub(crate) use one_turn::one_turn;
pub(crate) use opening::engine_for_commands;

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
