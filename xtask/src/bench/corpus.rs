//! Text to read, store and search: the same on every machine and in every run.

/// Ordinary words, so that compression and search meet what they meet in life.
const WORDS: &[&str] = &[
    "the", "of", "to", "and", "in", "is", "it", "for", "on", "with", "as", "at", "by", "from", "request",
    "response", "server", "client", "file", "path", "line", "function", "value", "return", "config",
    "session", "message", "model", "call", "result", "error", "output", "input", "buffer", "thread",
    "process", "query", "index", "table", "cache", "memory", "disk", "network", "timeout", "retry", "parse",
    "build", "test", "deploy", "release", "branch", "commit",
];

/// So many bytes of text; another seed gives another text.
pub(super) fn text(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS[(state >> 33) as usize % WORDS.len()];
        text.push_str(word);
        text.push(if (state >> 20).is_multiple_of(12) {
            '\n'
        } else {
            ' '
        });
    }
    text.truncate(length);
    text
}
