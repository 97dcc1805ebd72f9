//! Names of sessions, messages and turns.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Names one session row.
///
/// Talaria writes `YYYYMMDD_HHMMSS_` and six hexadecimal digits; ids written by
/// others (eight digits, UUIDs, `cron_…`) are read as they are, so any
/// non-empty text is valid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(String);

impl SessionId {
    /// Takes an id as it stands in the store.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// Builds a fresh id from a local wall-clock `stamp` (`YYYYMMDD_HHMMSS`)
    /// and three random bytes; the caller owns the clock and the randomness.
    pub fn fresh(stamp: &str, entropy: [u8; 3]) -> Self {
        let [a, b, c] = entropy;
        Self(format!("{stamp}_{a:02x}{b:02x}{c:02x}"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names one turn of a session, unique in the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TurnId(String);

impl TurnId {
    /// Takes an id as it stands in the store.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names one message row: `messages.id`, rising over the whole store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub i64);

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m:{}", self.0)
    }
}

/// A text that is no message id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a message id; write 12, m:12 or [m:12]")]
pub struct ParseMessageIdError(String);

impl FromStr for MessageId {
    type Err = ParseMessageIdError;

    /// Reads `12`, `m:12` and `[m:12]`, the forms in which summaries cite ids.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bare = text.trim().trim_start_matches('[').trim_end_matches(']');
        let digits = bare.strip_prefix("m:").unwrap_or(bare);
        match digits.parse::<i64>() {
            Ok(id) if id > 0 => Ok(Self(id)),
            _ => Err(ParseMessageIdError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_in_every_form_a_summary_cites_it() {
        for text in ["12", "m:12", "[m:12]", " [m:12] "] {
            assert_eq!(text.parse(), Ok(MessageId(12)), "{text}");
        }
        for text in ["", "m:", "x", "-3", "0", "1.5"] {
            assert!(text.parse::<MessageId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_fresh_session_id_has_the_shape_hermes_writes() {
        let id = SessionId::fresh("20260520_143022", [0xa3, 0xf5, 0xb2]);
        assert_eq!(id.as_str(), "20260520_143022_a3f5b2");
    }
}
