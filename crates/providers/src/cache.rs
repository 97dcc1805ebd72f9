//! Keeps the bytes that were made of each message.
//!
//! A turn of fifty calls sends its early messages fifty times. They are shared
//! and never change, so each is put into the protocol's words once; later
//! requests copy the bytes, and CPU grows with the number of calls, not with its
//! square. A message is known by its address, which is safe because the cache
//! holds on to it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use talaria_types::{Message, ModelRequest, Rewrite, ToolSpec};

/// Messages that no request of the last few carried are forgotten; a few,
/// because side tasks share the provider with the conversation.
const REMEMBERED_REQUESTS: u64 = 8;

/// Bytes by message.
#[derive(Debug, Default)]
pub(crate) struct PieceCache {
    pieces: HashMap<(usize, u64), Piece>,
    tools: Option<Tools>,
    request: u64,
    variant: u64,
}

#[derive(Debug)]
struct Piece {
    /// Keeps the address from being used for another message.
    _message: Arc<Message>,
    bytes: Arc<[u8]>,
    last_used: u64,
}

#[derive(Debug)]
struct Tools {
    specs: Arc<[ToolSpec]>,
    variant: u64,
    bytes: Arc<[u8]>,
}

impl PieceCache {
    /// Begins a request. Bytes made under other repairs are not used for it.
    pub(crate) fn begin(&mut self, rewrites: &[Rewrite]) {
        self.request += 1;
        self.variant = if rewrites.is_empty() {
            0
        } else {
            fingerprint(rewrites)
        };
        if self.request.is_multiple_of(REMEMBERED_REQUESTS) {
            let oldest = self.request.saturating_sub(REMEMBERED_REQUESTS);
            self.pieces.retain(|_, piece| piece.last_used >= oldest);
        }
    }

    /// The bytes of a message, made by `encode` if they are not known. `form`
    /// tells several encodings of one message apart.
    pub(crate) fn piece(
        &mut self,
        message: &Arc<Message>,
        form: u64,
        encode: impl FnOnce(&Message, &mut Vec<u8>),
    ) -> Arc<[u8]> {
        let key = (Arc::as_ptr(message).addr(), self.variant.wrapping_add(form));
        let request = self.request;
        let piece = self.pieces.entry(key).or_insert_with(|| {
            let mut bytes = Vec::new();
            encode(message, &mut bytes);
            Piece {
                _message: Arc::clone(message),
                bytes: bytes.into(),
                last_used: request,
            }
        });
        piece.last_used = request;
        Arc::clone(&piece.bytes)
    }

    /// The bytes of the tools, made by `encode` if they are not those of the last request.
    pub(crate) fn tools(&mut self, request: &ModelRequest, encode: impl FnOnce(&mut Vec<u8>)) -> Arc<[u8]> {
        if let Some(known) = &self.tools
            && known.variant == self.variant
            && Arc::ptr_eq(&known.specs, &request.tools)
        {
            return Arc::clone(&known.bytes);
        }
        let mut bytes = Vec::new();
        encode(&mut bytes);
        let bytes: Arc<[u8]> = bytes.into();
        self.tools = Some(Tools {
            specs: Arc::clone(&request.tools),
            variant: self.variant,
            bytes: Arc::clone(&bytes),
        });
        bytes
    }
}

fn fingerprint(rewrites: &[Rewrite]) -> u64 {
    let mut hasher = DefaultHasher::new();
    rewrites.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_encoded_once_per_set_of_repairs() {
        let mut cache = PieceCache::default();
        let message = Arc::new(Message::user("hi"));
        let mut made = 0;
        let mut ask = |cache: &mut PieceCache, rewrites: &[Rewrite]| {
            cache.begin(rewrites);
            cache.piece(&message, 0, |_, bytes| {
                made += 1;
                bytes.push(b'x');
            });
        };
        ask(&mut cache, &[]);
        ask(&mut cache, &[]);
        ask(&mut cache, &[Rewrite::DropImages]);
        assert_eq!(made, 2);
    }

    #[test]
    fn messages_that_are_sent_no_more_are_forgotten() {
        let mut cache = PieceCache::default();
        let old = Arc::new(Message::user("old"));
        cache.begin(&[]);
        cache.piece(&old, 0, |_, _| {});
        for _ in 0..3 * REMEMBERED_REQUESTS {
            cache.begin(&[]);
        }
        assert_eq!(Arc::strong_count(&old), 1);
    }
}
