//! What every wire adapter is: pure functions between this program's words and a protocol's.
//!
//! An adapter encodes a request and starts a decoder for its answer. It does no
//! I/O (images come through [`Images`]), retries nothing and classifies nothing:
//! what a server refused is handed on as the body it sent.

use talaria_llm::sse::Event;
use talaria_recovery::{Partial, RequestFacts};
use talaria_types::{Completion, Delta, ImagePart, ModelRequest};

/// One protocol, for one endpoint.
pub(crate) trait Adapter: Send + Sync {
    /// Puts a request into the protocol's words.
    fn encode(&self, request: &ModelRequest, images: &dyn Images) -> Encoded;

    /// The header that carries the key.
    fn credential(&self, key: &str) -> (&'static str, String) {
        bearer(key)
    }

    /// Starts reading the answer to a request.
    fn decoder(&self, request: &ModelRequest) -> Box<dyn Decoder>;
}

/// The usual place of a key.
pub(crate) fn bearer(key: &str) -> (&'static str, String) {
    ("authorization", format!("Bearer {key}"))
}

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Appended to the endpoint's base address.
    pub(crate) path: String,
    /// Headers of the protocol besides the credential's.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The JSON body.
    pub(crate) body: Vec<u8>,
    /// What it carries.
    pub(crate) facts: RequestFacts,
}

/// Reads one answer, event by event or as one document.
pub(crate) trait Decoder: Send {
    /// Takes one event of a stream.
    fn event(&mut self, event: Event<'_>, out: &mut Vec<Delta>) -> Result<(), WireError>;

    /// Takes an answer that came as one JSON document.
    fn document(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), WireError>;

    /// All of the answer has arrived; what may follow on the line is of no interest.
    fn is_complete(&self) -> bool;

    /// The answer's last word was said; the line should end now.
    fn is_over(&self) -> bool {
        self.is_complete()
    }

    /// Ends the answer. On failure the decoder keeps what it has, for [`Decoder::partial`].
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Completion, WireError>;

    /// What has arrived so far.
    fn partial(&self) -> Partial;
}

/// Why an answer is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    /// The server says no inside of an answer that began well.
    #[error("the server refused: {body}")]
    Refused {
        /// Its words, as they came.
        body: String,
    },
    /// The answer is not valid in its protocol.
    #[error("{why}")]
    Invalid {
        /// What is wrong with it.
        why: &'static str,
        /// What came.
        body: String,
    },
    /// The stream ended before the answer did.
    #[error("the stream ended before the answer did")]
    Cut,
}

/// Where the bytes of stored images come from.
pub(crate) trait Images {
    /// The bytes of an image in base64, or none when they are not there.
    fn base64(&self, image: &ImagePart) -> Option<String>;

    /// The same picture within bounds, and its media type; none when it cannot be made to fit. The same picture
    /// and bounds give the same bytes every time.
    fn fitted(&self, _: &ImagePart, _: Bounds) -> Option<(String, String)> {
        None
    }
}

/// How large a picture may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Pixels of its longer side.
    pub(crate) side: u32,
}
