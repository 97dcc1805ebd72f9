//! A skill as the model reads it.

use std::path::Path;

use serde_json::{Value, json};

use crate::entry::{Entry, Kind};
use crate::{Library, SkillError, bundled, files, front};

/// The most characters of one file that are shown.
const MOST: usize = 100_000;
/// Folders of support files.
pub(crate) const BUCKETS: &[&str] = &["references", "templates", "scripts", "assets"];

/// A skill or one of its files.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The skill.
    pub entry: Entry,
    /// What the model reads, as JSON.
    pub told: Value,
    /// The text itself.
    pub content: String,
}

impl Library {
    /// Shows a skill, or one of its files.
    ///
    /// # Errors
    /// When there is no such skill or file, or the path leads out of it.
    pub fn view(&self, name: &str, file: Option<&str>, session: &str) -> Result<View, SkillError> {
        let entry = self.find(name)?;
        if !entry.fits {
            return Err(SkillError::Refused(format!(
                "the skill {:?} is not for this operating system",
                entry.name
            )));
        }
        match file
            .map(str::trim)
            .filter(|file| !file.is_empty() && *file != "SKILL.md")
        {
            Some(file) => view_file(entry, file),
            None => view_whole(entry, session),
        }
    }
}

/// The text of a skill's `SKILL.md`.
pub(crate) fn text_of(entry: &Entry) -> Result<String, SkillError> {
    if entry.kind == Kind::Bundled {
        return Ok(bundled::text(&entry.name).unwrap_or_default().to_owned());
    }
    let path = entry.folder.join("SKILL.md");
    let bytes = std::fs::read(&path).map_err(SkillError::at(&path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn view_whole(entry: Entry, session: &str) -> Result<View, SkillError> {
    let text = text_of(&entry)?;
    let front = front::part(&text)
        .and_then(|parted| front::read(parted.head).ok())
        .unwrap_or_default();
    let folder = if entry.kind == Kind::Bundled {
        String::new()
    } else {
        entry.folder.to_string_lossy().into_owned()
    };
    let filled = text
        .replace("${HERMES_SKILL_DIR}", &folder)
        .replace("${HERMES_SESSION_ID}", session);
    let content = crate::entry::cut(&filled, MOST);
    let mut told = json!({
        "success": true, "name": entry.name, "description": entry.description, "category": entry.category,
        "tags": front.list("metadata.hermes.tags"), "related_skills": front.list("metadata.hermes.related_skills"),
        "content": content, "skill_dir": folder, "linked_files": linked(&entry.folder),
        "readiness_status": "available",
    });
    let needs = missing(&front);
    if !needs.is_empty() {
        told["readiness_status"] = json!("setup_needed");
        told["missing_required_environment_variables"] = json!(needs);
    }
    if told["linked_files"]
        .as_object()
        .is_some_and(|files| !files.is_empty())
    {
        told["usage_hint"] = json!("skill_view(name, file_path) shows a linked file");
    }
    Ok(View { entry, told, content })
}

/// Variables a skill asks for that are not set.
fn missing(front: &front::Front) -> Vec<String> {
    let value = &front.all["required_environment_variables"];
    let mut names = front.list("prerequisites.env_vars");
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    for item in items {
        let is_optional = item["optional"].as_bool().unwrap_or(false);
        let name = item.as_str().or_else(|| item["name"].as_str());
        names.extend(name.filter(|_| !is_optional).map(str::to_owned));
    }
    if items.is_empty() {
        names.extend(front.list("required_environment_variables"));
    }
    names.retain(|name| std::env::var_os(name).is_none());
    names
}

/// Support files by their folder.
fn linked(folder: &Path) -> serde_json::Map<String, Value> {
    let mut buckets = serde_json::Map::new();
    for path in files::list(folder) {
        let Some(first) = path.components().next() else {
            continue;
        };
        let bucket = first.as_os_str().to_string_lossy().into_owned();
        if BUCKETS.contains(&bucket.as_str()) {
            let list = buckets.entry(bucket).or_insert_with(|| json!([]));
            if let Value::Array(list) = list {
                list.push(json!(path));
            }
        }
    }
    buckets
}

fn view_file(entry: Entry, file: &str) -> Result<View, SkillError> {
    let path = files::inside(&entry.folder, file)?;
    let bytes = match std::fs::read(&path) {
        Ok(bytes) if entry.kind != Kind::Bundled => bytes,
        _ => {
            let available = files::list(&entry.folder).into_iter();
            return Err(SkillError::NoFile {
                skill: entry.name,
                file: file.to_owned(),
                available: available
                    .map(|path| path.to_string_lossy().into_owned())
                    .collect(),
            });
        }
    };
    let kind = path.extension().map(|end| end.to_string_lossy().into_owned());
    let mut told = json!({"success": true, "name": entry.name, "file": file, "file_type": kind});
    let content = match String::from_utf8(bytes) {
        Ok(text) => crate::entry::cut(&text, MOST),
        Err(_) => {
            told["is_binary"] = json!(true);
            String::new()
        }
    };
    told["content"] = json!(content);
    Ok(View { entry, told, content })
}
