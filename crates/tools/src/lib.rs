//! What the model may do: the registry of tools, the approval of commands, the
//! executor that runs a batch of calls, and the built-in tools.
//!
//! A [`Tool`] has typed arguments whose doc comments are the schema the model
//! reads. The [`Executor`] answers every call of a batch with exactly one
//! result, in call order, whatever happens: an unknown name, bad JSON, a
//! refusal, a panic, an interrupt. What it needs from its driver (the journal,
//! consent, a place for events) is the [`Host`].

pub mod approval;
mod arguments;
pub mod builtin;
mod consult;
mod deferred;
mod executor;
mod files;
mod host;
mod mask;
pub mod process;
mod registry;
mod schema;
mod session;
mod tool;
pub mod untrusted;

pub use consult::{After, Before, Done};
pub use executor::{Batch, Executor};
pub use host::{Host, JournalError, NullHost};
pub use process::outer_variables;
pub use registry::{Beyond, Deferral, Registry, Selection, UnknownToolset};
pub use session::{CodeSettings, ToolSession, ToolSettings};
pub use tool::{AnyTool, Parallel, Tool, ToolContext, ToolError, ToolOutput, erase};
