//! What was written when, by whom, and how it is taken back.
//!
//! `memories/.history.jsonl`, one record a line, each with the file before and
//! after. Nothing else depends on it: without it the memory works and only
//! forgets where its entries came from.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use talaria_types::Timestamp;

use crate::entries::parse;
use crate::{MemoryError, Target, file};

/// A history beyond this is turned over; one older file is kept.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The model, in a turn of the person.
    Foreground,
    /// The review after a turn.
    BackgroundReview,
    /// The person.
    Person,
}

impl Origin {
    /// The word that is shown and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Foreground => "foreground",
            Self::BackgroundReview => "background_review",
            Self::Person => "person",
        }
    }
}

/// Who writes, where and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Author {
    /// Who.
    pub origin: Origin,
    /// In which session; empty for the person's own commands.
    pub session: String,
    /// The tool whose result the text was taken from, when it came from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// Where an entry comes from.
pub type Provenance = Author;

/// One write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Names it, for taking it back.
    pub id: String,
    /// Which file.
    pub target: Target,
    /// What was done, in one line.
    pub summary: String,
    /// Who did it.
    pub author: Author,
    /// The write this one took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<String>,
    /// The file before.
    pub before: String,
    /// The file after.
    pub after: String,
}

impl HistoryEntry {
    /// Entries that came with it.
    pub fn added(&self) -> Vec<String> {
        missing(&parse(&self.after), &parse(&self.before))
    }

    /// Entries that went with it.
    pub fn removed(&self) -> Vec<String> {
        missing(&parse(&self.before), &parse(&self.after))
    }

    /// The file `current`, with this write taken back and everything since kept.
    pub(crate) fn taken_back_from(&self, current: &str) -> String {
        if current == self.after {
            return self.before.clone();
        }
        let added = self.added();
        let mut entries = parse(current);
        let place = entries.iter().position(|entry| added.contains(entry));
        entries.retain(|entry| !added.contains(entry));
        let mut at = place.unwrap_or(entries.len()).min(entries.len());
        for entry in self.removed() {
            if !entries.contains(&entry) {
                entries.insert(at, entry);
                at += 1;
            }
        }
        crate::entries::join(&entries)
    }
}

/// What is in `these` and not in `those`.
fn missing(these: &[String], those: &[String]) -> Vec<String> {
    let only = these.iter().filter(|entry| !those.contains(entry));
    only.cloned().collect()
}

/// The records of a memory folder.
pub(crate) struct History {
    path: PathBuf,
}

impl History {
    pub(crate) fn of(folder: &Path) -> Self {
        Self {
            path: folder.join(".history.jsonl"),
        }
    }

    /// Writes a record down; the caller holds the lock of its file.
    pub(crate) fn push(&self, entry: &HistoryEntry) -> Result<(), MemoryError> {
        let size = std::fs::metadata(&self.path).map_or(0, |data| data.len());
        if size > MOST_BYTES {
            // Two writers of the two files may both come here; the second finds nothing to move.
            let _ = std::fs::rename(&self.path, self.older());
        }
        let line = serde_json::to_string(entry).unwrap_or_default();
        file::append_line(&self.path, &line)
    }

    fn older(&self) -> PathBuf {
        self.path.with_extension("jsonl.1")
    }

    /// All records, oldest first. A line that a crash cut in two is left out.
    pub(crate) fn read(&self) -> Vec<HistoryEntry> {
        let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        let all = format!("{}{}", text(&self.older()), text(&self.path));
        all.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Who wrote each entry that was written here. An entry that an undo brought back keeps its author.
    pub(crate) fn authors(&self, target: Target) -> HashMap<String, Provenance> {
        let mut authors = HashMap::new();
        for record in self.read().into_iter().filter(|record| record.target == target) {
            for entry in record.added() {
                if record.undoes.is_some() {
                    authors.entry(entry).or_insert_with(|| record.author.clone());
                } else {
                    authors.insert(entry, record.author.clone());
                }
            }
        }
        authors
    }
}

/// A fresh id: eight hexadecimal digits.
pub(crate) fn fresh_id() -> String {
    // A system without randomness gets the process id and the clock: ids only name files.
    let fallback = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(0, |age| age.subsec_nanos()) ^ std::process::id().rotate_left(16)
    };
    format!("{:08x}", getrandom::u32().unwrap_or_else(|_| fallback()))
}
