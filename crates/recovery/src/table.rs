//! The rows and the messages they are for, as data for the generated document.

use serde::Serialize;
use talaria_types::ErrorKind;

use crate::chain::CHAIN;
use crate::classify::patterns::PATTERNS;
use crate::empty::EMPTY;

/// What the generated document says about one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowDoc {
    /// The row's name, as `recoveries` and events show it.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// How often it may fire.
    pub limit: String,
    /// The kinds it looks at; empty for all.
    pub kinds: Vec<ErrorKind>,
    /// Real messages that lead to it, those without a row of their own left out.
    pub samples: Vec<&'static str>,
}

/// What the generated document says about one known message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// What it means.
    pub kind: ErrorKind,
    /// The words it is recognised by, in lower case; `…` stands for anything between.
    pub text: &'static str,
    /// Who says so; empty for many.
    pub provider: &'static str,
    /// The status it came with.
    pub status: Option<u16>,
    /// A real message.
    pub sample: &'static str,
    /// The rows that look at its kind, in the order they are asked.
    pub rows: Vec<&'static str>,
}

/// Every row of both chains, in the order they are asked.
pub fn table() -> Vec<RowDoc> {
    let chain = CHAIN.iter().map(|row| RowDoc {
        name: row.name(),
        doc: row.doc(),
        limit: row.budget().to_string(),
        kinds: row.kinds().to_vec(),
        samples: samples(row.kinds()),
    });
    let empty = EMPTY.iter().map(|row| RowDoc {
        name: row.name(),
        doc: row.doc(),
        limit: row.budget().to_string(),
        kinds: vec![ErrorKind::EmptyAnswer],
        samples: Vec::new(),
    });
    chain.chain(empty).collect()
}

/// A few messages of a row that looks at one kind only; the others share theirs.
fn samples(kinds: &[ErrorKind]) -> Vec<&'static str> {
    let [kind] = kinds else { return Vec::new() };
    PATTERNS
        .iter()
        .filter(|pattern| pattern.kind == *kind)
        .map(|pattern| pattern.sample)
        .take(6)
        .collect()
}

/// Every message that is known by its words, by kind.
pub fn messages() -> Vec<Message> {
    PATTERNS
        .iter()
        .map(|pattern| Message {
            kind: pattern.kind,
            text: pattern.text,
            provider: pattern.provider,
            status: (pattern.status >= 400).then_some(pattern.status),
            sample: pattern.sample,
            rows: rows(pattern.kind),
        })
        .collect()
}

fn rows(kind: ErrorKind) -> Vec<&'static str> {
    CHAIN
        .iter()
        .filter(|row| row.kinds().contains(&kind))
        .map(|row| row.name())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own_and_one_line_about_it() {
        let rows = table();
        let names: BTreeSet<_> = rows.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), rows.len());
        for row in rows {
            assert!(
                row.doc.ends_with('.') && row.doc.len() > 20,
                "{}: {}",
                row.name,
                row.doc
            );
            assert!(
                row.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn every_known_message_has_a_row() {
        let orphans: Vec<_> = messages()
            .into_iter()
            .filter(|message| message.rows.is_empty())
            .collect();
        assert!(orphans.is_empty(), "{orphans:?}");
    }

    #[test]
    fn the_rows_stand_in_their_order() {
        let names: Vec<&str> = table().iter().take(18).map(|row| row.name).collect();
        insta::assert_snapshot!(names.join(" "), @"surrogates non_ascii_credential image_rejected credential_pool image_too_large oauth_long_context_beta codex_login nous_key copilot_token anthropic_login thinking_signature grammar_pattern long_context_tier eager_fallback spent_bucket payload_too_large context_overflow client_error");
    }
}
