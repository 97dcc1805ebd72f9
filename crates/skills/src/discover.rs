//! Finds the skills of a root, again and again, as fast as the disk says that
//! nothing has changed.
//!
//! A scan remembers when each folder and each file was changed last. The next
//! one asks for those times only; what has changed is read again. The memory is
//! a plain table in the home's cache; without it, or when it is broken,
//! everything is read.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::entry::{Entry, Kind, READ};

/// Folders below a root are followed this far, so that a circle of links ends.
const DEEPEST: usize = 6;
/// From so many files on, several threads look at them.
const MANY: usize = 256;

/// When something was changed last, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    modified: u128,
    size: u64,
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let data = fs::metadata(path).ok()?;
        let modified = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
        Some(Self {
            modified,
            size: data.len(),
        })
    }
}

/// What is known of one root.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Found {
    /// Folders that hold skills or other folders.
    folders: Vec<(PathBuf, Stamp)>,
    /// Skills; nothing where a file was no skill.
    pub(crate) skills: Vec<(PathBuf, Stamp, Option<Entry>)>,
}

/// The skills of a root; nothing when they are those that were known before.
pub(crate) fn find(root: &Path, kind: Kind, known: &Found) -> Option<Found> {
    if is_as_it_was(root, known) {
        return None;
    }
    let found = Found::default();
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut walked = Walked {
        real,
        found,
        files: Vec::new(),
    };
    walked.folder(root, "", 0);
    let Walked {
        mut found, mut files, ..
    } = walked;
    files.sort();
    let known: HashMap<&Path, _> = known.skills.iter().map(|row| (row.0.as_path(), row)).collect();
    let read = |(file, category): &(PathBuf, String)| {
        let stamp = Stamp::of(file)?;
        if let Some((_, old, entry)) = known.get(file.as_path())
            && *old == stamp
        {
            return Some((file.clone(), stamp, entry.clone()));
        }
        let folder = file.parent().unwrap_or(root);
        let entry = beginning(file).and_then(|text| Entry::of(&text, folder, category, kind));
        Some((file.clone(), stamp, entry))
    };
    found.skills = in_threads(&files, read).into_iter().flatten().collect();
    Some(found)
}

/// Whether every folder and file has the stamp it had.
fn is_as_it_was(root: &Path, known: &Found) -> bool {
    if known.folders.is_empty() {
        return !root.exists();
    }
    let same = |path: &Path, stamp: Stamp| Stamp::of(path) == Some(stamp);
    known.folders.iter().all(|(path, stamp)| same(path, *stamp))
        && in_threads(&known.skills, |(path, stamp, _)| same(path, *stamp))
            .into_iter()
            .all(|same| same)
}

/// Does something with every item, in order, on as many threads as there are cores.
fn in_threads<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    if items.len() < MANY || threads < 2 {
        return items.iter().map(work).collect();
    }
    let size = items.len().div_ceil(threads);
    let work = &work;
    std::thread::scope(|scope| {
        let parts: Vec<_> = items
            .chunks(size)
            .map(|part| scope.spawn(move || part.iter().map(work).collect::<Vec<_>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_default())
            .collect()
    })
}

/// A root on the way through its folders.
struct Walked {
    /// The root without links.
    real: PathBuf,
    found: Found,
    files: Vec<(PathBuf, String)>,
}

impl Walked {
    fn folder(&mut self, folder: &Path, category: &str, depth: usize) {
        // The stamp is taken before the folder is read: what comes in between is seen next time.
        let Some(stamp) = Stamp::of(folder) else { return };
        let Ok(listed) = fs::read_dir(folder) else { return };
        self.found.folders.push((folder.to_owned(), stamp));
        for item in listed.flatten() {
            let name = item.file_name();
            let name = name.to_string_lossy();
            let Ok(kind) = item.file_type() else { continue };
            let is_folder = if kind.is_symlink() {
                item.path().is_dir()
            } else {
                kind.is_dir()
            };
            if name.starts_with('.') || !is_folder {
                continue;
            }
            let inner = item.path();
            let file = inner.join("SKILL.md");
            if file.is_file() {
                let category = if category.is_empty() { "general" } else { category };
                self.files.push((file, category.to_owned()));
            } else if depth < DEEPEST && !(kind.is_symlink() && self.leads_out(&inner)) {
                let below = if category.is_empty() {
                    name.into_owned()
                } else {
                    format!("{category}/{name}")
                };
                self.folder(&inner, &below, depth + 1);
            }
        }
    }

    /// Whether a link is to a place outside of the root, where there may be a whole disk. A link to the
    /// folder of a skill is fine, wherever that is; one to a folder of folders is not followed.
    fn leads_out(&self, link: &Path) -> bool {
        link.canonicalize().map_or(true, |target| {
            !target.starts_with(&self.real) || self.real.starts_with(&target)
        })
    }
}

/// The first bytes of a file as text; whatever is no text is replaced.
fn beginning(file: &Path) -> Option<String> {
    let mut bytes = Vec::with_capacity(READ);
    let file = fs::File::open(file).ok()?;
    file.take(READ as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first line of a cache; another shape has another number.
const SHAPE: &str = "talaria skills 2";

/// What is known of all roots, as the cache's text.
pub(crate) fn to_cache(roots: &[(PathBuf, Found)]) -> String {
    let mut text = String::from(SHAPE);
    text.push('\n');
    for (root, found) in roots {
        push(&mut text, &["R", &root.to_string_lossy()]);
        for (path, stamp) in &found.folders {
            push(
                &mut text,
                &[
                    "D",
                    &stamp.modified.to_string(),
                    &stamp.size.to_string(),
                    &path.to_string_lossy(),
                ],
            );
        }
        for (path, stamp, entry) in &found.skills {
            let head = [
                "S",
                &stamp.modified.to_string(),
                &stamp.size.to_string(),
                &path.to_string_lossy(),
            ];
            match entry {
                None => push(&mut text, &head),
                Some(entry) => push(
                    &mut text,
                    &[
                        head[0],
                        head[1],
                        head[2],
                        head[3],
                        &entry.name,
                        &entry.category,
                        &entry.description,
                        &entry.requires.join(","),
                        &entry.fallback_for.join(","),
                        if entry.fits { "1" } else { "0" },
                    ],
                ),
            }
        }
    }
    text
}

/// Adds a line. A tab or line end inside of a column would break the table; such a row is left out and read anew.
fn push(text: &mut String, columns: &[&str]) {
    if columns.iter().any(|column| column.contains(['\t', '\n'])) {
        return;
    }
    text.push_str(&columns.join("\t"));
    text.push('\n');
}

/// What a cache knows of a root; nothing when it is of another shape or broken.
pub(crate) fn from_cache(text: &str, kind_of: impl Fn(&Path) -> Option<Kind>) -> HashMap<PathBuf, Found> {
    let mut roots = HashMap::new();
    let mut lines = text.lines();
    if lines.next() != Some(SHAPE) {
        return roots;
    }
    let mut root = PathBuf::new();
    for line in lines {
        let columns: Vec<&str> = line.split('\t').collect();
        let kind = kind_of(&root);
        let known: Option<()> = match columns.as_slice() {
            ["R", path] => {
                root = PathBuf::from(path);
                roots.insert(root.clone(), Found::default());
                Some(())
            }
            ["D", modified, size, path] => stamp(modified, size).and_then(|stamp| {
                let found = roots.get_mut(&root)?;
                found.folders.push((PathBuf::from(path), stamp));
                Some(())
            }),
            ["S", modified, size, path, rest @ ..] => stamp(modified, size).and_then(|stamp| {
                let found = roots.get_mut(&root)?;
                let entry = kind.and_then(|kind| entry(path, rest, kind));
                found.skills.push((PathBuf::from(path), stamp, entry));
                Some(())
            }),
            _ => None,
        };
        if known.is_none() {
            return HashMap::new();
        }
    }
    roots
}

fn stamp(modified: &str, size: &str) -> Option<Stamp> {
    Some(Stamp {
        modified: modified.parse().ok()?,
        size: size.parse().ok()?,
    })
}

fn entry(path: &str, columns: &[&str], kind: Kind) -> Option<Entry> {
    let [name, category, description, requires, fallback_for, fits] = columns else {
        return None;
    };
    let words = |text: &str| {
        let words = text.split(',').filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    Some(Entry {
        name: (*name).to_owned(),
        description: (*description).to_owned(),
        category: (*category).to_owned(),
        folder: Path::new(path).parent()?.to_owned(),
        kind,
        requires: words(requires),
        fallback_for: words(fallback_for),
        fits: *fits == "1",
    })
}
