//! Which files a search looks at.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;

use super::Search;
use crate::ToolError;

/// Files that are listed at most.
const FILES_MOST: usize = 20_000;

/// The files below `root` in the order of their paths; an entry that cannot be read is passed over.
pub(super) fn files(root: &Path) -> impl Iterator<Item = PathBuf> {
    let walk = WalkBuilder::new(root)
        .require_git(false)
        .sort_by_file_path(Ord::cmp)
        .build();
    walk.flatten()
        .filter(|entry| {
            entry.file_type().is_some_and(|kind| kind.is_file())
                || entry.path_is_symlink() && entry.path().is_file()
        })
        .map(ignore::DirEntry::into_path)
}

/// A test of paths by a glob: of the name alone, or of the path below the root when the glob has a slash.
pub(super) struct Names {
    glob: GlobMatcher,
    whole: bool,
    root: PathBuf,
}

impl Names {
    pub(super) fn new(pattern: &str, root: &Path) -> Result<Self, ToolError> {
        let pattern = pattern.trim_start_matches("./");
        let whole = pattern.contains('/');
        let glob = if whole && !pattern.starts_with('/') {
            format!("{{{pattern},**/{pattern}}}")
        } else {
            pattern.to_owned()
        };
        let bad =
            |error: globset::Error| ToolError::BadArguments(format!("{pattern:?} is no valid glob: {error}"));
        let glob = GlobBuilder::new(&glob)
            .literal_separator(true)
            .build()
            .map_err(bad)?
            .compile_matcher();
        Ok(Self {
            glob,
            whole,
            root: root.to_owned(),
        })
    }

    pub(super) fn fit(&self, path: &Path) -> bool {
        if self.whole {
            return self.glob.is_match(path.strip_prefix(&self.root).unwrap_or(path))
                || self.glob.is_match(path);
        }
        path.file_name().is_some_and(|name| self.glob.is_match(name))
    }
}

/// The files whose names match, newest first, and whether these are all.
pub(super) fn by_name(search: &Search, root: &Path) -> Result<(Vec<PathBuf>, bool), ToolError> {
    let pattern = search.args.pattern.trim();
    let glob = pattern.contains(['*', '?', '[', '{']);
    let names = Names::new(
        &if glob {
            pattern.to_owned()
        } else {
            format!("*{pattern}*")
        },
        root,
    )?;
    let only = search
        .args
        .file_glob
        .as_deref()
        .map(|glob| Names::new(glob, root))
        .transpose()?;
    let mut found: Vec<(SystemTime, PathBuf)> = Vec::new();
    let mut complete = true;
    for path in files(root) {
        if !search.goes_on()? || found.len() >= FILES_MOST {
            complete = false;
            break;
        }
        if names.fit(&path) && only.as_ref().is_none_or(|only| only.fit(&path)) {
            let modified = path
                .metadata()
                .and_then(|metadata| metadata.modified())
                .unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((modified, path));
        }
    }
    found.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.cmp(y)));
    Ok((found.into_iter().map(|(_, path)| path).collect(), complete))
}
