//! The memory of one home.

use std::path::{Path, PathBuf};

use crate::change::{Applied, apply_all};
use crate::entries::{count, join, parse};
use crate::file::{self, Lock};
use crate::history::{Author, History, HistoryEntry, Provenance, fresh_id};
use crate::pending::{Pending, Queue};
use crate::{MemoryError, Operation, Target, render};

/// Characters each file may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `memory.memory_char_limit`.
    pub memory: usize,
    /// `memory.user_char_limit`.
    pub user: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 2_200,
            user: 1_375,
        }
    }
}

/// The memory of one home; cheap to make, holds nothing open.
#[derive(Clone, Debug)]
pub struct Memory {
    home: PathBuf,
    limits: Limits,
}

/// What a write came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What each operation did.
    pub applied: Vec<Applied>,
    /// How many entries there are now.
    pub entries: usize,
    /// How full the file is: `12% — 264/2,200 chars`.
    pub usage: String,
    /// The write's id in the history; nothing when the file is as it was.
    pub id: Option<String>,
}

impl Memory {
    /// The memory of a home folder.
    pub fn of_home(home: impl Into<PathBuf>, limits: Limits) -> Self {
        Self {
            home: home.into(),
            limits,
        }
    }

    /// A target's file.
    pub fn path(&self, target: Target) -> PathBuf {
        self.folder().join(target.file_name())
    }

    fn folder(&self) -> PathBuf {
        self.home.join("memories")
    }

    fn limit(&self, target: Target) -> usize {
        match target {
            Target::Memory => self.limits.memory,
            Target::User => self.limits.user,
        }
    }

    /// The entries of a file as they are on the disk.
    ///
    /// # Errors
    /// When it cannot be read, or is no text.
    pub fn entries(&self, target: Target) -> Result<Vec<String>, MemoryError> {
        Ok(parse(&file::read(&self.path(target))?))
    }

    /// The entries, each with who wrote it where that is known.
    ///
    /// # Errors
    /// When the file cannot be read, or is no text.
    pub fn described(&self, target: Target) -> Result<Vec<(String, Option<Provenance>)>, MemoryError> {
        let mut authors = History::of(&self.folder()).authors(target);
        let entries = self.entries(target)?.into_iter();
        Ok(entries
            .map(|entry| {
                let author = authors.remove(&entry);
                (entry, author)
            })
            .collect())
    }

    /// How full a file is: `12% — 264/2,200 chars`.
    ///
    /// # Errors
    /// When it cannot be read, or is no text.
    pub fn usage(&self, target: Target) -> Result<String, MemoryError> {
        Ok(render::usage(count(&self.entries(target)?), self.limit(target)))
    }

    /// The block a system prompt holds of a file; nothing when it is empty.
    ///
    /// # Errors
    /// When it cannot be read, or is no text.
    pub fn block(&self, target: Target) -> Result<Option<String>, MemoryError> {
        Ok(render::block(target, &self.entries(target)?, self.limit(target)))
    }

    /// Applies operations to a file, all of them or none.
    ///
    /// # Errors
    /// When one cannot be done; then nothing has changed.
    pub fn apply(
        &self,
        target: Target,
        operations: &[Operation],
        author: &Author,
    ) -> Result<Written, MemoryError> {
        let summary: Vec<String> = operations.iter().map(Operation::summary).collect();
        let limit = self.limit(target);
        let path = self.path(target);
        let _lock = Lock::take(&path)?;
        let before = file::read(&path)?;
        let entries = parse(&before);
        // Adding changes nothing of what is there, so it needs no guard.
        if !matches!(operations, [Operation::Add { .. }]) {
            self.guard(target, &before, &entries, author)?;
        }
        let (after, applied) = apply_all(&entries, operations, limit)?;
        let id = if after == entries {
            None
        } else {
            let change = Change {
                target,
                summary: summary.join("; "),
                undoes: None,
                before,
                after: join(&after),
            };
            Some(self.put(change, author)?)
        };
        Ok(Written {
            applied,
            entries: after.len(),
            usage: render::usage(count(&after), limit),
            id,
        })
    }

    /// A file that another program wrote must not be cut to pieces by a change
    /// of one entry. What only differs in blank lines is copied and put right.
    fn guard(
        &self,
        target: Target,
        raw: &str,
        entries: &[String],
        author: &Author,
    ) -> Result<(), MemoryError> {
        let longest = entries
            .iter()
            .map(|entry| entry.chars().count())
            .max()
            .unwrap_or(0);
        let limit = self.limit(target);
        if raw.trim() == join(entries) && longest <= limit {
            return Ok(());
        }
        let mut name = self.path(target).into_os_string();
        name.push(format!(".bak.{}", author.at.0 as u64));
        let backup = PathBuf::from(name);
        file::replace(&backup, raw)?;
        if longest <= limit {
            return Ok(());
        }
        Err(MemoryError::Drift {
            file: target.file_name(),
            longest,
            limit,
            backup,
        })
    }

    /// Writes a change down and then does it; the caller holds the file's lock.
    fn put(&self, change: Change, author: &Author) -> Result<String, MemoryError> {
        let record = HistoryEntry {
            id: fresh_id(),
            target: change.target,
            summary: change.summary,
            author: author.clone(),
            undoes: change.undoes,
            before: change.before,
            after: change.after,
        };
        History::of(&self.folder()).push(&record)?;
        file::replace(&self.path(record.target), &record.after)?;
        Ok(record.id)
    }

    /// Puts a text of the person's own in a file's place; gives what it holds now.
    ///
    /// # Errors
    /// When it cannot be written, or looks like an attack.
    pub fn rewrite(&self, target: Target, text: &str, author: &Author) -> Result<Vec<String>, MemoryError> {
        let entries = parse(text);
        for entry in &entries {
            let ids = crate::scan(entry);
            if !ids.is_empty() {
                return Err(MemoryError::Threat { ids });
            }
        }
        let path = self.path(target);
        let _lock = Lock::take(&path)?;
        let before = file::read(&path)?;
        let change = Change {
            target,
            summary: "edited by hand".to_owned(),
            undoes: None,
            before,
            after: join(&entries),
        };
        if change.before != change.after {
            self.put(change, author)?;
        }
        Ok(entries)
    }

    /// Every write that is remembered, oldest first.
    pub fn history(&self) -> Vec<HistoryEntry> {
        History::of(&self.folder()).read()
    }

    /// Takes a write back: the one of that id, or the newest that was not taken back. What was written since
    /// stays. Taking back an undo does the write again.
    ///
    /// # Errors
    /// When there is no such write, or the file cannot be written.
    pub fn undo(&self, id: Option<&str>, author: &Author) -> Result<HistoryEntry, MemoryError> {
        let history = self.history();
        let undone = |record: &HistoryEntry| {
            history
                .iter()
                .any(|other| other.undoes.as_ref() == Some(&record.id))
        };
        let meant = match id {
            Some(id) => history
                .iter()
                .rev()
                .find(|record| !id.is_empty() && record.id.starts_with(id)),
            None => history
                .iter()
                .rev()
                .find(|record| record.undoes.is_none() && !undone(record)),
        };
        let Some(record) = meant else {
            return Err(MemoryError::Invalid(match id {
                Some(id) => format!("there is no write {id:?}; `talaria memory history` lists them"),
                None => "there is no write to take back".to_owned(),
            }));
        };
        let path = self.path(record.target);
        let _lock = Lock::take(&path)?;
        let before = file::read(&path)?;
        let after = record.taken_back_from(&before);
        if after == before {
            return Err(MemoryError::Invalid(format!(
                "nothing of the write {} is left to take back",
                record.id
            )));
        }
        let change = Change {
            target: record.target,
            summary: format!("undo {}: {}", record.id, record.summary),
            undoes: Some(record.id.clone()),
            before,
            after,
        };
        self.put(change, author)?;
        Ok(record.clone())
    }

    /// Puts a write aside until the person has decided about it.
    ///
    /// # Errors
    /// When it could not be done anyway, or cannot be written down.
    pub fn stage(
        &self,
        target: Target,
        operations: &[Operation],
        author: &Author,
        reason: &str,
    ) -> Result<Pending, MemoryError> {
        apply_all(&self.entries(target)?, operations, self.limit(target))?;
        Queue::of(&self.home).push(target, operations, author, reason)
    }

    /// What waits for the person, oldest first.
    pub fn pending(&self) -> Vec<Pending> {
        Queue::of(&self.home).list()
    }

    /// Does what waits under this id (or a unique beginning of it).
    ///
    /// # Errors
    /// When nothing waits under it, or it cannot be done any more; then it goes on waiting.
    pub fn approve(&self, id: &str) -> Result<(Pending, Written), MemoryError> {
        let queue = Queue::of(&self.home);
        let pending = queue.find(id)?;
        let written = self.apply(pending.target, &pending.operations, &pending.author)?;
        queue.drop(&pending.id)?;
        Ok((pending, written))
    }

    /// Forgets what waits under this id.
    ///
    /// # Errors
    /// When nothing waits under it.
    pub fn reject(&self, id: &str) -> Result<Pending, MemoryError> {
        let queue = Queue::of(&self.home);
        let pending = queue.find(id)?;
        queue.drop(&pending.id)?;
        Ok(pending)
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        &self.home
    }
}

/// One file, before and after.
struct Change {
    target: Target,
    summary: String,
    undoes: Option<String>,
    before: String,
    after: String,
}
