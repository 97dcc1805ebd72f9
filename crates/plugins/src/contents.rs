//! A digest of all that a plugin's folder holds.
//!
//! A module beside the script, a linked package or a compiled file runs as surely as the script itself, so trust in
//! a plugin is trust in the whole folder. Links count with what they lead to: that is what runs.

use std::ffi::OsString;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Files and folders, at most: what holds more is read too long at every start.
const MOST_ENTRIES: usize = 2_000;
/// Bytes, at most, for the same reason.
const MOST_BYTES: u64 = 32 * 1024 * 1024;
/// Folders of the system: what stands there is not a plugin's or a project's to change.
const SYSTEM: &[&str] = &[
    "/usr/", "/bin/", "/sbin/", "/lib/", "/opt/", "/nix/", "/dev/", "/proc/",
];

/// Whether a path leads into the system, as it is written.
pub(crate) fn is_system(path: &str) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder)) && !path.contains("/../")
}

/// The digest of a folder and of the files outside of it that `words` names.
///
/// # Errors
/// When there is something of which no digest can be made, in words.
pub(crate) fn sha256(folder: &Path, words: &[String]) -> Result<String, String> {
    let mut contents = Contents::default();
    contents.part(b"plugin 2");
    contents.add(folder, Path::new(""))?;
    for word in words {
        let path = folder.join(word);
        if is_outside(word) && !is_system(word) && path.is_file() {
            contents.add(&path, Path::new(word))?;
        }
    }
    let bytes = contents.digest.finalize();
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a word of the command may leave the folder.
fn is_outside(word: &str) -> bool {
    word.starts_with('/') || word.split('/').any(|part| part == "..")
}

/// What was seen so far.
#[derive(Default)]
struct Contents {
    digest: Sha256,
    entries: usize,
    bytes: u64,
    /// The folders that are being read, by device and number: one that is met again is a loop.
    above: Vec<(u64, u64)>,
}

impl Contents {
    /// Lengths go first, so that no two folders give one row of bytes.
    fn part(&mut self, bytes: &[u8]) {
        self.digest.update((bytes.len() as u64).to_le_bytes());
        self.digest.update(bytes);
    }

    fn add(&mut self, path: &Path, name: &Path) -> Result<(), String> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(too_large());
        }
        self.part(name.as_os_str().as_encoded_bytes());
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_dir() => self.folder(path, name, &facts),
            Ok(facts) if facts.is_file() => self.file(path, name, &facts),
            Ok(_) => Err(format!("{} is neither a file nor a folder", name.display())),
            // A link to nothing: what appears there later is a change.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.part(b"nothing");
                Ok(())
            }
            Err(error) => Err(unreadable(name, &error)),
        }
    }

    fn folder(&mut self, path: &Path, name: &Path, facts: &Metadata) -> Result<(), String> {
        let id = (facts.dev(), facts.ino());
        if self.above.contains(&id) {
            return Err(format!("{} links to a folder it stands in", name.display()));
        }
        let names: std::io::Result<Vec<OsString>> = std::fs::read_dir(path).and_then(|entries| {
            entries
                .take(MOST_ENTRIES + 1)
                .map(|entry| Ok(entry?.file_name()))
                .collect()
        });
        let mut names = names.map_err(|error| unreadable(name, &error))?;
        names.sort();
        self.part(b"folder");
        self.above.push(id);
        for inner in names {
            self.add(&path.join(&inner), &name.join(&inner))?;
        }
        self.above.pop();
        Ok(())
    }

    fn file(&mut self, path: &Path, name: &Path, facts: &Metadata) -> Result<(), String> {
        let left = MOST_BYTES - self.bytes;
        if facts.len() > left {
            return Err(too_large());
        }
        let mut text = Vec::new();
        std::fs::File::open(path)
            .and_then(|file| file.take(left + 1).read_to_end(&mut text))
            .map_err(|error| unreadable(name, &error))?;
        self.bytes += text.len() as u64;
        if self.bytes > MOST_BYTES {
            return Err(too_large());
        }
        self.part(b"file");
        self.part(&text);
        Ok(())
    }
}

fn too_large() -> String {
    format!(
        "its folder holds more than {MOST_ENTRIES} files and folders or {} MB with what its links lead to; a plugin of \
         a project must be smaller, or be installed (`talaria plugins install PATH`)",
        MOST_BYTES / 1024 / 1024
    )
}

fn unreadable(name: &Path, error: &std::io::Error) -> String {
    let name = if name.as_os_str().is_empty() {
        PathBuf::from("its folder")
    } else {
        name.to_owned()
    };
    format!("{} cannot be read: {error}", name.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            let place = Self(tempfile::tempdir().unwrap());
            place.write("plugin/plugin.yaml", "command: python3 main.py");
            place.write("plugin/main.py", "import helper");
            place.write("plugin/helper.py", "one");
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn now(&self) -> Result<String, String> {
            let words = ["python3", "main.py", "../outside.py"].map(str::to_owned);
            sha256(&self.path("plugin"), &words)
        }
    }

    #[test]
    fn a_changed_helper_a_planted_pyc_and_a_changed_target_of_a_link_end_trust() {
        let place = Place::new();
        place.write("elsewhere/__init__.py", "one");
        symlink(place.path("elsewhere"), place.path("plugin/package")).unwrap();
        let mut seen = vec![place.now().unwrap()];
        assert_eq!(place.now().unwrap(), seen[0], "nothing has changed");
        for (name, text) in [
            ("plugin/helper.py", "two"),
            ("plugin/__pycache__/helper.cpython-312.pyc", "planted"),
            ("elsewhere/__init__.py", "two"),
            ("plugin/python3", "in the place of the system's"),
            ("outside.py", "named by the command"),
        ] {
            place.write(name, text);
            let now = place.now().unwrap();
            assert!(!seen.contains(&now), "{name}");
            seen.push(now);
        }
        std::fs::rename(place.path("plugin/helper.py"), place.path("plugin/other.py")).unwrap();
        assert!(!seen.contains(&place.now().unwrap()), "names count");
    }

    #[test]
    fn what_appears_behind_a_link_to_nothing_ends_trust() {
        let place = Place::new();
        symlink(place.path("later.py"), place.path("plugin/later.py")).unwrap();
        let before = place.now().unwrap();
        place.write("later.py", "evil");
        assert_ne!(place.now().unwrap(), before);
    }

    #[test]
    fn loops_and_special_files_and_folders_that_are_too_large_are_refused_in_words() {
        let place = Place::new();
        let odd = place.path("plugin/odd");
        symlink("..", &odd).unwrap();
        assert!(place.now().unwrap_err().contains("odd/plugin links to a folder"));
        std::fs::remove_file(&odd).unwrap();
        symlink("odd", &odd).unwrap();
        assert!(place.now().unwrap_err().contains("odd cannot be read"));
        std::fs::remove_file(&odd).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(&odd).unwrap();
        assert!(place.now().unwrap_err().contains("odd is neither"));
        drop(socket);
        std::fs::remove_file(&odd).unwrap();
        std::fs::File::create(&odd)
            .unwrap()
            .set_len(MOST_BYTES + 1)
            .unwrap();
        assert!(place.now().unwrap_err().contains("32 MB"));
        std::fs::remove_file(&odd).unwrap();
        (0..MOST_ENTRIES).for_each(|number| place.write(&format!("plugin/many/{number}"), ""));
        assert!(place.now().unwrap_err().contains("2000 files"));
    }
}
