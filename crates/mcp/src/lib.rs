//! Model Context Protocol: the servers whose tools a session uses, and this program as a server.
//!
//! [`ServerSettings`] is what is written about a server, [`Servers`] are those of a process. Their tools are
//! ordinary [`AnyTool`](talaria_tools::AnyTool)s in the registry, called `mcp__server__tool`, so that approvals,
//! journal, masking and size limits hold for them as for all others. The protocol itself is spoken by a
//! library that is seen in one folder only ([`wire`]).
//!
//! A server is a stranger. It gets few variables, none of this program's own; what it says is framed as data;
//! what it claims of its tools spares no question; it asks the model and the person only within bounds.

mod breaker;
mod desk;
mod error;
mod naming;
mod offer;
mod project;
mod sampling;
mod server;
mod servers;
mod settings;
mod tool;
mod wire;

pub use error::McpError;
pub use offer::{Offer, OfferedTool};
pub use project::{ProjectFile, Trust};
pub use sampling::{Sample, SampleRequest, Sampler};
pub use servers::{ServerState, Servers, Surroundings, forget, known, logout, read, serve_stdio};
pub use settings::{ServerSettings, Source};
pub use wire::oauth::Login;
