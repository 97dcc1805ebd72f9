//! Who made a skill and how often it is used: `skills/.usage.json`, as Hermes keeps it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use talaria_types::Timestamp;

use crate::{Library, SkillError, files};

/// What is remembered of one skill. Members this program does not know are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageRecord {
    /// `agent` when it made it itself.
    pub created_by: Option<String>,
    /// How often it was used in a turn.
    pub use_count: u64,
    /// How often it was shown.
    pub view_count: u64,
    /// How often it was changed.
    pub patch_count: u64,
    /// When it was used last (ISO 8601).
    pub last_used_at: Option<String>,
    /// When it was shown last.
    pub last_viewed_at: Option<String>,
    /// When it was changed last.
    pub last_patched_at: Option<String>,
    /// When it was made.
    pub created_at: Option<String>,
    /// `active`, `stale` or `archived`.
    pub state: Option<String>,
    /// The curator leaves it alone.
    pub pinned: bool,
    /// When it was archived.
    pub archived_at: Option<String>,
    /// Everything else.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl UsageRecord {
    /// Whether the agent made it, so that the review and the curator may change it.
    pub fn is_agents(&self) -> bool {
        self.created_by.as_deref() == Some("agent")
            || self.more.get("agent_created") == Some(&Value::Bool(true))
    }
}

/// Records by the skill's name.
pub type Usage = BTreeMap<String, UsageRecord>;

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// It was shown to the model.
    Viewed,
    /// It was put into a turn.
    Used,
    /// It was changed.
    Patched,
    /// The agent made it.
    Created {
        /// In a review, not in a turn of the person.
        by_review: bool,
    },
    /// It is gone.
    Deleted,
}

impl Library {
    fn usage_file(&self) -> PathBuf {
        self.local().join(".usage.json")
    }

    /// What is remembered of every skill; a broken file counts as an empty one.
    pub fn usage(&self) -> Usage {
        let text = std::fs::read_to_string(self.usage_file()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Changes what is remembered, under the lock Hermes takes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn change_usage<T>(&self, change: impl FnOnce(&mut Usage) -> T) -> Result<T, SkillError> {
        let _lock = files::Lock::take(&self.local().join(".usage.json.lock"))?;
        let mut usage = self.usage();
        let before = usage.clone();
        let given = change(&mut usage);
        if usage != before {
            let text = serde_json::to_string_pretty(&usage).unwrap_or_default();
            files::replace(&self.usage_file(), text.as_bytes())?;
        }
        Ok(given)
    }

    /// Counts something.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn count(&self, name: &str, what: Used, at: Timestamp) -> Result<(), SkillError> {
        let now = iso(at);
        self.change_usage(|usage| {
            if what == Used::Deleted {
                usage.remove(name);
                return;
            }
            let record = usage.entry(name.to_owned()).or_insert_with(|| UsageRecord {
                created_at: Some(now.clone()),
                state: Some("active".to_owned()),
                ..UsageRecord::default()
            });
            match what {
                Used::Viewed => {
                    record.view_count += 1;
                    record.last_viewed_at = Some(now);
                }
                Used::Used => {
                    record.use_count += 1;
                    record.last_used_at = Some(now);
                }
                Used::Patched => {
                    record.patch_count += 1;
                    record.last_patched_at = Some(now);
                }
                Used::Created { by_review } => {
                    record.created_by = Some("agent".to_owned());
                    let origin = if by_review {
                        "background_review"
                    } else {
                        "foreground"
                    };
                    record.more.insert("write_origin".to_owned(), origin.into());
                }
                Used::Deleted => {}
            }
        })
    }

    /// Pins a skill, so that the curator leaves it alone and nobody deletes it; or lets it go.
    ///
    /// # Errors
    /// When there is no such skill, or it cannot be written.
    pub fn pin(&self, name: &str, pinned: bool) -> Result<(), SkillError> {
        let name = self.find(name)?.name;
        self.change_usage(|usage| usage.entry(name).or_default().pinned = pinned)
    }
}

/// A moment in UTC as ISO 8601, to the second.
pub(crate) fn iso(at: Timestamp) -> String {
    let moment = jiff::Timestamp::from_second(at.0 as i64).unwrap_or_default();
    moment.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

/// The moment of such a text.
pub(crate) fn from_iso(text: &str) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.parse().ok()?;
    Some(Timestamp(moment.as_second() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_hermes_writes_them() {
        assert_eq!(iso(Timestamp(1_796_137_200.5)), "2026-12-01T15:00:00+00:00");
        assert_eq!(
            from_iso("2026-12-01T15:00:00.123456+00:00"),
            Some(Timestamp(1_796_137_200.0))
        );
        assert_eq!(from_iso("soon"), None);
    }
}
