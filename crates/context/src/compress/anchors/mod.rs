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
use super::{AnchorPlace, AnchorRank as Rank, AnchorRecord};

pub(super) use index::{Index, index, read_index};

/// Facts of one row that are listed: what a person says is chosen, what a tool
/// prints is not.
const PER_USER: usize = 40;
const PER_ASSISTANT: usize = 24;
/// A result with more facts than this is a listing: its first and last are kept.
const PER_RESULT: usize = 12;
const FIRST_OF_RESULT: usize = 4;
/// Bytes of a long result's beginning and of its end that are read.
const ENDS: usize = 2_048;
/// A fact longer than this is a sentence, which may say others.
const SENTENCE: usize = 40;
/// Facts of one call's arguments.
const PER_CALL: usize = 8;

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
    /// An earlier compression knew it and had no place for it.
    pub(super) was_left_out: bool,
}

/// Facts that are remembered from one compression to the next.
const MOST_KNOWN: usize = 1_500;

/// What earlier compressions knew: their record, and what only their index lists.
pub(super) fn known(records: &[AnchorRecord], listed: impl Iterator<Item = Anchor>) -> Vec<Anchor> {
    let recorded: std::collections::HashSet<&str> =
        records.iter().map(|record| record.text.as_str()).collect();
    let listed = listed.filter(|anchor| !recorded.contains(anchor.text.as_str()));
    let of_record = |record: &AnchorRecord| Anchor {
        text: record.text.clone(),
        id: record.id,
        rank: record.rank,
        subject: words::subject_of(&record.text),
        was_left_out: record.place == AnchorPlace::Store,
    };
    records.iter().map(of_record).chain(listed).collect()
}

/// The most valuable facts, in their order.
pub(super) fn best(mut anchors: Vec<Anchor>) -> Vec<Anchor> {
    if anchors.len() <= MOST_KNOWN {
        return anchors;
    }
    let mut worth: Vec<(Rank, std::cmp::Reverse<MessageId>)> = anchors
        .iter()
        .map(|anchor| (anchor.rank, std::cmp::Reverse(anchor.id)))
        .collect();
    worth.sort_unstable();
    let least = worth[MOST_KNOWN];
    anchors.retain(|anchor| (anchor.rank, std::cmp::Reverse(anchor.id)) < least);
    anchors
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
                    known.was_left_out &= anchor.was_left_out;
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
        Role::Assistant => (Rank::Told, PER_ASSISTANT),
        Role::Tool => (Rank::Printed, PER_RESULT),
    };
    let anchor = |text: &str, rank: Rank, subject: Option<String>| Anchor {
        text: one_line(text),
        id: row.id,
        rank,
        subject,
        was_left_out: false,
    };
    let printed = without_gutter(row);
    let mut found: Vec<Anchor> = Vec::new();
    if row.role == Role::User {
        found.extend(sentences::demands(&row.text).map(|demand| anchor(demand, Rank::Said, None)));
    }
    let failed = rank.min(Rank::Failed);
    found.extend(sentences::errors(&row.text).map(|error| anchor(error, failed, None)));
    let words = match row.role {
        Role::Tool => without_series(ends_of(&printed, most)),
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
    let sentences = found.iter().filter(|anchor| anchor.text.len() > SENTENCE);
    let sentences: Vec<String> = sentences.map(|anchor| anchor.text.clone()).collect();
    if !sentences.is_empty() {
        let is_told = |anchor: &Anchor| {
            let longer = sentences.iter().filter(|text| text.len() > anchor.text.len());
            longer.into_iter().any(|text| text.contains(&anchor.text))
        };
        found.retain(|anchor| !is_told(anchor));
    }
    found
}

/// The first and the last facts of what a tool printed. What a long text says between
/// them is for search: reading all of it to drop most is not worth the time.
fn ends_of(text: &str, most: usize) -> Vec<words::Fact<'_>> {
    let middle = text.len().saturating_sub(2 * ENDS);
    let cut = |from: usize| {
        let line = memchr::memchr(b'\n', text.as_bytes().get(from..)?)?;
        text.get(from + line + 1..)
    };
    let mut words = match cut(ENDS + middle).filter(|_| middle > 0) {
        None => words::facts(text),
        Some(end) => {
            let start = memchr::memchr(b'\n', text.as_bytes().get(ENDS..).unwrap_or_default());
            let start = start.map_or(text, |line| text.get(..ENDS + line).unwrap_or(text));
            let mut words = words::first_facts(start, FIRST_OF_RESULT);
            words.extend(words::facts(end));
            words
        }
    };
    if words.len() > most {
        words.drain(FIRST_OF_RESULT..words.len() - (most - FIRST_OF_RESULT));
    }
    words
}

/// Facts of one shape that a result may have before they are a series: the lines of a
/// search, the times of a test run. A series is told by its first, and a number that is
/// printed without a name is nothing to look up.
const SERIES: usize = 2;

fn without_series(words: Vec<words::Fact<'_>>) -> Vec<words::Fact<'_>> {
    let words: Vec<words::Fact<'_>> = words.into_iter().filter(|word| !word.is_bare_number()).collect();
    if words.len() <= SERIES {
        return words;
    }
    let shapes: Vec<u64> = words.iter().map(|word| shape(word.text)).collect();
    let count = |at: usize| shapes.iter().filter(|shape| **shape == shapes[at]).count();
    let first = |at: usize| !shapes[..at].contains(&shapes[at]);
    let keeps = |at: usize| first(at) || count(at) <= SERIES;
    let words = words.into_iter().enumerate().filter(|(at, _)| keeps(*at));
    words.map(|(_, word)| word).collect()
}

/// A number for a text with every number in it made the same (FNV-1a).
fn shape(text: &str) -> u64 {
    let mut shape = 0xcbf2_9ce4_8422_2325_u64;
    let mut in_number = false;
    for byte in text.bytes() {
        let digit = byte.is_ascii_digit() || (in_number && byte == b'.');
        if !(digit && in_number) {
            shape ^= u64::from(if digit { b'0' } else { byte });
            shape = shape.wrapping_mul(0x0100_0000_01b3);
        }
        in_number = digit;
    }
    shape
}

/// What a tool printed, without the line numbers that `read_file` sets before each line:
/// `    32|A` is no fact.
fn without_gutter(row: &Record) -> std::borrow::Cow<'_, str> {
    let text = row.text.as_str();
    if row.tool.as_deref() != Some("read_file") || !text.contains('|') {
        return text.into();
    }
    let mut bare = String::with_capacity(text.len());
    // A line of a file, or of a file inside of JSON.
    for line in text.split_inclusive('\n') {
        for (at, part) in line.split("\\n").enumerate() {
            if at > 0 {
                bare.push_str("\\n");
            }
            let after = part
                .trim_start_matches(' ')
                .trim_start_matches(|c: char| c.is_ascii_digit());
            match after.strip_prefix('|') {
                Some(code) if !part.starts_with('|') => bare.push_str(code),
                Some(_) | None => bare.push_str(part),
            }
        }
    }
    bare.into()
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
    let plain = |bytes: &[u8]| bytes.iter().all(|byte| *byte > b' ' && *byte < 128);
    if text
        .split(' ')
        .all(|word| !word.is_empty() && plain(word.as_bytes()))
    {
        return text.to_owned();
    }
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace(index::SEPARATOR, " - ")
}
