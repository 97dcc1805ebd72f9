//! The rows and the messages they are for, as data for the generated document.

use serde::Serialize;
use talaria_types::ErrorKind;

/// What the generated document says about one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowDoc {
    /// The row's name, as `recoveries` and events show it.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// How often it may fire.
    pub limit: String,
    /// The kinds it looks at.
    pub kinds: Vec<ErrorKind>,
    /// Real messages that lead to it.
    pub samples: Vec<&'static str>,
}

/// What the generated document says about one known message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// What it means.
    pub kind: ErrorKind,
    /// The words it is recognised by; `…` stands for anything between.
    pub text: &'static str,
    /// Who says so.
    pub provider: &'static str,
    /// A real message.
    pub sample: &'static str,
}

/// Every row of both chains, in the order they are asked.
pub fn table() -> Vec<RowDoc> {
    Vec::new()
}

/// Every message that is known by its words.
pub fn messages() -> Vec<Message> {
    Vec::new()
}
