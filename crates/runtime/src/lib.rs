//! The engine: one actor a session, driving turns.
//!
//! A face opens an [`Engine`] once and a [`SessionHandle`] for each session it
//! shows; it sends [`Op`](talaria_types::Op)s and receives
//! [`Envelope`](talaria_types::Envelope)s, and knows nothing else.

mod engine;
mod handle;

pub use engine::{Engine, EngineError, EngineOptions, Open};
pub use handle::{Events, SessionHandle};
