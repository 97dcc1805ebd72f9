//! Moments, as the store keeps them.

use serde::{Deserialize, Serialize};

/// Seconds since the Unix epoch, with fractions: the REAL of Hermes' tables.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub f64);

impl Timestamp {
    /// Seconds from `earlier` to `self`; negative when the clock went back.
    pub fn since(self, earlier: Self) -> f64 {
        self.0 - earlier.0
    }
}
