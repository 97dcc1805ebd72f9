//! The protocol library behind this crate's own types: nothing of it is seen outside of this folder.
//!
//! The library speaks JSON-RPC, keeps sessions over HTTP and logs in. How a program is started and read,
//! and the older HTTP transport, are ours. What comes back is handled as plain JSON, because the library's
//! types drop what they do not know.

mod handler;
mod http;
mod link;
mod mend;
pub(crate) mod oauth;
pub(crate) mod serve;
mod sse;
mod stdio;

pub(crate) use http::client;
pub(crate) use link::{Link, Wish};
