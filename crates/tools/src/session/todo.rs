//! The session's todo list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The header a compression puts above the list; protocol.
const HEADER: &str = "[Your active task list was preserved across context compression]";

/// More entries than this are a mistake, and would be sent with every result.
const MOST: usize = 200;

const STATUSES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Entry {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default, alias = "text", alias = "title", alias = "task")]
    pub(crate) content: String,
    #[serde(default)]
    #[schemars(extend("enum" = ["pending", "in_progress", "completed", "cancelled"]))]
    pub(crate) status: String,
}

/// All entries, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TodoList(Vec<Entry>);

/// How many entries there are of each kind.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    total: usize,
    pending: usize,
    in_progress: usize,
    completed: usize,
    cancelled: usize,
}

impl TodoList {
    /// Replaces the list; of entries with the same id the last counts.
    pub(crate) fn replace(&mut self, entries: Vec<Entry>) {
        self.0.clear();
        self.merge(entries);
    }

    /// Updates entries by id, keeping what an update leaves out, and adds new ones.
    pub(crate) fn merge(&mut self, entries: Vec<Entry>) {
        for mut entry in entries {
            let full = self.0.len() >= MOST;
            entry.id = entry.id.trim().to_owned();
            if entry.id.is_empty() {
                entry.id = "?".to_owned();
            }
            match self.0.iter_mut().find(|old| old.id == entry.id) {
                Some(old) => {
                    if !entry.content.trim().is_empty() {
                        old.content = entry.content;
                    }
                    if !entry.status.is_empty() {
                        old.status = status(&entry.status);
                    }
                }
                None if full => {}
                None => {
                    if entry.content.trim().is_empty() {
                        "(no description)".clone_into(&mut entry.content);
                    }
                    entry.status = status(&entry.status);
                    self.0.push(entry);
                }
            }
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.0
    }

    pub(crate) fn summary(&self) -> Summary {
        let count = |status: &str| self.0.iter().filter(|entry| entry.status == status).count();
        Summary {
            total: self.0.len(),
            pending: count("pending"),
            in_progress: count("in_progress"),
            completed: count("completed"),
            cancelled: count("cancelled"),
        }
    }

    /// The entries that are still to be done, as a text for the model.
    pub(crate) fn snapshot(&self) -> Option<String> {
        let lines: Vec<String> = self
            .0
            .iter()
            .filter_map(|entry| {
                let mark = match entry.status.as_str() {
                    "pending" => "[ ]",
                    "in_progress" => "[>]",
                    _ => return None,
                };
                // One line an entry, or it could not be read back.
                let content = entry.content.split_whitespace().collect::<Vec<_>>().join(" ");
                Some(format!("- {mark} {}. {content} ({})", entry.id, entry.status))
            })
            .collect();
        (!lines.is_empty()).then(|| format!("{HEADER}\n{}", lines.join("\n")))
    }

    /// Reads a [`snapshot`](Self::snapshot) back, wherever it stands in `text`.
    pub(crate) fn from_snapshot(text: &str) -> Option<Self> {
        let (_, after) = text.split_once(HEADER)?;
        let entries = after
            .trim_start_matches('\n')
            .lines()
            .map_while(snapshot_line)
            .collect::<Vec<_>>();
        let mut list = Self::default();
        list.replace(entries);
        (!list.0.is_empty()).then_some(list)
    }

    /// Reads a result of the tool back.
    pub(crate) fn from_result(text: &str) -> Option<Self> {
        let value: Value = serde_json::Deserializer::from_str(text)
            .into_iter()
            .next()?
            .ok()?;
        let entries: Vec<Entry> = serde_json::from_value(value.get("todos")?.clone()).ok()?;
        let mut list = Self::default();
        list.replace(entries);
        Some(list)
    }
}

fn status(word: &str) -> String {
    let word = word.trim().to_lowercase().replace(['-', ' '], "_");
    let known = STATUSES.into_iter().find(|known| *known == word);
    known.unwrap_or("pending").to_owned()
}

fn snapshot_line(line: &str) -> Option<Entry> {
    let rest = line
        .strip_prefix("- [ ] ")
        .or_else(|| line.strip_prefix("- [>] "))?;
    let (id, rest) = rest.split_once(". ")?;
    let (content, status) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    Some(Entry {
        id: id.to_owned(),
        content: content.to_owned(),
        status: status.to_owned(),
    })
}
