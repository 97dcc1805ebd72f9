//! Says when a conversation should be compressed.

use serde::{Deserialize, Serialize};

/// The sizes a decision is made on, all in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowPlan {
    /// The model's window.
    pub window: u64,
    /// The most output of one answer that is asked for; 0 when none is.
    pub max_output: u64,
    /// `compression.threshold`.
    pub threshold: f64,
    /// `compression.min_tokens`.
    pub min_tokens: u64,
}

impl WindowPlan {
    /// What is left for the prompt: the window less the output, or half the window
    /// where the output is not smaller than it.
    pub fn room(&self) -> u64 {
        unimplemented!()
    }

    /// From how many prompt tokens on a conversation is compressed:
    /// `min(max(floor(window · threshold), min_tokens), floor(0.85 · room))`.
    pub fn trigger(&self) -> u64 {
        unimplemented!()
    }
}
