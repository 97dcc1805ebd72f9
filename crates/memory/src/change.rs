//! Changes of entries, without a file.

use serde::{Deserialize, Serialize};

use crate::MemoryError;
use crate::entries::{count, grouped};

/// The beginning of an entry that is shown when several match.
const SHOWN: usize = 80;

/// One change of one entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Operation {
    /// A new entry at the end.
    Add {
        /// Its text.
        content: String,
    },
    /// Another text in an entry's place.
    Replace {
        /// A part of the entry that only it has.
        old_text: String,
        /// Its new text.
        content: String,
    },
    /// An entry less.
    Remove {
        /// A part of the entry that only it has.
        old_text: String,
    },
}

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// An entry was added.
    Added,
    /// It was there already.
    Duplicate,
    /// An entry has another text.
    Replaced,
    /// An entry is gone.
    Removed,
}

impl Applied {
    /// What the model is told.
    pub fn message(self) -> &'static str {
        match self {
            Self::Added => "Entry added.",
            Self::Duplicate => "Entry already exists (no duplicate added).",
            Self::Replaced => "Entry replaced.",
            Self::Removed => "Entry removed.",
        }
    }
}

impl Operation {
    /// The operation a call means.
    ///
    /// # Errors
    /// When the action is unknown, or what it needs is missing or blank.
    pub fn parse(action: &str, content: Option<&str>, old_text: Option<&str>) -> Result<Self, MemoryError> {
        let invalid = |text: String| Err(MemoryError::Invalid(text));
        let given = |text: Option<&str>| {
            text.map(str::trim)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let (content, old_text) = (given(content), given(old_text));
        match (action, content, old_text) {
            ("add", Some(content), _) => Ok(Self::Add { content }),
            ("add", None, _) => invalid("content is required for 'add', and may not be blank.".to_owned()),
            ("replace", Some(content), Some(old_text)) => Ok(Self::Replace { old_text, content }),
            ("replace", None, Some(_)) => {
                invalid("content is required for 'replace'; use 'remove' to delete an entry.".to_owned())
            }
            ("remove", _, Some(old_text)) => Ok(Self::Remove { old_text }),
            ("replace" | "remove", _, None) => invalid(format!(
                "old_text is required for '{action}': a part of the entry that no other entry has."
            )),
            _ => invalid(format!("Unknown action {action:?}. Use: add, replace, remove.")),
        }
    }

    /// The action's word.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Replace { .. } => "replace",
            Self::Remove { .. } => "remove",
        }
    }

    /// The text it would store.
    pub fn content(&self) -> Option<&str> {
        match self {
            Self::Add { content } | Self::Replace { content, .. } => Some(content),
            Self::Remove { .. } => None,
        }
    }

    /// In one line, for people.
    pub fn summary(&self) -> String {
        match self {
            Self::Add { content } => format!("add: {}", beginning(content)),
            Self::Replace { old_text, content } => {
                format!("replace {:?} with: {}", beginning(old_text), beginning(content))
            }
            Self::Remove { old_text } => format!("remove: {}", beginning(old_text)),
        }
    }

    /// Refuses a text that would be another number of entries when it is read again.
    pub(crate) fn check(&self) -> Result<(), MemoryError> {
        let Some(content) = self.content() else {
            return Ok(());
        };
        if content.lines().any(|line| line.trim() == "§") {
            return Err(MemoryError::Invalid(
                "content holds a line with nothing but §, which separates entries; add one entry per operation."
                    .to_owned(),
            ));
        }
        match crate::scan(content) {
            ids if ids.is_empty() => Ok(()),
            ids => Err(MemoryError::Threat { ids }),
        }
    }

    fn apply(&self, entries: &mut Vec<String>) -> Result<Applied, MemoryError> {
        match self {
            Self::Add { content } => {
                if entries.contains(content) {
                    return Ok(Applied::Duplicate);
                }
                entries.push(content.clone());
                Ok(Applied::Added)
            }
            Self::Replace { old_text, content } => {
                let place = find(entries, old_text)?;
                entries[place].clone_from(content);
                let first = entries.iter().position(|entry| entry == content);
                if first.is_some_and(|first| first != place) {
                    entries.remove(place);
                }
                Ok(Applied::Replaced)
            }
            Self::Remove { old_text } => {
                entries.remove(find(entries, old_text)?);
                Ok(Applied::Removed)
            }
        }
    }
}

/// Applies operations in order; all of them or none. The limit is checked on what is left at the end.
///
/// # Errors
/// When one of them cannot be done, or the result is too long.
pub(crate) fn apply_all(
    entries: &[String],
    operations: &[Operation],
    limit: usize,
) -> Result<(Vec<String>, Vec<Applied>), MemoryError> {
    let mut after = entries.to_vec();
    let mut applied = Vec::new();
    for (place, operation) in operations.iter().enumerate() {
        match operation.check().and_then(|()| operation.apply(&mut after)) {
            Ok(done) => applied.push(done),
            Err(error) => return Err(in_batch(operations, place, error)),
        }
    }
    let (now, then) = (count(entries), count(&after));
    // What makes a file that is too long shorter is always welcome.
    if then > limit && then >= now && then != now {
        return Err(overflow(entries, operations, then, limit));
    }
    Ok((after, applied))
}

fn in_batch(operations: &[Operation], place: usize, error: MemoryError) -> MemoryError {
    match operations.get(place) {
        Some(operation) if operations.len() > 1 => MemoryError::Batch {
            place: place + 1,
            action: operation.action(),
            source: Box::new(error),
        },
        _ => error,
    }
}

fn overflow(entries: &[String], operations: &[Operation], then: usize, limit: usize) -> MemoryError {
    let now = count(entries);
    let what = match operations {
        [Operation::Add { content }] => {
            format!("Adding this entry ({} chars)", grouped(content.chars().count()))
        }
        [Operation::Replace { content, .. }] => format!(
            "Replacing with this entry ({} chars)",
            grouped(content.chars().count())
        ),
        _ => format!("This batch of {} operations", operations.len()),
    };
    let message = format!(
        "Memory at {}/{} chars. {what} would make it {}, {} over the limit. Shorten it, or first replace or remove entries \
         below (in one call with `operations`).",
        grouped(now),
        grouped(limit),
        grouped(then),
        grouped(then - limit)
    );
    MemoryError::Overflow {
        message,
        entries: sized(entries),
        usage: format!("{}/{}", grouped(now), grouped(limit)),
    }
}

/// Entries with their sizes, as a model needs them to make room.
pub(crate) fn sized(entries: &[String]) -> Vec<String> {
    let one = |entry: &String| format!("[{} chars] {entry}", entry.chars().count());
    entries.iter().map(one).collect()
}

/// The one entry that holds the text.
fn find(entries: &[String], old_text: &str) -> Result<usize, MemoryError> {
    let mut places = (0..entries.len()).filter(|place| entries[*place].contains(old_text));
    let Some(first) = places.next() else {
        return Err(MemoryError::NoMatch {
            old_text: old_text.to_owned(),
            entries: sized(entries),
        });
    };
    // The whole entry names itself, even when a longer one holds it too.
    if let Some(exact) = entries.iter().position(|entry| entry == old_text) {
        return Ok(exact);
    }
    let others: Vec<usize> = places.collect();
    if others.is_empty() {
        return Ok(first);
    }
    let all = std::iter::once(first).chain(others);
    Err(MemoryError::Ambiguous {
        old_text: old_text.to_owned(),
        matches: all.map(|place| beginning(&entries[place])).collect(),
    })
}

/// The first characters of a text, on one line.
pub(crate) fn beginning(text: &str) -> String {
    let flat = text.replace('\n', " ");
    let mut cut: String = flat.chars().take(SHOWN).collect();
    if cut.len() < flat.len() {
        cut.push_str("...");
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn op(action: &str, content: &str, old: &str) -> Operation {
        Operation::parse(action, Some(content), Some(old)).unwrap()
    }

    #[test]
    fn what_an_action_needs_is_asked_for() {
        let said = |action, content, old| Operation::parse(action, content, old).unwrap_err().to_string();
        assert!(said("add", Some("  "), None).contains("content is required"));
        assert!(said("replace", Some(""), Some("x")).contains("use 'remove'"));
        assert!(said("remove", None, None).contains("old_text is required"));
        assert!(said("read", None, None).contains("Unknown action"));
    }

    #[test]
    fn two_entries_that_match_are_named_and_none_is_changed() {
        let before = entries(&["server alpha is fast", "server beta is slow"]);
        let error = apply_all(&before, &[op("remove", "", "server")], 2_200).unwrap_err();
        let MemoryError::Ambiguous { matches, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(matches, before);
    }

    #[test]
    fn an_entry_named_in_full_is_found_beside_a_longer_one_that_holds_it() {
        let before = entries(&["uses make", "uses make and ninja"]);
        let (after, _) = apply_all(&before, &[op("remove", "", "uses make")], 2_200).unwrap();
        assert_eq!(after, ["uses make and ninja"]);
    }

    #[test]
    fn a_batch_is_applied_whole_or_not_at_all_and_only_its_end_must_fit() {
        let before = entries(&[&"a".repeat(90), "b"]);
        let (after, _) = apply_all(
            &before,
            &[op("add", &"c".repeat(50), ""), op("remove", "", "aaa")],
            100,
        )
        .unwrap();
        assert_eq!(after, ["b".to_owned(), "c".repeat(50)]);
        let error = apply_all(&before, &[op("remove", "", "aaa"), op("remove", "", "zz")], 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Operation 2 (remove): No entry matched 'zz'. Nothing of this batch was applied."
        );
    }

    #[test]
    fn a_full_memory_names_the_numbers_and_the_entries_in_characters() {
        let before = entries(&[&"记".repeat(1_000), &"忆".repeat(1_000)]);
        assert!(apply_all(&before[..1], &[op("add", &before[1], "")], 2_200).is_ok());
        let error = apply_all(&before, &[op("add", &"记忆".repeat(300), "")], 2_200).unwrap_err();
        let MemoryError::Overflow {
            message,
            entries,
            usage,
        } = error
        else {
            panic!("{error}")
        };
        assert!(
            message.contains("2,003/2,200") && message.contains("(600 chars)"),
            "{message}"
        );
        assert_eq!((entries.len(), usage.as_str()), (2, "2,003/2,200"));
    }

    #[test]
    fn a_file_over_its_limit_may_always_be_made_shorter() {
        let before = entries(&[&"a".repeat(200), "keep"]);
        assert!(apply_all(&before, &[op("replace", &"b".repeat(150), "aaa")], 100).is_ok());
        assert!(apply_all(&before, &[op("replace", &"b".repeat(250), "aaa")], 100).is_err());
    }

    #[test]
    fn a_replacement_that_is_there_already_does_not_stand_twice() {
        let before = entries(&["one", "two"]);
        let (after, _) = apply_all(&before, &[op("replace", "one", "two")], 100).unwrap();
        assert_eq!(after, ["one"]);
    }

    #[test]
    fn a_text_that_would_split_into_two_entries_is_refused() {
        assert!(apply_all(&[], &[op("add", "a\n§\nb", "")], 100).is_err());
        assert!(apply_all(&[], &[op("add", "paragraph § 5 applies", "")], 100).is_ok());
    }
}
