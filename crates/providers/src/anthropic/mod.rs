//! Anthropic's Messages, and the servers that speak it besides Anthropic.

mod decode;
mod encode;

pub(crate) use encode::MessagesAdapter;
