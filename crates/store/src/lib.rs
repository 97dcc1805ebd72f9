//! Everything that was said and done, kept.
//!
//! [`SessionStore`] is what the engine needs of a store; [`sqlite`] is the one
//! that keeps it in `state.db`, in the shape of Hermes 0.19, so that either
//! program opens what the other wrote. Rows are appended and never edited; only
//! the `active` and `compacted` flags of a message may change, and only the
//! user's own `delete` and `prune` erase.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod images;
mod mask;
mod process;
mod rows;
pub mod sqlite;
mod store;

pub use error::StoreError;
pub use images::{image_path, image_type, store_image};
pub use process::{holder, lock_holder};
pub use rows::{
    CallJournal, CallState, Compacted, CompactionFacts, CompactionRow, Delegation, Hit, Insights,
    LeaseOutcome, ListFilter, Listed, ModelUsage, NewSession, Origin, RecordRow, Rotation, RotationIds,
    SearchQuery, SearchResults, SessionRow, SessionTotals, StoreStats, TurnRecord, Undone, UsageRow,
};
pub use sqlite::{SqliteStore, care};
pub use store::SessionStore;

/// The result of a store call.
pub type Result<T> = std::result::Result<T, StoreError>;
