//! The skills of one home and the folder worked in.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::discover::{self, Found};
use crate::entry::{Entry, Kind};
use crate::{SkillError, bundled, files, render};

/// How many names an error lists.
const LISTED: usize = 20;

/// Where skills are looked for.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    /// The home folder; its `skills/` is the root that is written to.
    pub home: PathBuf,
    /// The folder worked in.
    pub project: Option<PathBuf>,
    /// The person's own folder.
    pub person: Option<PathBuf>,
    /// `skills.external_dirs`, absolute.
    pub external: Vec<PathBuf>,
    /// `skills.disabled`: names that are not offered.
    pub disabled: Vec<String>,
}

/// The skills of one home; asks the disk each time whether anything has changed.
pub struct Library {
    roots: Roots,
    /// What the last look found, so that the next one reads changes only.
    known: Mutex<Option<Known>>,
}

/// What a look found: root by root, and all together.
struct Known {
    roots: Vec<(PathBuf, Found)>,
    entries: Arc<[Entry]>,
}

impl Library {
    /// The skills of these roots; looks at nothing yet.
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            known: Mutex::default(),
        }
    }

    /// The root that is written to.
    pub fn local(&self) -> PathBuf {
        self.roots.home.join("skills")
    }

    /// The home folder.
    pub fn home(&self) -> &Path {
        &self.roots.home
    }

    fn folders(&self) -> Vec<(PathBuf, Kind)> {
        let agents = |folder: &PathBuf| folder.join(".agents/skills");
        let roots = &self.roots;
        let mut all = vec![(self.local(), Kind::Local)];
        all.extend(
            roots
                .project
                .as_ref()
                .map(|folder| (agents(folder), Kind::Project)),
        );
        all.extend(
            roots
                .person
                .as_ref()
                .map(|folder| (agents(folder), Kind::Personal)),
        );
        all.extend(
            roots
                .external
                .iter()
                .map(|folder| (folder.clone(), Kind::External)),
        );
        let mut seen = HashSet::new();
        all.retain(|(folder, _)| seen.insert(folder.clone()));
        all
    }

    fn cache(&self) -> PathBuf {
        self.roots.home.join("cache/skills-index.tsv")
    }

    /// Every skill, the ones that others of the same name stand in front of left out; those switched off too.
    pub fn all(&self) -> Arc<[Entry]> {
        let folders = self.folders();
        let mut slot = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = slot.take().unwrap_or_else(|| {
            let roots = self.remembered(&folders);
            let entries = self.together(&roots);
            Known { roots, entries }
        });
        let mut changed = false;
        for ((folder, kind), (_, found)) in folders.iter().zip(&mut known.roots) {
            if let Some(fresh) = discover::find(folder, *kind, found) {
                *found = fresh;
                changed = true;
            }
        }
        if changed {
            known.entries = self.together(&known.roots);
            // A cache that cannot be written only costs time.
            let _ = files::replace(&self.cache(), discover::to_cache(&known.roots).as_bytes());
        }
        let entries = known.entries.clone();
        *slot = Some(known);
        entries
    }

    /// The skills of all roots: what an earlier one has stands in front of what a later one has.
    fn together(&self, roots: &[(PathBuf, Found)]) -> Arc<[Entry]> {
        let mut names: HashSet<&str> = HashSet::new();
        let mut entries = Vec::new();
        for (_, found) in roots {
            let here: Vec<&Entry> = found
                .skills
                .iter()
                .filter_map(|(_, _, entry)| entry.as_ref())
                .collect();
            entries.extend(
                here.iter()
                    .filter(|entry| !names.contains(entry.name.as_str()))
                    .copied()
                    .cloned(),
            );
            names.extend(here.iter().map(|entry| entry.name.as_str()));
        }
        entries.extend(bundled::entries().filter(|entry| !names.contains(entry.name.as_str())));
        entries.retain(|entry| !self.roots.disabled.contains(&entry.name));
        entries.into()
    }

    /// What the cache on the disk knows, root by root.
    fn remembered(&self, folders: &[(PathBuf, Kind)]) -> Vec<(PathBuf, Found)> {
        let text = std::fs::read_to_string(self.cache()).unwrap_or_default();
        let kind_of = |root: &Path| {
            folders
                .iter()
                .find(|(folder, _)| folder == root)
                .map(|(_, kind)| *kind)
        };
        let mut known = discover::from_cache(&text, kind_of);
        let found = |folder: &PathBuf| known.remove(folder).unwrap_or_default();
        let roots: Vec<Found> = folders.iter().map(|(folder, _)| folder).map(found).collect();
        folders
            .iter()
            .map(|(folder, _)| folder.clone())
            .zip(roots)
            .collect()
    }

    /// The block of the system prompt, for a session with these tools; empty without skills.
    pub fn block(&self, has: &dyn Fn(&str) -> bool, compact: bool) -> String {
        let all = self.all();
        let offered: Vec<&Entry> = all.iter().filter(|entry| entry.is_offered(has)).collect();
        render::block(&offered, compact)
    }

    /// The skill of that name, of `category/name`, or of its folder's name.
    ///
    /// # Errors
    /// When there is none, or several.
    pub fn find(&self, name: &str) -> Result<Entry, SkillError> {
        let name = name.trim().trim_matches('/');
        let all = self.all();
        let is_meant = |entry: &&Entry| {
            let folder = entry.folder.file_name().is_some_and(|folder| folder == name);
            entry.name == name || entry.path_name() == name || folder
        };
        let mut found: Vec<&Entry> = all.iter().filter(is_meant).collect();
        // Its own name names a skill better than its folder does.
        if found.iter().any(|entry| entry.name == name) {
            found.retain(|entry| entry.name == name);
        }
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(SkillError::NotFound {
                name: name.to_owned(),
                available: all.iter().take(LISTED).map(|entry| entry.name.clone()).collect(),
            }),
            several => Err(SkillError::Ambiguous {
                name: name.to_owned(),
                matches: several.iter().map(|entry| entry.path_name()).collect(),
            }),
        }
    }

    /// The skill that a slash command means.
    pub fn by_slug(&self, command: &str) -> Option<Entry> {
        let wanted = crate::slug(command);
        let all = self.all();
        (!wanted.is_empty())
            .then(|| {
                all.iter()
                    .find(|entry| entry.slug() == wanted && entry.fits)
                    .cloned()
            })
            .flatten()
    }
}
