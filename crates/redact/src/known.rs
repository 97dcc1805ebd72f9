//! The program's own secrets, masked wherever they turn up.
//!
//! A key need not look like one: a local server takes any word. What the program was given to
//! authenticate with is therefore hidden verbatim, besides everything that shapes and names give away.

use crate::mask::mask;
use aho_corasick::{AhoCorasick, MatchKind};
use std::{borrow::Cow, fmt};

/// Values shorter than this are not masked verbatim: as substrings they would shred ordinary text.
const LEAST: usize = 8;

/// A set of secret values.
#[derive(Clone, Default)]
pub struct KnownSecrets {
    values: Vec<String>,
    automaton: Option<AhoCorasick>,
}

impl KnownSecrets {
    /// A set of these values. Those below 8 characters are left out.
    pub fn new<I, S>(values: I) -> KnownSecrets
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let mut values: Vec<String> = values
            .into_iter()
            .map(Into::into)
            .filter(|value| value.len() >= LEAST)
            .collect();
        values.sort_unstable();
        values.dedup();
        let builder = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&values)
            .ok();
        let automaton = builder.filter(|_| !values.is_empty());
        KnownSecrets { values, automaton }
    }

    /// These and more values.
    pub(crate) fn and(self, more: impl IntoIterator<Item = String>) -> KnownSecrets {
        KnownSecrets::new(self.values.into_iter().chain(more))
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The text with each of the values replaced by its mask.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(automaton) = &self.automaton else {
            return Cow::Borrowed(text);
        };
        let mut masked = String::new();
        let mut copied = 0;
        for found in automaton.find_iter(text) {
            masked.push_str(&text[copied..found.start()]);
            masked.push_str(&mask(&text[found.range()]));
            copied = found.end();
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        masked.push_str(&text[copied..]);
        Cow::Owned(masked)
    }
}

/// Tells how many there are, never what they are.
impl fmt::Debug for KnownSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KnownSecrets({})", self.values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_key_is_masked_wherever_it_stands() {
        let known = KnownSecrets::new(["test-key-0001", "a-much-longer-private-value"]);
        assert_eq!(known.mask("refused: test-key-0001!"), "refused: ***!");
        assert_eq!(known.mask("xa-much-longer-private-valuex"), "xa-much...aluex");
        assert!(matches!(known.mask("nothing here"), Cow::Borrowed(_)));
        assert_eq!(format!("{known:?}"), "KnownSecrets(2)");
    }

    #[test]
    fn a_value_too_short_to_be_a_key_shreds_no_text() {
        let known = KnownSecrets::new(["none", ""]);
        assert!(known.is_empty());
        assert_eq!(known.mask("none of it"), "none of it");
    }
}
