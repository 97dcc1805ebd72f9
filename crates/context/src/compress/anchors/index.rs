//! The list of facts behind a summary.

use talaria_types::MessageId;

use super::{Anchor, Rank};
use crate::compress::strings::ANCHORS_HEADING;
use crate::compress::{AnchorPlace, AnchorRecord};
use crate::tokens::quick;

/// Stands between two facts of one message.
pub(super) const SEPARATOR: &str = " · ";
/// Tokens of a line beside its facts.
const LINE: u64 = 8;

/// What became of the facts.
#[derive(Clone, Debug, Default)]
pub(in crate::compress) struct Index {
    /// The `## Anchors` section, when there is anything to list.
    pub(in crate::compress) section: Option<String>,
    pub(in crate::compress) records: Vec<AnchorRecord>,
}

/// Lists what `summary` does not say, the best first, within `most` tokens; written
/// newest first, one line a message.
pub(in crate::compress) fn index(anchors: &[Anchor], summary: &str, most: u64) -> Index {
    let mut records: Vec<AnchorRecord> = anchors
        .iter()
        .map(|anchor| AnchorRecord {
            text: anchor.text.clone(),
            id: anchor.id,
            rank: anchor.rank,
            place: if says(summary, &anchor.text) {
                AnchorPlace::Summary
            } else {
                AnchorPlace::Store
            },
        })
        .collect();
    let mut by_worth: Vec<usize> = (0..records.len())
        .filter(|at| records[*at].place == AnchorPlace::Store)
        .collect();
    by_worth.sort_by_key(|at| (anchors[*at].rank, std::cmp::Reverse(anchors[*at].id)));
    let mut left = most.saturating_sub(quick(ANCHORS_HEADING));
    let mut lines: Vec<(MessageId, Vec<usize>)> = Vec::new();
    for at in by_worth {
        let id = anchors[at].id;
        let line = lines.iter().position(|(other, _)| *other == id);
        let cost = quick(&anchors[at].text) + 1 + if line.is_none() { LINE } else { 0 };
        if cost > left {
            // A shorter one may still fit.
            continue;
        }
        left -= cost;
        records[at].place = AnchorPlace::Index;
        match line {
            Some(line) => lines[line].1.push(at),
            None => lines.push((id, vec![at])),
        }
    }
    lines.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    let written: Vec<String> = lines
        .iter()
        .map(|(id, facts)| write_line(*id, facts, &records))
        .collect();
    let section = (!written.is_empty()).then(|| format!("{ANCHORS_HEADING}\n{}", written.join("\n")));
    Index { section, records }
}

fn write_line(id: MessageId, facts: &[usize], records: &[AnchorRecord]) -> String {
    let facts: Vec<&str> = facts.iter().map(|at| records[*at].text.as_str()).collect();
    format!("- {} [{id}]", facts.join(SEPARATOR))
}

/// Whether a text says a fact: the whole of it, not as a part of a longer number or word.
fn says(text: &str, fact: &str) -> bool {
    let bare = fact.split_once(": ").map_or(
        fact,
        |(subject, value)| if subject.contains(' ') { fact } else { value },
    );
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let (first, last) = (bare.chars().next(), bare.chars().next_back());
    memchr::memmem::find_iter(text.as_bytes(), bare.as_bytes()).any(|at| {
        let before = text[..at].chars().next_back();
        let after = text[at + bare.len()..].chars().next();
        !(is_word(first) && is_word(before) || is_word(last) && is_word(after))
    })
}

/// Reads the list that an earlier compression wrote.
pub(in crate::compress) fn read_index(section: &str) -> Vec<Anchor> {
    let mut anchors = Vec::new();
    for line in section.lines() {
        let Some(line) = line.strip_prefix("- ") else {
            continue;
        };
        let Some((facts, id)) = line.rsplit_once(" [") else {
            continue;
        };
        let Ok(id) = id.parse::<MessageId>() else { continue };
        anchors.extend(
            facts
                .split(SEPARATOR)
                .filter(|fact| !fact.is_empty())
                .map(|fact| Anchor {
                    text: fact.to_owned(),
                    id,
                    // It was worth a place once.
                    rank: Rank::Told,
                    subject: super::words::subject_of(fact),
                    was_left_out: false,
                }),
        );
    }
    anchors
}
