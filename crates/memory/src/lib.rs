//! The curated memory: two small files that stand in every system prompt.
//!
//! `MEMORY.md` holds the agent's notes, `USER.md` what it knows about the
//! person. Both are byte-compatible with Hermes: the same separator, limits and
//! header, the same lock file. A write takes the lock, reads the file again,
//! changes entries, and puts the new file in place in one step, so writers of
//! many processes lose nothing. Every write leaves a record, so that it can be
//! told where an entry came from, and each can be taken back.
//!
//! Beside them there may be one provider of memory: [`providers`].
//!
//! Not here: the tool (the engine owns it, because it decides who is asked),
//! and when a prompt is rebuilt.

mod change;
mod entries;
mod error;
mod file;
mod history;
mod pending;
pub mod providers;
mod render;
mod scan;
mod shelf;
mod target;

pub use change::{Applied, Operation};
pub use error::MemoryError;
pub use history::{Author, HistoryEntry, Origin, Provenance};
pub use pending::Pending;
pub use scan::scan;
pub use shelf::{Limits, Memory, Written};
pub use target::Target;
