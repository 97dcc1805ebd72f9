//! The repository's text files, read once for all checks.

use anyhow::Result;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A text file of the repository.
pub(crate) struct Source {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// All of them, sorted by path.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) files: Vec<Source>,
}

impl Tree {
    /// Reads every UTF-8 file below the root, build output and hidden folders other than `.ci` aside.
    pub(crate) fn read(root: &Path) -> Result<Tree> {
        let mut files = Vec::new();
        walk(root, root, &mut files)?;
        files.sort_by(|one: &Source, other| one.path.cmp(&other.path));
        Ok(Tree {
            root: root.to_owned(),
            files,
        })
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let found = self
            .files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()?;
        Some(&self.files[found].text)
    }

    /// The Rust files, tests included.
    pub(crate) fn rust(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    /// The Rust files of the program itself.
    pub(crate) fn product(&self) -> impl Iterator<Item = &Source> {
        self.rust().filter(|file| !file.is_test())
    }

    /// The folders directly below `crates` that hold a manifest.
    pub(crate) fn crates(&self) -> Vec<&str> {
        let manifests = self
            .files
            .iter()
            .filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
        manifests
            .filter_map(|folder| folder.strip_prefix("crates/"))
            .collect()
    }
}

impl Source {
    /// Whether the whole file is tests, examples or fixtures.
    pub(crate) fn is_test(&self) -> bool {
        let folder = |name: &str| self.path.contains(&format!("/{name}/"));
        self.path.ends_with("/tests.rs")
            || self.path.ends_with("_tests.rs")
            || folder("tests")
            || folder("examples")
            || folder("fuzz")
            || folder("benches")
            || folder("conformance")
    }

    /// The lines before the file's own test module.
    pub(crate) fn code(&self) -> impl Iterator<Item = &str> {
        let cut = self.text.find("\n#[cfg(test)]\nmod ").unwrap_or(self.text.len());
        self.text[..cut].lines()
    }
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<Source>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let path = entry.path();
        let hidden = name.starts_with('.') && name != ".ci";
        if hidden {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if name != "target" {
                walk(root, &path, files)?;
            }
        } else if let Ok(text) = fs::read_to_string(&path) {
            let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            files.push(Source { path: relative, text });
        }
    }
    Ok(())
}
