//! The engine: one actor a session, driving turns.
//!
//! A face opens an [`Engine`] once and a [`SessionHandle`] for each session it
//! shows; it sends [`Op`](talaria_types::Op)s and receives
//! [`Envelope`](talaria_types::Envelope)s, and knows nothing else. Inside, a
//! turn is prepared, driven step by step and finished; everything a step
//! depends on is written before it is acted on. [`replay`] runs a recorded
//! turn again without a network.

mod actor;
mod approval_judge;
mod audience;
mod bill;
mod boundary;
mod by_hand;
mod clock;
mod commands;
mod compaction;
mod context_view;
mod cooldown;
pub mod cron;
mod cron_tool;
mod curated;
mod delegate;
mod engine;
mod events;
mod extensions;
mod external_memory;
mod finish;
mod foreign_engine;
mod gauge;
mod goal;
mod handle;
mod hooked;
mod host;
mod housekeeping;
mod inbox;
mod lease;
pub mod log;
mod mcp;
mod mcp_tools;
mod memory_tool;
mod models;
mod nudge;
mod pending_skills;
mod plugged;
mod plugin_tools;
mod prefix;
mod prepare;
mod probe;
mod project;
mod recall;
mod record;
pub mod replay;
mod reset;
mod review;
mod sent_as;
mod session;
mod session_search;
mod setup;
mod side_calls;
mod skill_tools;
mod skill_turns;
mod summarise;
mod taken;
mod toolbox;
mod turn_loop;
mod web_tools;

pub use by_hand::Uncompressed;
pub use context_view::SessionContext;
pub use engine::{Engine, EngineError, EngineOptions, Open};
pub use external_memory::memory_place;
pub use handle::{Events, SessionHandle};
pub use mcp::mcp_servers;
pub use mcp_tools::served;
pub use plugged::{FoundHooks, found_hooks, found_plugins, resolve_memory_plugin, start_plugin};
pub use probe::probe;
pub use setup::{chosen_model, configured_models, curator_settings, roots_of_skills, secrets};
pub use toolbox::toolsets;
