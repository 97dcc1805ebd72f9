//! Google's `generateContent`.

mod decode;
mod encode;

pub(crate) use encode::GeminiAdapter;

/// Where a call's signature stands among the members this program does not know.
const SIGNATURE: &str = "thoughtSignature";
