//! Paths that are never read or written, whatever the model wants.

use std::path::{Path, PathBuf};

use crate::ToolSession;
use crate::approval::protected_write_for;

/// Folders of the kernel: what is written there is a command, not a file.
const KERNEL: &[&str] = &["/dev", "/proc", "/sys"];

/// Files of this program's home that only it writes.
const DATABASE: &[&str] = &["state.db", "state.db-wal", "state.db-shm"];

/// Devices that never end, wait, or speak for this program.
const ENDLESS: &[&str] = &[
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/console",
];

/// Why `path` must not be written; what it resolves to is looked at too.
pub(crate) fn write_refusal(session: &ToolSession, path: &Path) -> Option<String> {
    let home = &session.settings().home;
    if let Some(why) = protected_write_for(path, home, Some(session.user_home())) {
        return Some(format!("write refused: {why}"));
    }
    let real = resolved(path);
    let kernel = [path, &real]
        .iter()
        .any(|path| KERNEL.iter().any(|folder| path.starts_with(folder)));
    let database = DATABASE.iter().any(|file| real == resolved(&home.join(file)));
    if kernel || database {
        let why = if kernel {
            "belongs to the system"
        } else {
            "is this program's database"
        };
        return Some(format!("write refused: {} {why}", path.display()));
    }
    outside_safe_root(&real).map(|root| {
        format!(
            "write refused: {} lies outside of HERMES_WRITE_SAFE_ROOT ({})",
            path.display(),
            root.display()
        )
    })
}

fn outside_safe_root(path: &Path) -> Option<PathBuf> {
    let root = PathBuf::from(std::env::var_os("HERMES_WRITE_SAFE_ROOT").filter(|root| !root.is_empty())?);
    let real = resolved(&root);
    (!path.starts_with(&real)).then_some(root)
}

/// Why `path` must not be read.
pub(crate) fn read_refusal(session: &ToolSession, path: &Path) -> Option<String> {
    let text = path.to_string_lossy();
    let process = text.starts_with("/proc/");
    let own_stream = process && ["/fd/0", "/fd/1", "/fd/2"].iter().any(|end| text.ends_with(end));
    if own_stream || ENDLESS.contains(&text.as_ref()) {
        return Some(format!(
            "read refused: {text} is a device that never ends or would wait for input"
        ));
    }
    if process && text.ends_with("/environ") {
        return Some(format!(
            "read refused: {text} holds the environment of a process, with its secrets"
        ));
    }
    let hub = session.settings().home.join("skills").join(".hub");
    path.starts_with(hub)
        .then(|| format!("read refused: {text} is internal to the skills hub"))
}

/// Where `path` really is: symbolic links of the part that exists are followed.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut base = path;
    loop {
        if let Ok(real) = base.canonicalize() {
            return rest
                .iter()
                .rev()
                .fold(real, |real: PathBuf, part| real.join(part));
        }
        match (base.parent(), base.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                base = parent;
            }
            _ => return path.to_owned(),
        }
    }
}
