//! Changes of skills that wait for the person: `pending/skills/<id>.json`, as
//! Hermes stages them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use talaria_skills::{Change, Done, Library, SkillError, Writer};

use crate::clock;

/// A change that waits.
pub(crate) struct Waiting {
    pub(crate) id: String,
    pub(crate) change: Change,
}

fn folder(home: &Path) -> PathBuf {
    home.join("pending/skills")
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> SkillError {
    let path = path.to_owned();
    move |source| SkillError::File { path, source }
}

/// Puts a change aside; gives its id.
pub(crate) fn stage(home: &Path, change: &Change, origin: &str) -> Result<String, SkillError> {
    let id = format!("{:08x}", clock::entropy() as u32);
    let folder = folder(home);
    std::fs::create_dir_all(&folder).map_err(failed(&folder))?;
    let value = json!({
        "id": id, "subsystem": "skills", "action": change.action(),
        "summary": format!("{} {}", change.action(), change.name()),
        "origin": origin, "created_at": clock::now().0, "payload": change,
    });
    let path = folder.join(format!("{id}.json"));
    std::fs::write(&path, format!("{value:#}\n")).map_err(failed(&path))?;
    Ok(id)
}

/// What waits.
pub(crate) fn list(home: &Path) -> Vec<Waiting> {
    let files = std::fs::read_dir(folder(home)).into_iter().flatten().flatten();
    let mut found: Vec<Waiting> = files
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .filter_map(|text| serde_json::from_str::<Value>(&text).ok())
        .filter_map(|value| {
            Some(Waiting {
                id: value["id"].as_str()?.to_owned(),
                change: serde_json::from_value(value["payload"].clone()).ok()?,
            })
        })
        .collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found
}

fn find(home: &Path, id: &str) -> Result<Waiting, SkillError> {
    let mut found: Vec<Waiting> = list(home)
        .into_iter()
        .filter(|one| one.id.starts_with(id))
        .collect();
    match (found.pop(), found.is_empty()) {
        (Some(one), true) if !id.is_empty() => Ok(one),
        _ => Err(SkillError::Invalid(format!(
            "nothing that waits has the id {id:?}"
        ))),
    }
}

fn drop_file(home: &Path, id: &str) -> Result<(), SkillError> {
    let path = folder(home).join(format!("{id}.json"));
    std::fs::remove_file(&path).map_err(failed(&path))
}

/// Does what waits.
pub(crate) fn approve(library: &Library, id: &str) -> Result<Done, SkillError> {
    let waiting = find(library.home(), id)?;
    let done = library.change(&waiting.change, Writer::Foreground, clock::now())?;
    drop_file(library.home(), &waiting.id)?;
    Ok(done)
}

/// Forgets what waits.
pub(crate) fn reject(home: &Path, id: &str) -> Result<Change, SkillError> {
    let waiting = find(home, id)?;
    drop_file(home, &waiting.id)?;
    Ok(waiting.change)
}
