//! Puts away what the agent made itself and nobody uses: active → stale → archived.
//!
//! It never deletes, touches no skill of the person's or of others, and copies
//! all skills before it moves one.

use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use talaria_types::Timestamp;

use crate::usage::{UsageRecord, from_iso, iso};
use crate::{Kind, Library, SkillError, files};

const DAY: f64 = 86_400.0;

/// When a skill counts as unused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuratorSettings {
    /// `curator.enabled`.
    pub enabled: bool,
    /// `curator.interval_hours`.
    pub interval_hours: u64,
    /// `curator.stale_after_days`.
    pub stale_after_days: u64,
    /// `curator.archive_after_days`.
    pub archive_after_days: u64,
    /// `curator.backup.keep`; 0 makes no copies.
    pub keep: usize,
}

impl Default for CuratorSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval_hours: 168,
            stale_after_days: 30,
            archive_after_days: 90,
            keep: 5,
        }
    }
}

/// How much a skill is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Lately.
    Active,
    /// Not for a while.
    Stale,
    /// Put away.
    Archived,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Stale => "stale",
            Self::Archived => "archived",
        }
    }
}

/// A skill that changes its state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transition {
    /// The skill.
    pub name: String,
    /// What it becomes.
    pub to: State,
    /// When it was used last.
    pub last_used: String,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curated {
    /// What changed.
    pub transitions: Vec<Transition>,
    /// The copy of all skills from before; nothing when nothing was moved.
    pub backup: Option<PathBuf>,
}

/// `skills/.curator_state`, as Hermes keeps it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Diary {
    last_run_at: Option<String>,
    last_run_summary: Option<String>,
    paused: bool,
    run_count: u64,
    #[serde(flatten)]
    more: serde_json::Map<String, serde_json::Value>,
}

/// The state a record should have; nothing when it stays as it is.
pub(crate) fn next(
    record: &UsageRecord,
    now: Timestamp,
    settings: &CuratorSettings,
) -> Option<(State, Timestamp)> {
    if !record.is_agents() || record.pinned {
        return None;
    }
    let moments = [
        &record.last_used_at,
        &record.last_viewed_at,
        &record.last_patched_at,
    ];
    let last = moments.iter().filter_map(|moment| from_iso(moment.as_deref()?));
    let last = last.max_by(|a, b| a.0.total_cmp(&b.0));
    let anchor = last.or_else(|| from_iso(record.created_at.as_deref()?))?;
    let idle = now.since(anchor) / DAY;
    let to = if idle >= settings.archive_after_days as f64 {
        State::Archived
    } else if idle >= settings.stale_after_days as f64 {
        State::Stale
    } else {
        State::Active
    };
    let is = record.state.as_deref().unwrap_or("active");
    (is != to.as_str() && is != "archived").then_some((to, anchor))
}

impl Library {
    fn diary_file(&self) -> PathBuf {
        self.local().join(".curator_state")
    }

    /// What would change now.
    pub fn due_transitions(&self, now: Timestamp, settings: &CuratorSettings) -> Vec<Transition> {
        let usage = self.usage();
        let all = self.all();
        let own = all.iter().filter(|entry| entry.kind == Kind::Local);
        own.filter_map(|entry| {
            let (to, anchor) = next(usage.get(&entry.name)?, now, settings)?;
            Some(Transition {
                name: entry.name.clone(),
                to,
                last_used: iso(anchor),
            })
        })
        .collect()
    }

    /// Runs when it is time to. The first look ever only starts the clock.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn curate_if_due(
        &self,
        now: Timestamp,
        settings: &CuratorSettings,
    ) -> Result<Option<Curated>, SkillError> {
        if !settings.enabled || !self.local().join(".usage.json").exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(self.diary_file()).unwrap_or_default();
        let mut diary: Diary = serde_json::from_str(&text).unwrap_or_default();
        let last = diary.last_run_at.as_deref().and_then(from_iso);
        let Some(last) = last else {
            diary.last_run_at = Some(iso(now));
            self.write_diary(&diary)?;
            return Ok(None);
        };
        if diary.paused || now.since(last) < settings.interval_hours as f64 * 3_600.0 {
            return Ok(None);
        }
        self.curate(now, settings).map(Some)
    }

    /// Does what is due.
    ///
    /// # Errors
    /// When the disk fails; what was moved until then can be restored.
    pub fn curate(&self, now: Timestamp, settings: &CuratorSettings) -> Result<Curated, SkillError> {
        let due = self.due_transitions(now, settings);
        let moves = due.iter().any(|transition| transition.to == State::Archived);
        let backup = if moves && settings.keep > 0 {
            Some(self.backup(now, settings.keep)?)
        } else {
            None
        };
        for transition in &due {
            if transition.to == State::Archived {
                self.archive(&transition.name, now)?;
            } else {
                let state = transition.to.as_str().to_owned();
                self.change_usage(|usage| {
                    usage.entry(transition.name.clone()).or_default().state = Some(state);
                })?;
            }
        }
        let text = std::fs::read_to_string(self.diary_file()).unwrap_or_default();
        let mut diary: Diary = serde_json::from_str(&text).unwrap_or_default();
        diary.last_run_at = Some(iso(now));
        diary.run_count += 1;
        diary.last_run_summary = Some(format!("{} skills changed their state", due.len()));
        self.write_diary(&diary)?;
        Ok(Curated {
            transitions: due,
            backup,
        })
    }

    fn write_diary(&self, diary: &Diary) -> Result<(), SkillError> {
        let text = serde_json::to_string_pretty(diary).unwrap_or_default();
        files::replace(&self.diary_file(), text.as_bytes())
    }

    /// Copies all skills of the home into one archive.
    fn backup(&self, now: Timestamp, keep: usize) -> Result<PathBuf, SkillError> {
        let folder = self.home().join("backups/curator");
        std::fs::create_dir_all(&folder).map_err(SkillError::at(&folder))?;
        let path = folder.join(format!("skills-{}.tar.gz", now.0 as u64));
        let failed = |error: std::io::Error| SkillError::at(&path)(error);
        let file = std::fs::File::create(&path).map_err(failed)?;
        let mut archive = tar::Builder::new(GzEncoder::new(file, Compression::fast()));
        archive.follow_symlinks(false);
        archive.append_dir_all("skills", self.local()).map_err(failed)?;
        let writer = archive.into_inner().map_err(failed)?;
        writer.finish().map_err(failed)?;
        let listed = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut old: Vec<PathBuf> = listed.map(|item| item.path()).collect();
        old.sort();
        while old.len() > keep {
            let oldest = old.remove(0);
            std::fs::remove_file(&oldest).map_err(SkillError::at(&oldest))?;
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(last_used_days_ago: f64) -> UsageRecord {
        UsageRecord {
            created_by: Some("agent".to_owned()),
            created_at: Some(iso(Timestamp(0.0))),
            last_used_at: Some(iso(Timestamp(NOW.0 - last_used_days_ago * DAY))),
            state: Some("active".to_owned()),
            ..UsageRecord::default()
        }
    }

    const NOW: Timestamp = Timestamp(1_800_000_000.0);

    fn becomes(record: &UsageRecord) -> Option<State> {
        next(record, NOW, &CuratorSettings::default()).map(|(state, _)| state)
    }

    #[test]
    fn a_skill_grows_stale_is_archived_and_comes_back_when_it_is_used() {
        assert_eq!(becomes(&record(29.0)), None);
        assert_eq!(becomes(&record(30.0)), Some(State::Stale));
        assert_eq!(becomes(&record(90.0)), Some(State::Archived));
        let mut stale = record(1.0);
        stale.state = Some("stale".to_owned());
        assert_eq!(becomes(&stale), Some(State::Active));
    }

    #[test]
    fn what_is_pinned_or_was_not_made_by_the_agent_is_left_alone() {
        let mut pinned = record(900.0);
        pinned.pinned = true;
        assert_eq!(becomes(&pinned), None);
        let mut own = record(900.0);
        own.created_by = None;
        assert_eq!(becomes(&own), None);
    }
}
