//! Child processes: how they start, what is kept of them, and how they end.
//!
//! Commands run in a shell of their own, in a process group of their own. A
//! foreground command is run to its end; a background process is
//! kept in the session's [`ProcessTable`] and asked about by its id. All of
//! them end with the session, and with the program however it ends.
//!
//! This module knows nothing of consent: whoever starts a command has asked
//! [`crate::approval`] before.

mod capture;
mod clean;
mod environment;
mod foreground;
mod group;
mod job;
mod launch;
mod memory;
mod notice;
mod spawn;
mod table;
mod watchdog;

#[cfg(test)]
mod tests;

pub(crate) use capture::{Capture, SHOWN, last_chars};
pub(crate) use clean::strip_escapes;
pub use environment::outer_variables;
pub(crate) use environment::{Variables, filtered, find_program};
pub(crate) use foreground::{End, Finished, Running, thread};
pub(crate) use group::Tree;
pub(crate) use job::{Job, JobOptions, Status};
pub(crate) use launch::unusable;
pub(crate) use memory::quote;
pub(crate) use spawn::{Started, Wiring, start};
pub use table::ProcessTable;
pub(crate) use watchdog::Watched;
