//! Reviews that are to be done: `pending/reviews/<id>.json`.
//!
//! A ticket is written before its review starts and removed when it is done, so
//! that neither the end of the process nor a kill loses one. Whoever works on a
//! ticket holds a lock on its file, which the system takes back from the dead.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use talaria_types::Timestamp;

use crate::clock;
use crate::nudge::Due;

/// A review that failed this often is given up.
const TRIES: u32 = 3;
/// A conversation that has rested this long is not looked back at any more.
const OLDEST: f64 = 7.0 * 86_400.0;

/// No more than these wait: a home that is only used by scripts does not fill up.
const MOST: usize = 50;

/// One review that is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ticket {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) memory: bool,
    pub(super) skills: bool,
    pub(super) created_at: f64,
    /// How often it was tried.
    #[serde(default)]
    pub(super) tries: u32,
}

impl Ticket {
    /// What it should look for.
    pub(super) fn due(&self) -> Due {
        Due {
            memory: self.memory,
            skills: self.skills,
        }
    }
}

/// The folder of tickets.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    folder: PathBuf,
}

/// A ticket that is worked on here.
pub(super) struct Claim {
    pub(super) ticket: Ticket,
    path: PathBuf,
    _lock: File,
}

impl Queue {
    pub(super) fn of(home: &Path) -> Self {
        Self {
            folder: home.join("pending/reviews"),
        }
    }

    /// Writes a ticket and takes it at once; nothing when too many wait or the disk does not want it.
    pub(super) fn push(&self, session: &str, due: Due) -> Option<Claim> {
        let waiting = std::fs::read_dir(&self.folder).map_or(0, Iterator::count);
        if waiting >= MOST {
            return None;
        }
        let ticket = Ticket {
            id: format!("{:016x}", clock::entropy()),
            session: session.to_owned(),
            memory: due.memory,
            skills: due.skills,
            created_at: clock::now().0,
            tries: 0,
        };
        std::fs::create_dir_all(&self.folder).ok()?;
        let path = self.path(&ticket.id);
        write(&path, &ticket)?;
        claim(&path)
    }

    /// Whether anything waits; a look at one folder.
    pub(super) fn has_waiting(&self) -> bool {
        std::fs::read_dir(&self.folder).is_ok_and(|mut files| files.next().is_some())
    }

    /// Takes the oldest ticket that nobody works on, `except` these. What is too old or failed too often is
    /// thrown away.
    pub(super) fn take(&self, except: &[String]) -> Option<Claim> {
        let files = std::fs::read_dir(&self.folder).ok()?.flatten();
        let mut claims: Vec<Claim> = files.filter_map(|file| claim(&file.path())).collect();
        claims.sort_by(|a, b| a.ticket.created_at.total_cmp(&b.ticket.created_at));
        let now = clock::now();
        let mut taken = None;
        for claim in claims {
            let ticket = &claim.ticket;
            if ticket.tries >= TRIES || now.since(Timestamp(ticket.created_at)) > OLDEST {
                claim.done();
            } else if taken.is_none() && !except.contains(&ticket.id) {
                taken = Some(claim);
            }
        }
        taken
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}

impl Claim {
    /// The review is done, or not worth doing.
    pub(super) fn done(self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// It is tried; a try that ends the process counts too.
    pub(super) fn tried(&mut self) {
        self.ticket.tries += 1;
        self.keep();
    }

    /// The try was stopped from outside, which says nothing against the review.
    pub(super) fn stopped(&mut self) {
        self.ticket.tries = self.ticket.tries.saturating_sub(1);
        self.keep();
    }

    fn keep(&self) {
        if write(&self.path, &self.ticket).is_none() {
            tracing::warn!(review = %self.ticket.id, "the try of a review could not be counted");
        }
    }
}

/// Writes in place: the file's lock must stay with it.
fn write(path: &Path, ticket: &Ticket) -> Option<()> {
    let text = serde_json::to_string(ticket).ok()?;
    std::fs::write(path, text).ok()
}

/// Takes a ticket's file, unless another process has it or has just finished it.
fn claim(path: &Path) -> Option<Claim> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let text = std::fs::read_to_string(path).ok()?;
    let ticket = serde_json::from_str(&text).ok()?;
    Some(Claim {
        ticket,
        path: path.to_owned(),
        _lock: file,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: Due = Due {
        memory: true,
        skills: false,
    };

    #[test]
    fn a_ticket_is_worked_on_once_and_stays_until_it_is_done() {
        let home = tempfile::tempdir().unwrap();
        let queue = Queue::of(home.path());
        assert!(!queue.has_waiting() && queue.take(&[]).is_none());
        let claim = queue.push("s1", DUE).unwrap();
        assert!(queue.take(&[]).is_none(), "somebody works on it");
        drop(claim);
        let again = queue.take(&[]).unwrap();
        assert_eq!((again.ticket.session.as_str(), again.ticket.due()), ("s1", DUE));
        again.done();
        assert!(!queue.has_waiting());
    }

    #[test]
    fn a_review_that_fails_again_and_again_is_given_up() {
        let home = tempfile::tempdir().unwrap();
        let queue = Queue::of(home.path());
        drop(queue.push("s1", DUE));
        for _ in 0..TRIES {
            queue.take(&[]).unwrap().tried();
        }
        assert!(queue.take(&[]).is_none() && !queue.has_waiting());
    }

    #[test]
    fn a_file_that_is_no_ticket_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let queue = Queue::of(home.path());
        drop(queue.push("s1", DUE));
        std::fs::write(home.path().join("pending/reviews/x.json"), "{").unwrap();
        assert_eq!(queue.take(&[]).unwrap().ticket.session, "s1");
    }
}
