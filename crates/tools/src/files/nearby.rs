//! Names that a missing path may have meant.

use std::path::{Path, PathBuf};

use similar::TextDiff;

/// Entries of a folder that are compared; a folder with more is not searched to its end.
const COMPARED: usize = 2_000;

/// Up to five entries of the path's folder whose names are like its own, best first.
pub(crate) fn similar_names(path: &Path) -> Vec<PathBuf> {
    const MOST: usize = 5;
    let Some(wanted) = path.file_name().map(|name| name.to_string_lossy().to_lowercase()) else {
        return Vec::new();
    };
    let Some(entries) = path.parent().and_then(|folder| folder.read_dir().ok()) else {
        return Vec::new();
    };
    let mut scored: Vec<(u32, PathBuf)> = entries
        .flatten()
        .take(COMPARED)
        .filter_map(|entry| {
            let score = score(&wanted, &entry.file_name().to_string_lossy().to_lowercase());
            (score > 0).then(|| (score, entry.path()))
        })
        .collect();
    scored.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.cmp(y)));
    scored.into_iter().take(MOST).map(|(_, path)| path).collect()
}

/// 0 for names that have nothing in common.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a ratio between 0 and 1"
)]
fn score(wanted: &str, name: &str) -> u32 {
    let stem = |name: &str| {
        name.rsplit_once('.')
            .map_or(name.to_owned(), |(stem, _)| stem.to_owned())
    };
    if wanted == name {
        return 1_000;
    }
    if !stem(wanted).is_empty() && stem(wanted) == stem(name) {
        return 950;
    }
    if name.len() > 2 && wanted.len() > 2 && (name.contains(wanted) || wanted.contains(name)) {
        return 900;
    }
    let ratio = TextDiff::from_chars(wanted, name).ratio();
    if ratio >= 0.6 { (ratio * 800.0) as u32 } else { 0 }
}

/// The entry whose name is shown as `path`'s, when its real bytes are no Unicode.
pub(crate) fn by_shown_name(path: &Path) -> Option<PathBuf> {
    let shown = path
        .file_name()?
        .to_str()
        .filter(|name| name.contains(char::REPLACEMENT_CHARACTER))?;
    let entries = path.parent()?.read_dir().ok()?;
    entries.flatten().map(|entry| entry.path()).find(|entry| {
        entry
            .file_name()
            .is_some_and(|name| name.to_string_lossy() == shown)
    })
}
