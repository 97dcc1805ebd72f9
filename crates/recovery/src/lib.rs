//! What to do after a failure, decided on plain data.
//!
//! A [`Failure`] is what an adapter saw; [`classify()`] gives it its
//! [`ErrorKind`]; the rows of [`chain`] recognise it and name the cure as a
//! [`Remedy`]; the [`Ledger`] counts how often each row fired, so that every
//! sequence of failures ends. Nothing here performs a cure, waits, or knows the
//! time. [`empty`] is the same idea for answers with nothing in them.

#![deny(clippy::wildcard_enum_match_arm)]

pub mod backoff;
pub mod chain;
pub mod classify;
mod described;
pub mod empty;
mod failure;
mod hint;
mod ledger;
mod remedy;
mod table;

pub use chain::decide;
pub use classify::{RawFailure, Transport, classify};
pub use failure::{Failure, Limits, Login, Partial, Phase, RequestFacts, Symptom};
pub use ledger::{Budget, Ledger};
pub use remedy::{Decision, Remedy, Situation};
pub use table::{Message, RowDoc, messages, table};
pub use talaria_types::{ErrorKind, Rewrite};
