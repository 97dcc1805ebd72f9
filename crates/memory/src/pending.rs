//! Writes that wait for the person's consent: `pending/memory/<id>.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::history::{Author, fresh_id};
use crate::{MemoryError, Operation, Target, file};

/// A write that waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pending {
    /// Names it.
    pub id: String,
    /// Which file.
    pub target: Target,
    /// What it would do.
    pub operations: Vec<Operation>,
    /// Who asked for it.
    pub author: Author,
    /// Why it waits.
    pub reason: String,
}

/// The file's shape, which is that of Hermes with more in it.
#[derive(Deserialize)]
struct Stored {
    id: String,
    #[serde(default)]
    origin: String,
    #[serde(default)]
    created_at: f64,
    payload: Value,
}

impl Pending {
    /// In one line.
    pub fn summary(&self) -> String {
        let all: Vec<String> = self.operations.iter().map(Operation::summary).collect();
        format!("{}: {}", self.target.as_str(), all.join("; "))
    }

    fn of(stored: &Stored) -> Option<Self> {
        let payload = &stored.payload;
        let target = serde_json::from_value(payload["target"].clone()).unwrap_or_default();
        let operations = match serde_json::from_value(payload["operations"].clone()) {
            Ok(operations) => operations,
            // One operation, as Hermes stages it.
            Err(_) => vec![serde_json::from_value(payload.clone()).ok()?],
        };
        let author = serde_json::from_value(payload["author"].clone()).unwrap_or_else(|_| Author {
            origin: if stored.origin == "background_review" {
                crate::Origin::BackgroundReview
            } else {
                crate::Origin::Foreground
            },
            session: String::new(),
            source: None,
            at: talaria_types::Timestamp(stored.created_at),
        });
        Some(Self {
            id: stored.id.clone(),
            target,
            operations,
            author,
            reason: payload["reason"].as_str().unwrap_or_default().to_owned(),
        })
    }
}

/// The folder of what waits.
pub(crate) struct Queue {
    folder: PathBuf,
}

impl Queue {
    pub(crate) fn of(home: &Path) -> Self {
        Self {
            folder: home.join("pending/memory"),
        }
    }

    pub(crate) fn push(
        &self,
        target: Target,
        operations: &[Operation],
        author: &Author,
        reason: &str,
    ) -> Result<Pending, MemoryError> {
        let pending = Pending {
            id: fresh_id(),
            target,
            operations: operations.to_vec(),
            author: author.clone(),
            reason: reason.to_owned(),
        };
        let action = operations.first().map_or("add", Operation::action);
        let value = json!({
            "id": pending.id, "subsystem": "memory", "action": action, "summary": pending.summary(),
            "origin": author.origin.as_str(), "created_at": author.at.0,
            "payload": {"target": target, "operations": operations, "author": author, "reason": reason},
        });
        std::fs::create_dir_all(&self.folder).map_err(MemoryError::at(&self.folder))?;
        file::replace(&self.path(&pending.id), &format!("{value:#}\n"))?;
        Ok(pending)
    }

    /// What waits, oldest first.
    pub(crate) fn list(&self) -> Vec<Pending> {
        let files = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut found: Vec<Pending> = files
            .filter(|file| file.path().extension().is_some_and(|end| end == "json"))
            .filter_map(|file| std::fs::read_to_string(file.path()).ok())
            .filter_map(|text| serde_json::from_str(&text).ok())
            .filter_map(|stored| Pending::of(&stored))
            .collect();
        found.sort_by(|a, b| {
            a.author
                .at
                .0
                .total_cmp(&b.author.at.0)
                .then_with(|| a.id.cmp(&b.id))
        });
        found
    }

    /// The one that is meant: by id, or a unique beginning of it.
    pub(crate) fn find(&self, id: &str) -> Result<Pending, MemoryError> {
        let mut found: Vec<Pending> = self
            .list()
            .into_iter()
            .filter(|one| one.id.starts_with(id))
            .collect();
        match (found.pop(), found.is_empty()) {
            (Some(one), true) if !id.is_empty() => Ok(one),
            _ => Err(MemoryError::Invalid(format!(
                "nothing that waits has the id {id:?}; `talaria memory pending` lists them"
            ))),
        }
    }

    pub(crate) fn drop(&self, id: &str) -> Result<(), MemoryError> {
        let path = self.path(id);
        std::fs::remove_file(&path).map_err(MemoryError::at(path))
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}
