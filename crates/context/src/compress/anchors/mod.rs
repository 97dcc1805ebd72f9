//! Hard facts of the hidden part, found by code.
//!
//! A summary is written by a model and models lose digits. Paths, ids, hashes, URLs,
//! numbers with units, error texts and what the person demanded are taken from the
//! hidden rows verbatim; what the summary does not say goes to an index behind it,
//! each with the id of its message, so that `recall` can show where it came from.
//!
//! ```text
//! record ──► words.rs      one fact a word or two, by their shapes (shapes.rs)
//!        ──► sentences.rs  demands, errors, corrections
//!        ──► collect       the newest mention of each, corrected ones gone
//!        ──► index         what the summary lacks, by rank, within a cap
//! ```

mod index;
mod sentences;
mod shapes;
mod words;

use std::collections::HashMap;

use talaria_types::{MessageId, Role};

use super::summarize::Record;

pub(super) use index::{Index, index, read_index};

/// Facts of one row that are listed: what a person says is chosen, what a tool
/// prints is not.
const PER_USER: usize = 40;
const PER_ASSISTANT: usize = 24;
/// A result with more facts than this is a listing: its first and last are kept.
const PER_RESULT: usize = 12;
const FIRST_OF_RESULT: usize = 4;
/// Facts of one call's arguments.
const PER_CALL: usize = 8;

/// How much a fact is worth when not all can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Rank {
    /// The person said it.
    Said,
    /// The model said it, or called a tool with it.
    Used,
    /// A tool printed it.
    Printed,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    /// Verbatim.
    pub(super) text: String,
    /// The newest message that says it.
    pub(super) id: MessageId,
    pub(super) rank: Rank,
    /// What it is a value of: a later value of the same takes its place.
    pub(super) subject: Option<String>,
}

/// All facts of the record and of earlier indexes, each once, corrected ones left out.
pub(super) fn collect(earlier: Vec<Anchor>, record: &[Record]) -> Vec<Anchor> {
    let mut facts = Facts::default();
    for anchor in earlier {
        facts.add(anchor);
    }
    for row in record {
        let mut found = facts_of(row);
        for taken_back in corrections_of(row) {
            facts.take_back(&taken_back, row.id);
            found.retain(|anchor| anchor.text != taken_back);
        }
        for anchor in found {
            facts.add(anchor);
        }
    }
    facts.all.into_iter().flatten().collect()
}

/// The demands of the person, in order.
pub(super) fn constraints(record: &[Record]) -> Vec<String> {
    let users = record.iter().filter(|row| row.role == Role::User);
    users
        .flat_map(|row| sentences::demands(&row.text))
        .map(str::to_owned)
        .collect()
}

/// Error texts, in order.
pub(super) fn errors(record: &[Record]) -> Vec<String> {
    record
        .iter()
        .flat_map(|row| sentences::errors(&row.text))
        .map(str::to_owned)
        .collect()
}

/// Paths that calls were made with, each once, in order.
pub(super) fn files(record: &[Record]) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for call in record.iter().flat_map(|row| &row.calls) {
        for word in words::facts(&call.arguments)
            .into_iter()
            .filter(|word| word.is_path)
        {
            if !files.iter().any(|known| *known == word.text) {
                files.push(word.text.to_owned());
            }
        }
    }
    files
}

#[derive(Default)]
struct Facts {
    all: Vec<Option<Anchor>>,
    by_text: HashMap<String, usize>,
    by_subject: HashMap<String, usize>,
}

impl Facts {
    fn add(&mut self, anchor: Anchor) {
        if let Some(known) = self
            .by_text
            .get(&anchor.text)
            .and_then(|at| self.all.get_mut(*at))
        {
            match known {
                Some(known) => {
                    known.id = known.id.max(anchor.id);
                    known.rank = known.rank.min(anchor.rank);
                }
                None => *known = Some(anchor),
            }
            return;
        }
        let at = self.all.len();
        if let Some(subject) = &anchor.subject
            && let Some(older) = self.by_subject.insert(subject.clone(), at)
        {
            self.replace(older, &anchor);
        }
        self.by_text.insert(anchor.text.clone(), at);
        self.all.push(Some(anchor));
    }

    /// A later value takes an older one's place. What a tool prints corrects nothing
    /// that was said.
    fn replace(&mut self, older: usize, newer: &Anchor) {
        if let Some(slot) = self.all.get_mut(older)
            && slot.as_ref().is_some_and(|old| newer.rank <= old.rank)
        {
            *slot = None;
        }
    }

    fn take_back(&mut self, text: &str, id: MessageId) {
        if let Some(slot) = self.by_text.get(text).and_then(|at| self.all.get_mut(*at))
            && slot.as_ref().is_some_and(|anchor| anchor.id <= id)
        {
            *slot = None;
        }
    }
}

fn facts_of(row: &Record) -> Vec<Anchor> {
    let (rank, most) = match row.role {
        Role::User | Role::System => (Rank::Said, PER_USER),
        Role::Assistant => (Rank::Used, PER_ASSISTANT),
        Role::Tool => (Rank::Printed, PER_RESULT),
    };
    let anchor = |text: &str, rank: Rank, subject: Option<String>| Anchor {
        text: one_line(text),
        id: row.id,
        rank,
        subject,
    };
    let mut found: Vec<Anchor> = Vec::new();
    if row.role == Role::User {
        found.extend(sentences::demands(&row.text).map(|demand| anchor(demand, Rank::Said, None)));
    }
    found.extend(sentences::errors(&row.text).map(|error| anchor(error, rank, None)));
    let words = match row.role {
        Role::Tool => {
            let mut words = words::facts(&row.text);
            if words.len() > most {
                words.drain(FIRST_OF_RESULT..words.len() - (most - FIRST_OF_RESULT));
            }
            words
        }
        Role::User | Role::System | Role::Assistant => words::first_facts(&row.text, most),
    };
    found.extend(
        words
            .into_iter()
            .map(|word| anchor(&word.display(), rank, word.subject)),
    );
    for call in &row.calls {
        let words = words::first_facts(&call.arguments, PER_CALL);
        found.extend(
            words
                .into_iter()
                .map(|word| anchor(&word.display(), Rank::Used, word.subject)),
        );
    }
    // A fact inside of a demand or an error of the same row is told by it.
    let told: Vec<String> = found.iter().map(|anchor| anchor.text.clone()).collect();
    let mut at = 0;
    found.retain(|anchor| {
        at += 1;
        !told.iter().enumerate().any(|(other, text)| {
            other != at - 1
                && text.len() > anchor.text.len()
                && text.len() > 40
                && text.contains(&anchor.text)
        })
    });
    found
}

fn corrections_of(row: &Record) -> Vec<String> {
    if row.role == Role::Tool {
        Vec::new()
    } else {
        sentences::corrected(&row.text)
    }
}

/// Facts are listed one after the other on a line.
fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(index::SEPARATOR, " - ")
}
