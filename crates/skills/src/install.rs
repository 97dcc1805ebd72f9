//! Brings skills in from outside: a folder, an archive, a repository.
//!
//! They are unpacked into a folder of their own first and looked at there; only
//! what passes comes among the others. Where it came from is written down.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::GzDecoder;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use talaria_types::Timestamp;

use crate::guard::{Finding, Verdict, scan_folder, verdict};
use crate::{Library, SkillError, files, front, manage};

/// The most an archive may unpack to.
const MOST_UNPACKED: u64 = 64 * 1024 * 1024;

/// The most files a folder to install from may hold.
const MOST_FILES: usize = 5_000;

/// Where skills are installed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A folder.
    Folder(PathBuf),
    /// A `.tar`, `.tar.gz` or `.tgz` file.
    Archive(PathBuf),
    /// A repository that `git clone` understands.
    Git(String),
}

impl Source {
    /// What a word on the command line means.
    ///
    /// # Errors
    /// When it is neither there nor the address of a repository.
    pub fn parse(word: &str) -> Result<Self, SkillError> {
        let path = Path::new(word);
        if path.is_dir() {
            return Ok(Self::Folder(path.to_owned()));
        }
        if path.is_file() {
            return Ok(Self::Archive(path.to_owned()));
        }
        let starts = ["https://", "http://", "ssh://", "git://", "git@", "file://"];
        if starts.iter().any(|start| word.starts_with(start)) {
            return Ok(Self::Git(word.to_owned()));
        }
        Err(SkillError::Invalid(format!(
            "{word:?} is no folder, no archive and no address of a git repository"
        )))
    }

    fn told(&self) -> String {
        match self {
            Self::Folder(path) | Self::Archive(path) => path.display().to_string(),
            Self::Git(url) => url.clone(),
        }
    }
}

/// A skill that was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What was found in it.
    pub findings: Vec<Finding>,
    /// `sha256:` and sixteen digits of its content.
    pub hash: String,
}

impl Library {
    /// Installs every skill of a source, or none of them. With `force` also what looks dangerous.
    ///
    /// # Errors
    /// When it cannot be had, holds no skill, is there already, or looks dangerous.
    pub fn install(
        &self,
        source: &Source,
        category: Option<&str>,
        force: bool,
        at: Timestamp,
    ) -> Result<Vec<Installed>, SkillError> {
        let quarantine = self.local().join(".hub/quarantine");
        fs::create_dir_all(&quarantine).map_err(SkillError::at(&quarantine))?;
        let place = tempfile::tempdir_in(&quarantine).map_err(SkillError::at(&quarantine))?;
        fetch(source, &place.path().join("source"))?;
        let mut folders = Vec::new();
        skill_folders(place.path(), 0, &mut folders);
        if folders.is_empty() {
            return Err(SkillError::Invalid(format!(
                "there is no SKILL.md in {}",
                source.told()
            )));
        }
        let mut checked = Vec::new();
        for folder in folders {
            checked.push(self.checked(&folder, category, force)?);
        }
        let _lock = self.lock()?;
        for (folder, installed) in &checked {
            // Files of the repository around it (.git, links) do not come along.
            files::copy(folder, &installed.path)?;
        }
        let installed: Vec<Installed> = checked.into_iter().map(|(_, installed)| installed).collect();
        self.write_lock(source, &installed, at)?;
        Ok(installed)
    }

    fn checked(
        &self,
        folder: &Path,
        category: Option<&str>,
        force: bool,
    ) -> Result<(PathBuf, Installed), SkillError> {
        let file = folder.join("SKILL.md");
        let text = fs::read_to_string(&file).map_err(SkillError::at(&file))?;
        let front = manage::check(&text)?;
        let name = front.name.map(|name| crate::slug(&name)).unwrap_or_default();
        let category = category.map_or(Ok(None), |category| match front::is_name(category) {
            true => Ok(Some(category)),
            false => Err(SkillError::Invalid(format!("{category:?} cannot be a category"))),
        })?;
        if !front::is_name(&name) {
            return Err(SkillError::Invalid(format!(
                "{} has no usable name",
                file.display()
            )));
        }
        let path = category
            .map_or_else(|| self.local(), |category| self.local().join(category))
            .join(&name);
        if path.exists() {
            return Err(SkillError::Refused(format!(
                "a skill {name:?} is there already; archive it first (talaria skills archive {name})"
            )));
        }
        let findings = scan_folder(folder);
        let verdict = verdict(&findings);
        if verdict != Verdict::Safe && !force {
            let told: Vec<String> = findings.iter().map(|finding| format!("  {finding}")).collect();
            return Err(SkillError::Dangerous(format!(
                "{name:?} was not installed, it {}:\n{}\nread it; --force installs it all the same",
                if verdict == Verdict::Dangerous {
                    "looks dangerous"
                } else {
                    "needs a look"
                },
                told.join("\n")
            )));
        }
        let installed = Installed {
            hash: hash(folder),
            name,
            path,
            findings,
        };
        Ok((folder.to_owned(), installed))
    }

    /// Writes down what came from where: `skills/.hub/lock.json`, and a line of `audit.log`.
    fn write_lock(&self, source: &Source, installed: &[Installed], at: Timestamp) -> Result<(), SkillError> {
        let path = self.local().join(".hub/lock.json");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut lock: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({"version": 1}));
        for skill in installed {
            lock["installed"][&skill.name] = json!({
                "source": source.told(), "trust_level": "community", "content_hash": skill.hash,
                "install_path": skill.path.strip_prefix(self.local()).unwrap_or(&skill.path),
                "installed_at": crate::usage::iso(at),
            });
        }
        files::replace(&path, format!("{lock:#}\n").as_bytes())?;
        let log = self.local().join(".hub/audit.log");
        let mut lines = fs::read_to_string(&log).unwrap_or_default();
        for skill in installed {
            let (at, name, hash) = (crate::usage::iso(at), &skill.name, &skill.hash);
            lines.push_str(&format!("{at} INSTALL {name} {} {hash}\n", source.told()));
        }
        files::replace(&log, lines.as_bytes())
    }

    /// What was installed from where, by name.
    pub fn installed(&self) -> Value {
        let text = fs::read_to_string(self.local().join(".hub/lock.json")).unwrap_or_default();
        let lock: Value = serde_json::from_str(&text).unwrap_or_default();
        lock["installed"].clone()
    }
}

fn fetch(source: &Source, target: &Path) -> Result<(), SkillError> {
    match source {
        Source::Folder(path) => {
            let found = scan_folder(path)
                .into_iter()
                .find(|finding| finding.id == "symlink_escape");
            if let Some(finding) = found {
                return Err(SkillError::Dangerous(format!("not installed: {finding}")));
            }
            refuse_large(path)?;
            files::copy(path, target)
        }
        Source::Archive(path) => unpack(path, target),
        Source::Git(url) => clone(url, target),
    }
}

/// A folder that is no skill but somebody's disk.
fn refuse_large(folder: &Path) -> Result<(), SkillError> {
    let listed = files::list(folder);
    let sizes = listed
        .iter()
        .map(|path| folder.join(path).metadata().map_or(0, |data| data.len()));
    if listed.len() > MOST_FILES || sizes.sum::<u64>() > MOST_UNPACKED {
        return Err(SkillError::Refused(format!(
            "{} holds more than {MOST_FILES} files or 64 MiB; name the folder of the skills themselves",
            folder.display()
        )));
    }
    Ok(())
}

/// Unpacks regular files and folders; links and everything else in an archive is left out.
fn unpack(path: &Path, target: &Path) -> Result<(), SkillError> {
    let failed = |error: std::io::Error| SkillError::at(path)(error);
    let bytes = fs::read(path).map_err(failed)?;
    let reader: Box<dyn std::io::Read> = if bytes.starts_with(&[0x1f, 0x8b]) {
        Box::new(GzDecoder::new(bytes.as_slice()))
    } else {
        Box::new(bytes.as_slice())
    };
    let mut archive = tar::Archive::new(reader);
    let mut left = MOST_UNPACKED;
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let kind = entry.header().entry_type();
        left = left.checked_sub(entry.size()).ok_or_else(|| {
            SkillError::Dangerous(format!("{} unpacks to more than 64 MiB", path.display()))
        })?;
        if kind.is_file() || kind.is_dir() {
            // It refuses paths that lead out of the target.
            entry.unpack_in(ready(target)?).map_err(failed)?;
        }
    }
    Ok(())
}

fn ready(folder: &Path) -> Result<&Path, SkillError> {
    fs::create_dir_all(folder).map_err(SkillError::at(folder))?;
    Ok(folder)
}

fn clone(url: &str, target: &Path) -> Result<(), SkillError> {
    let output = Command::new("git")
        .args([
            "-c",
            "protocol.ext.allow=never",
            "clone",
            "--quiet",
            "--depth",
            "1",
            "--",
            url,
        ])
        .arg(target)
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| SkillError::Failed(format!("git cannot be started: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(SkillError::Failed(format!(
        "git clone {url} failed: {}",
        said.trim()
    )))
}

/// Folders with a SKILL.md, topmost first; what is below one belongs to it.
fn skill_folders(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if folder.join("SKILL.md").is_file() {
        found.push(folder.to_owned());
        return;
    }
    if depth > 6 {
        return;
    }
    let mut inner: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|item| item.file_type().is_ok_and(|kind| kind.is_dir()) && item.file_name() != ".git")
        .map(|item| item.path())
        .collect();
    inner.sort();
    inner
        .iter()
        .for_each(|folder| skill_folders(folder, depth + 1, found));
}

fn hash(folder: &Path) -> String {
    let mut hasher = Sha256::new();
    for path in files::list(folder) {
        hasher.update(path.to_string_lossy().as_bytes());
        hasher.update([0]);
        hasher.update(fs::read(folder.join(&path)).unwrap_or_default());
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
