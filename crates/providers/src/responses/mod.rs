//! OpenAI's Responses, without anything kept on the server.

mod decode;
mod encode;

pub(crate) use encode::ResponsesAdapter;
