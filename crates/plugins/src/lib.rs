//! What extends the program from outside: shell hooks, and plugins that are programs of their own.
//!
//! A hook is a command that is told of an event as JSON and may answer. A plugin is a program
//! that stays: it hears of events too, and may bring tools, slash commands, a memory and a
//! context engine. [`Hooks`] is what the engine asks; it knows no engine, and decides nothing
//! about a turn: it says what was answered.

mod contents;
mod dialect;
mod event;
pub mod hooks;
pub mod manifest;
mod matcher;
mod payload;
mod plugin;
mod reply;

pub use dialect::Dialect;
pub use event::{Event, Power};
pub use hooks::{Fired, HookSetup, HookSpec, Hooks, Origin, ShellHook, Standing};
pub use manifest::{FoundPlugin, Manifest};
pub use payload::{Payload, ToolFacts};
pub use plugin::{PROTOCOL, Plugin, PluginCommand, PluginTool};
pub use reply::Reply;
