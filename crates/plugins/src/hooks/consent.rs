//! Which hooks the person has allowed: `shell-hooks-allowlist.json` of the home.
//!
//! The file is Hermes' (`approvals`, by event and command). Beside it this program keeps a
//! digest of the command and of every script it names, so that a changed script is asked
//! about again, and what was refused, so that it is not.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::spec::{HookSpec, Origin};

/// Larger scripts are known by size and time, not by content, in bytes.
const READ_WHOLE: u64 = 16 * 1024 * 1024;

/// What the person has said about a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may run.
    Allowed,
    /// It may not.
    Refused,
    /// They were never asked about it as it is now.
    Open,
}

impl Standing {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Refused => "disabled",
            Self::Open => "not allowed yet",
        }
    }
}

/// The file.
#[derive(Clone, Debug)]
pub struct Consents {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    approvals: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    disabled: Vec<Entry>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    event: String,
    command: String,
    #[serde(default)]
    approved_at: String,
    #[serde(default)]
    script_mtime_at_approval: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {detail}")]
pub struct ConsentError {
    path: String,
    detail: String,
}

/// A hook as it is now: its digest, and what its files looked like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) sha256: String,
    pub(crate) stamps: Vec<Stamp>,
}

/// A file as the file system shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    path: PathBuf,
    facts: Option<(u64, SystemTime)>,
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let facts = std::fs::metadata(path).ok();
        Self {
            path: path.to_owned(),
            facts: facts.and_then(|facts| Some((facts.len(), facts.modified().ok()?))),
        }
    }

    fn is_current(&self) -> bool {
        Self::of(&self.path) == *self
    }
}

impl Identity {
    /// The hook as its files are now.
    pub(crate) fn of(spec: &HookSpec, user_home: &Path) -> Self {
        let mut digest = Sha256::new();
        let mut add = |part: &[u8]| {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        };
        add(b"hook 1");
        // What is allowed in one project is not allowed in another.
        if let Origin::Project(_) = spec.origin {
            add(spec.root.as_os_str().as_encoded_bytes());
        }
        add(spec.event_name().as_bytes());
        add(spec.command.as_bytes());
        let files = spec.files(user_home);
        let stamps: Vec<Stamp> = files.iter().map(|file| Stamp::of(file)).collect();
        for stamp in &stamps {
            add(stamp.path.as_os_str().as_encoded_bytes());
            match stamp.facts {
                Some((size, _)) if size <= READ_WHOLE => add(&std::fs::read(&stamp.path).unwrap_or_default()),
                other => add(format!("{other:?}").as_bytes()),
            }
        }
        Self {
            sha256: digest
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
            stamps,
        }
    }

    /// Whether the files still look the same.
    pub(crate) fn is_current(&self) -> bool {
        self.stamps.iter().all(Stamp::is_current)
    }

    /// When the first of its files was changed last, as Hermes writes it.
    fn script_time(&self) -> Option<String> {
        let (_, time) = self.stamps.first()?.facts?;
        jiff::Timestamp::try_from(time).ok().map(|time| time.to_string())
    }
}

impl Consents {
    /// Those of a home.
    pub fn of_home(root: &Path) -> Self {
        Self {
            path: root.join("shell-hooks-allowlist.json"),
        }
    }

    /// What was said about this hook as it is now. A file that cannot be read allows nothing.
    pub(crate) fn standing(&self, spec: &HookSpec, identity: &Identity) -> Standing {
        let Ok(kept) = self.read() else {
            return Standing::Open;
        };
        let is_same = |entry: &Entry| entry.sha256.as_deref() == Some(&identity.sha256);
        if kept.disabled.iter().any(is_same) {
            return Standing::Refused;
        }
        let was_hermes = |entry: &Entry| {
            entry.sha256.is_none()
                && spec.origin == Origin::Home
                && entry.event == spec.event_name()
                && entry.command == spec.command
                && same_time(entry.script_mtime_at_approval.as_deref(), identity)
        };
        if kept
            .approvals
            .iter()
            .any(|entry| is_same(entry) || was_hermes(entry))
        {
            return Standing::Allowed;
        }
        Standing::Open
    }

    /// Writes down what the person said.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(crate) fn decide(
        &self,
        spec: &HookSpec,
        identity: &Identity,
        allowed: bool,
    ) -> Result<(), ConsentError> {
        let mut kept = self.read()?;
        let is_it = |entry: &Entry| {
            entry.sha256.as_deref() == Some(&identity.sha256)
                || (entry.sha256.is_none()
                    && entry.event == spec.event_name()
                    && entry.command == spec.command)
        };
        kept.approvals.retain(|entry| !is_it(entry));
        kept.disabled.retain(|entry| !is_it(entry));
        let entry = Entry {
            event: spec.event_name().to_owned(),
            command: spec.command.clone(),
            approved_at: jiff::Timestamp::now().to_string(),
            script_mtime_at_approval: identity.script_time(),
            sha256: Some(identity.sha256.clone()),
            rest: Map::new(),
        };
        if allowed {
            &mut kept.approvals
        } else {
            &mut kept.disabled
        }
        .push(entry);
        self.write(&kept)
    }

    fn read(&self) -> Result<Kept, ConsentError> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Kept::default()),
            Err(error) => return Err(self.error(error.to_string())),
        };
        serde_json::from_str(&text).map_err(|error| self.error(format!("no list of allowed hooks: {error}")))
    }

    fn write(&self, kept: &Kept) -> Result<(), ConsentError> {
        let text = serde_json::to_string_pretty(kept).map_err(|error| self.error(error.to_string()))?;
        let folder = self.path.parent().unwrap_or_else(|| Path::new("."));
        let written = (|| {
            std::fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.persist(&self.path).map_err(|error| error.error)?;
            Ok::<(), std::io::Error>(())
        })();
        written.map_err(|error| self.error(error.to_string()))
    }

    fn error(&self, detail: String) -> ConsentError {
        ConsentError {
            path: self.path.display().to_string(),
            detail,
        }
    }
}

/// Whether the script is as old as when Hermes' user allowed it, to the second.
fn same_time(noted: Option<&str>, identity: &Identity) -> bool {
    let seconds = |text: &str| {
        text.parse::<jiff::Timestamp>()
            .ok()
            .map(jiff::Timestamp::as_second)
    };
    match (noted, identity.script_time()) {
        (None, None) => true,
        (Some(noted), Some(now)) => seconds(noted).is_some() && seconds(noted) == seconds(&now),
        _ => false,
    }
}
