//! Makes broken inputs of good ones, the same ones for the same seed.
//!
//! Not a fuzzer: it knows nothing of coverage. It replays a corpus with the faults
//! that lines and servers make (bytes lost, doubled, flipped, joined from two
//! answers) and with the pieces on which parsers trip.

/// Pieces on which parsers of streams and JSON trip.
const PIECES: &[&[u8]] = &[
    b"\n\n",
    b"\r\n\r\n",
    b"\r",
    b"data: ",
    b"data:\n",
    b"event: error\n",
    b":\n",
    b"[DONE]",
    b"{",
    b"}",
    b"[",
    b"]]]]",
    b"\"",
    b"\\",
    b"\\ud83d",
    b"\\udc00",
    b"\\u0000",
    b"null",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"99999999999999999999999999",
    b"\xff\xfe",
    b"\xf0\x9f",
    b"\xef\xbb\xbf",
    b"\0",
    b"<think>",
    b"</think>",
    b"<html>",
];

/// A source of broken inputs.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    /// One that begins with this seed.
    pub fn new(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        }
    }

    /// A number below `end`; 0 when there is none.
    pub fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        if end == 0 {
            0
        } else {
            (self.state % end as u64) as usize
        }
    }

    /// `good` with one to four faults; some take a part of `other`.
    pub fn broken(&mut self, good: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        for _ in 0..=self.below(4) {
            self.fault(&mut bytes, other);
        }
        bytes
    }

    fn fault(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len() + 1);
        let span = self.span(bytes.len() - at);
        match self.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..at + span)),
            2 => {
                let twice = bytes[at..at + span].to_vec();
                bytes.splice(at..at, twice);
            }
            3 => {
                let piece = PIECES[self.below(PIECES.len())];
                bytes.splice(at..at + span.min(piece.len()), piece.iter().copied());
            }
            4 => {
                let piece = PIECES[self.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            5 => {
                let from = self.below(other.len() + 1);
                let end = from + self.span(other.len() - from);
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            _ => {
                let bit = 1 << self.below(8);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bit;
                }
            }
        }
    }

    /// A length up to `most`, short ones more often.
    fn span(&mut self, most: usize) -> usize {
        let limit = 1 << self.below(12);
        self.below(most.min(limit) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_breaks_in_the_same_way() {
        let all = |seed| {
            let mut mutator = Mutator::new(seed);
            (0..50)
                .map(|_| mutator.broken(b"data: {\"a\":1}\n\n", b"other"))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(7), all(7));
        assert_ne!(all(7), all(8));
    }
}
