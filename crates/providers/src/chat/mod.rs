//! OpenAI's Chat Completions, and the many servers that speak something like it.
//!
//! [`encode`] writes requests, [`decode`] reads answers; what differs from
//! server to server is data in [`dialect`].

mod decode;
pub(crate) mod dialect;
mod encode;
mod parse;

pub(crate) use encode::{ChatAdapter, cache_mark};
