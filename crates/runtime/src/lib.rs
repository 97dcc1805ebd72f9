//! The engine: one actor a session, driving turns.
//!
//! A face opens an [`Engine`] once and a [`SessionHandle`] for each session it
//! shows; it sends [`Op`](talaria_types::Op)s and receives
//! [`Envelope`](talaria_types::Envelope)s, and knows nothing else. Inside, a
//! turn is prepared, driven step by step and finished; everything a step
//! depends on is written before it is acted on. [`replay`] runs a recorded
//! turn again without a network.

mod actor;
mod bill;
mod by_hand;
mod clock;
mod commands;
mod compaction;
mod cooldown;
mod engine;
mod events;
mod finish;
mod gauge;
mod handle;
mod host;
mod inbox;
mod lease;
pub mod log;
mod models;
mod prepare;
mod probe;
mod project;
mod recall;
mod record;
pub mod replay;
mod session;
mod session_search;
mod setup;
mod summarise;
mod turn_loop;

pub use by_hand::Uncompressed;
pub use engine::{Engine, EngineError, EngineOptions, Open};
pub use handle::{Events, SessionHandle};
pub use probe::probe;
pub use setup::{chosen_model, configured_models};
