//! Changes skills of the home: looked at before, copied before, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use talaria_types::Timestamp;

use crate::entry::{Entry, Kind};
use crate::front::{self, Front};
use crate::replace::{Miss, replace};
use crate::view::{BUCKETS, text_of};
use crate::{Change, Done, Library, SkillError, Used, Writer, files, guard};

/// The longest file, in characters.
const LONGEST: usize = 100_000;
/// The beginning of a file that an error shows.
const PREVIEW: usize = 500;
/// A text above this must not lose more than half of its lines in a review.
const STUB: usize = 2_000;

/// A `SKILL.md` that may be stored.
///
/// # Errors
/// When its head is missing or wrong, its body empty, or it is too long.
pub(crate) fn check(text: &str) -> Result<Front, SkillError> {
    let invalid = |text: &str| Err(SkillError::Invalid(text.to_owned()));
    let shape = "a SKILL.md begins with ---, lines `name: …` and `description: …`, --- and then its text";
    let Some(parted) = front::part(text) else {
        return invalid(&format!("the frontmatter is missing or not closed: {shape}"));
    };
    let front =
        front::read(parted.head).map_err(|error| SkillError::Invalid(format!("the frontmatter: {error}")))?;
    match &front.description {
        _ if front.name.is_none() => return invalid(&format!("the frontmatter has no name: {shape}")),
        None => return invalid(&format!("the frontmatter has no description: {shape}")),
        Some(text) if text.chars().count() > front::DESCRIPTION => {
            return invalid("the description is longer than 1024 characters");
        }
        Some(_) => {}
    }
    if parted.body.trim().is_empty() {
        return invalid("the skill has no text behind its frontmatter");
    }
    if text.chars().count() > LONGEST {
        return invalid("the skill is longer than 100000 characters; move parts of it to references/");
    }
    Ok(front)
}

impl Library {
    /// Does a change.
    ///
    /// # Errors
    /// When it is not valid, or the writer may not; then nothing has changed.
    pub fn change(&self, change: &Change, writer: Writer<'_>, at: Timestamp) -> Result<Done, SkillError> {
        let _lock = self.lock()?;
        let done = match change {
            Change::Create {
                name,
                content,
                category,
            } => self.create(name, content, category.as_deref())?,
            other => self.change_one(other, writer, at)?,
        };
        let what = match change {
            Change::Create { .. } => Used::Created {
                by_review: matches!(writer, Writer::Review { .. }),
            },
            Change::Delete { .. } => Used::Deleted,
            _ => Used::Patched,
        };
        self.count(&done.name, what, at)?;
        Ok(done)
    }

    fn create(&self, name: &str, content: &str, category: Option<&str>) -> Result<Done, SkillError> {
        let shape = "letters a-z, digits, . _ and -, at most 64, and it begins with a letter or digit";
        let named = |what: &str, text: &str| {
            let error = || SkillError::Invalid(format!("{text:?} cannot be a {what}: {shape}"));
            front::is_name(text).then_some(()).ok_or_else(error)
        };
        named("skill's name", name)?;
        let category = category.map(str::trim).filter(|category| !category.is_empty());
        category.map_or(Ok(()), |category| named("category", category))?;
        check(content)?;
        refuse_dangerous("SKILL.md", content)?;
        let folder = category
            .map_or_else(|| self.local(), |category| self.local().join(category))
            .join(name);
        let taken = self
            .all()
            .iter()
            .any(|entry| entry.name == name && entry.kind != Kind::Bundled);
        if taken || folder.exists() {
            return Err(SkillError::Invalid(format!(
                "a skill {name:?} exists already; patch or edit it, or take another name"
            )));
        }
        let file = folder.join("SKILL.md");
        files::replace(&file, content.as_bytes())?;
        Ok(Done {
            message: format!("Skill '{name}' created."),
            name: name.to_owned(),
            action: "create",
            path: file.to_string_lossy().into_owned(),
            snapshot: None,
        })
    }

    /// A change of a skill that is there.
    fn change_one(&self, change: &Change, writer: Writer<'_>, at: Timestamp) -> Result<Done, SkillError> {
        let entry = self.find(change.name())?;
        self.may(&entry, change, writer)?;
        let folder = self.own_folder(&entry)?;
        let (target, text) = self.result(&entry, &folder, change)?;
        if let (Some(text), Writer::Review { .. }) = (&text, writer) {
            refuse_stub(&target, text)?;
        }
        if entry.kind == Kind::Bundled {
            // The program's own stays as it is; from now on the home has one of its own.
            files::replace(&folder.join("SKILL.md"), text_of(&entry)?.as_bytes())?;
        }
        let snapshot = self.snapshot(&folder, change.action(), at)?;
        match text {
            Some(text) => files::replace(&target, text.as_bytes())?,
            None => remove(&target, &self.local())?,
        }
        Ok(Done {
            message: told(change, &entry.name),
            name: entry.name,
            action: change.action(),
            path: target.to_string_lossy().into_owned(),
            snapshot: Some(snapshot),
        })
    }

    /// The folder of a skill that may be written to.
    fn own_folder(&self, entry: &Entry) -> Result<PathBuf, SkillError> {
        let folder = match entry.kind {
            Kind::Local => entry.folder.clone(),
            Kind::Bundled => self.local().join(&entry.category).join(&entry.name),
            Kind::Project | Kind::Personal | Kind::External => {
                return Err(SkillError::Refused(format!(
                    "the skill {:?} lies outside of the home ({}) and is only read; create one of the same name to stand in front of it",
                    entry.name,
                    entry.folder.display()
                )));
            }
        };
        let is_link = fs::symlink_metadata(&folder).is_ok_and(|data| data.is_symlink());
        if is_link {
            return Err(SkillError::Refused(format!(
                "the skill {:?} is a link to another folder and is only read",
                entry.name
            )));
        }
        Ok(folder)
    }

    /// Whether this writer may do that to this skill.
    fn may(&self, entry: &Entry, change: &Change, writer: Writer<'_>) -> Result<(), SkillError> {
        let record = self.usage().remove(&entry.name).unwrap_or_default();
        let refused = |text: String| Err(SkillError::Refused(text));
        let deletes = matches!(change, Change::Delete { .. });
        if deletes && record.pinned {
            return refused(format!("the skill {:?} is pinned; it is not deleted", entry.name));
        }
        if let Change::Delete { absorbed_into, .. } = change
            && !absorbed_into.is_empty()
        {
            let into = self.find(absorbed_into)?;
            if into.name == entry.name {
                return refused("a skill cannot be absorbed into itself".to_owned());
            }
        }
        let Writer::Review { has_read } = writer else {
            return Ok(());
        };
        let name = &entry.name;
        if !record.is_agents() || entry.kind != Kind::Local {
            return refused(format!(
                "the review may only change skills the agent made itself; {name:?} is not one of them"
            ));
        }
        if deletes {
            return refused(format!("the review does not delete skills; {name:?} stays"));
        }
        if !has_read(name) {
            return refused(format!(
                "read the skill first: skill_view({name:?}), then change it"
            ));
        }
        Ok(())
    }

    /// Which file a change leaves with which text; without a text it is removed.
    fn result(
        &self,
        entry: &Entry,
        folder: &Path,
        change: &Change,
    ) -> Result<(PathBuf, Option<String>), SkillError> {
        let main = folder.join("SKILL.md");
        match change {
            Change::Create { content, .. } | Change::Edit { content, .. } => {
                check(content)?;
                refuse_dangerous("SKILL.md", content)?;
                Ok((main, Some(content.clone())))
            }
            Change::Patch {
                file_path,
                old_string,
                new_string,
                replace_all,
                ..
            } => {
                let file = file_path
                    .as_deref()
                    .filter(|file| !file.is_empty() && *file != "SKILL.md");
                let (path, text) = match file {
                    None => (main, text_of(entry)?),
                    Some(file) => {
                        let path = support_file(folder, file)?;
                        let text = fs::read_to_string(&path).map_err(SkillError::at(&path))?;
                        (path, text)
                    }
                };
                let patched = patch(&text, old_string, new_string, *replace_all)?;
                if file.is_none() {
                    check(&patched)?;
                }
                refuse_dangerous(file.unwrap_or("SKILL.md"), &patched)?;
                Ok((path, Some(patched)))
            }
            Change::WriteFile {
                file_path,
                file_content,
                ..
            } => {
                if file_content.chars().count() > LONGEST {
                    return Err(SkillError::Invalid(
                        "the file is longer than 100000 characters".to_owned(),
                    ));
                }
                refuse_dangerous(file_path, file_content)?;
                Ok((support_file(folder, file_path)?, Some(file_content.clone())))
            }
            Change::RemoveFile { file_path, .. } => {
                let path = support_file(folder, file_path)?;
                if path.is_file() {
                    return Ok((path, None));
                }
                let available = files::list(folder).into_iter();
                Err(SkillError::NoFile {
                    skill: entry.name.clone(),
                    file: file_path.clone(),
                    available: available
                        .map(|path| path.to_string_lossy().into_owned())
                        .collect(),
                })
            }
            Change::Delete { .. } if entry.kind == Kind::Bundled => Err(SkillError::Refused(format!(
                "{:?} is part of the program; `skills.disabled` in the configuration switches it off",
                entry.name
            ))),
            Change::Delete { .. } => Ok((folder.to_owned(), None)),
        }
    }
}

fn told(change: &Change, name: &str) -> String {
    match change {
        Change::Create { .. } => format!("Skill '{name}' created."),
        Change::Edit { .. } => format!("Skill '{name}' updated."),
        Change::Patch { .. } => format!("Skill '{name}' patched."),
        Change::Delete { .. } => format!("Skill '{name}' deleted."),
        Change::WriteFile { file_path, .. } => format!("File '{file_path}' written to skill '{name}'."),
        Change::RemoveFile { file_path, .. } => format!("File '{file_path}' removed from skill '{name}'."),
    }
}

fn support_file(folder: &Path, file: &str) -> Result<PathBuf, SkillError> {
    let path = files::inside(folder, file)?;
    let relative = Path::new(file.trim());
    let bucket = relative
        .components()
        .next()
        .map(|part| part.as_os_str().to_string_lossy());
    let allowed =
        bucket.is_some_and(|bucket| BUCKETS.contains(&&*bucket)) && relative.components().count() > 1;
    if allowed {
        return Ok(path);
    }
    Err(SkillError::Refused(format!(
        "the path {file:?} is refused: support files go below references/, templates/, scripts/ or assets/"
    )))
}

fn patch(text: &str, old: &str, new: &str, all: bool) -> Result<String, SkillError> {
    let missed = |message: String| SkillError::NoMatch {
        message,
        preview: crate::entry::cut(text, PREVIEW),
    };
    if old.is_empty() {
        return Err(missed(
            "old_string is empty: give the text that is to be replaced".to_owned(),
        ));
    }
    match replace(text, old, new, all) {
        Ok((patched, _)) => Ok(patched),
        Err(Miss::Absent) => Err(missed(
            "old_string was not found in the file; view the skill and copy the text exactly".to_owned(),
        )),
        Err(Miss::Several(count)) => Err(missed(format!(
            "old_string was found {count} times; give more of the text around it, or replace_all"
        ))),
    }
}

fn refuse_dangerous(file: &str, text: &str) -> Result<(), SkillError> {
    let found = guard::scan_text(file, text);
    if guard::verdict(&found) != guard::Verdict::Dangerous {
        return Ok(());
    }
    let worst = found
        .iter()
        .filter(|finding| finding.severity == guard::Severity::Critical);
    let told: Vec<String> = worst.map(ToString::to_string).collect();
    Err(SkillError::Dangerous(format!(
        "refused, the text looks dangerous: {}",
        told.join("; ")
    )))
}

/// In a review a long text must not shrink to a stub: what a review forgets, nobody notices.
fn refuse_stub(target: &Path, text: &str) -> Result<(), SkillError> {
    let old = fs::read_to_string(target).unwrap_or_default();
    if old.len() > STUB && text.len() * 2 < old.len() {
        return Err(SkillError::Refused(format!(
            "refused: it would shrink {} from {} to {} bytes; patch what changed instead of rewriting it",
            target.file_name().unwrap_or_default().to_string_lossy(),
            old.len(),
            text.len()
        )));
    }
    Ok(())
}

/// Removes a file or folder, and the folders above it that are empty then, up to `root`.
fn remove(target: &Path, root: &Path) -> Result<(), SkillError> {
    let failed = SkillError::at(target);
    if target.is_dir() {
        fs::remove_dir_all(target).map_err(failed)?;
    } else {
        fs::remove_file(target).map_err(failed)?;
    }
    let mut above = target.parent();
    while let Some(folder) = above.filter(|folder| *folder != root && folder.starts_with(root)) {
        if folder.join("SKILL.md").exists() || fs::remove_dir(folder).is_err() {
            break;
        }
        above = folder.parent();
    }
    Ok(())
}
