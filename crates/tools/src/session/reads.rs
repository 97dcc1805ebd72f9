//! Which parts of which files the model has seen, so that it is not sent them again
//! and is warned before it overwrites what it has not seen.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How a file was when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    size: u64,
}

impl Stamp {
    pub(crate) fn of(metadata: &std::fs::Metadata) -> Self {
        Self {
            modified: metadata.modified().ok(),
            size: metadata.len(),
        }
    }
}

/// Whether a look-up was made before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It is new, or what it looks at has changed.
    No,
    /// The same was asked before and nothing has changed.
    Unchanged,
    /// The same was asked again and again.
    Blocked,
}

/// A page of a file: path, first line, number of lines.
pub(crate) type View = (PathBuf, u64, u64);

/// The log.
#[derive(Debug, Default)]
pub(crate) struct ReadLog {
    views: HashMap<View, (Stamp, u32)>,
    stamps: HashMap<PathBuf, Stamp>,
    search: Option<(String, u32)>,
    /// Files that were written here.
    made: HashSet<PathBuf>,
}

impl ReadLog {
    /// Whether this page was already sent, unchanged since.
    pub(crate) fn repeat(&mut self, path: &Path, offset: u64, limit: u64, now: Stamp) -> Repeat {
        match self.views.get_mut(&(path.to_owned(), offset, limit)) {
            Some((then, hits)) if *then == now => {
                *hits += 1;
                if *hits == 1 {
                    Repeat::Unchanged
                } else {
                    Repeat::Blocked
                }
            }
            _ => Repeat::No,
        }
    }

    /// This page was sent.
    pub(crate) fn viewed(&mut self, path: &Path, offset: u64, limit: u64, now: Stamp) {
        self.views.insert((path.to_owned(), offset, limit), (now, 0));
        self.stamps.insert(path.to_owned(), now);
    }

    /// The file was written by a tool of this session; what was seen of it is void.
    pub(crate) fn written(&mut self, path: &Path, now: Option<Stamp>) {
        self.views.retain(|(seen, _, _), _| seen != path);
        match now {
            Some(now) => {
                self.made.insert(path.to_owned());
                self.stamps.insert(path.to_owned(), now)
            }
            None => self.stamps.remove(path),
        };
    }

    /// The files that were written here.
    pub(crate) fn made(&self) -> &HashSet<PathBuf> {
        &self.made
    }

    /// These are, or are about to be.
    pub(crate) fn makes(&mut self, files: Vec<PathBuf>) {
        const MOST: usize = 4_096;
        let room = MOST.saturating_sub(self.made.len());
        self.made.extend(files.into_iter().take(room));
    }

    /// Whether the file was changed by someone else since it was last read or written here.
    pub(crate) fn stale(&self, path: &Path, now: Stamp) -> bool {
        self.stamps.get(path).is_some_and(|then| *then != now)
    }

    /// The files that are not any more as they were when they were last read or written here, each told once.
    pub(crate) fn take_changed(&mut self, now: impl Fn(&Path) -> Option<Stamp>) -> Vec<PathBuf> {
        let changed = |(path, then): &(&PathBuf, &Stamp)| now(path) != Some(**then);
        let mut paths: Vec<PathBuf> = self
            .stamps
            .iter()
            .filter(changed)
            .map(|(path, _)| path.clone())
            .collect();
        paths.sort();
        self.views.retain(|(seen, _, _), _| !paths.contains(seen));
        paths
    }

    /// Counts the same search in a row: 1 for a new one.
    pub(crate) fn searched(&mut self, key: String) -> u32 {
        let count = match &self.search {
            Some((last, count)) if *last == key => count + 1,
            _ => 1,
        };
        self.search = Some((key, count));
        count
    }

    /// Another tool ran, so looking again may show something new.
    pub(crate) fn other_tool(&mut self) {
        self.search = None;
    }

    /// Takes the views away, so that a look at a file is answered as if it were the first.
    pub(crate) fn set_aside(&mut self) -> HashMap<View, (Stamp, u32)> {
        std::mem::take(&mut self.views)
    }

    /// The views are again what the model was sent; those since were none.
    pub(crate) fn put_back(&mut self, views: HashMap<View, (Stamp, u32)>) {
        self.views = views;
    }

    /// The model no longer has what it was sent.
    pub(crate) fn forget_views(&mut self) {
        self.views.clear();
        self.search = None;
    }
}
