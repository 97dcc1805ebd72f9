//! A program that speaks JSON-RPC on its standard input and output: started, called within a time, stopped.
//!
//! What extends this program from outside is a program of its own, in any language. It may hang, die,
//! print nonsense or fork children that outlive it; none of that may cost the caller more than the time
//! the caller gave. So every call has a bound, a death fails what waits for an answer at once, the next
//! call starts the program again, and one that keeps dying is left alone for a while ([`Breaker`]).
//!
//! The wire is [JSON-RPC 2.0](https://www.jsonrpc.org/specification), one message a line, no batches.
//! Both sides may call and notify. A line on the program's standard output that is no message is a stray
//! print: it is kept with what the program says on standard error, and otherwise ignored.
//!
//! This crate knows nothing of what is said: methods and parameters are the caller's.
//!
//! ```no_run
//! # async fn example() -> Result<(), talaria_peer::PeerError> {
//! use serde_json::json;
//! use std::time::Duration;
//! use talaria_peer::{Peer, Program, Quiet};
//!
//! let program = Program::new("./notes.py").arg("--serve").pass("NOTES_TOKEN");
//! let peer = Peer::start(program, Quiet).await?;
//! let found = peer.call("search", json!({"query": "tea"}), Duration::from_secs(8)).await?;
//! peer.stop(Duration::from_secs(2)).await;
//! # Ok(())
//! # }
//! ```

mod breaker;
mod connection;
mod error;
mod handler;
mod lines;
mod peer;
mod program;
mod said;
mod wire;

pub use breaker::Breaker;
pub use error::PeerError;
pub use handler::{Handler, METHOD_NOT_FOUND, Quiet, Refusal};
pub use peer::{Opening, Peer};
pub use program::{Limits, Program};
