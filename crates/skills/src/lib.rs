//! Skills: procedures the agent has learnt or was given, one folder with a
//! `SKILL.md` each (the format of agentskills.io and Hermes).
//!
//! [`Library`] finds them in every root, makes the index a system prompt holds,
//! shows them, and changes those of the home. Before a change the skill is
//! copied, so each can be taken back; what is installed is looked at first;
//! what nobody uses any more is archived, never deleted.
//!
//! Not here: the tools and slash commands (the engine owns them).

mod archive;
mod bundled;
mod change;
mod curator;
mod discover;
mod entry;
mod error;
mod files;
mod front;
mod guard;
mod install;
mod library;
mod manage;
mod render;
mod replace;
mod snapshots;
mod usage;
mod view;

pub use change::{Change, Done, Writer};
pub use curator::{Curated, CuratorSettings, State, Transition};
pub use entry::{Entry, Kind, slug};
pub use error::SkillError;
pub use guard::{Finding, Severity, Verdict, scan_folder, verdict};
pub use install::{Installed, Source};
pub use library::{Library, Roots};
pub use snapshots::Snapshot;
pub use usage::{Usage, UsageRecord, Used};
pub use view::View;
