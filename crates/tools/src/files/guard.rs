//! Paths that are never read or written, whatever the model wants.

use std::path::{Path, PathBuf};

use crate::ToolSession;

/// Folders of the system.
const SYSTEM: &[&str] = &[
    "/etc",
    "/boot",
    "/usr/lib/systemd",
    "/private/etc",
    "/private/var/db",
    "/dev",
    "/proc",
    "/sys",
];

/// Folders of the user that hold keys.
const KEY_FOLDERS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
];

/// Files of the user that hold keys or run at every login.
const USER_FILES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
];

/// Files of the home folder that only their own commands write.
const HOME_FILES: &[&str] = &[".env", "auth.json", "state.db", "state.db-wal", "state.db-shm"];

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

/// Why `path` must not be written; both the path as given and what it resolves to are looked at.
pub(crate) fn write_refusal(session: &ToolSession, path: &Path) -> Option<String> {
    let real = resolved(path);
    for candidate in [path, &real] {
        if let Some(why) = protected(session, candidate) {
            return Some(format!("write refused: {} {why}", path.display()));
        }
    }
    outside_safe_root(&real).map(|root| {
        format!(
            "write refused: {} lies outside of HERMES_WRITE_SAFE_ROOT ({})",
            path.display(),
            root.display()
        )
    })
}

fn protected(session: &ToolSession, path: &Path) -> Option<&'static str> {
    if SYSTEM.iter().any(|folder| path.starts_with(folder)) {
        return Some("is a protected system path");
    }
    if path.file_name().is_some_and(|name| name == "docker.sock") {
        return Some("is the control socket of docker");
    }
    let user = session.user_home();
    let user_real = resolved(user);
    for user in [user, &user_real] {
        if KEY_FOLDERS
            .iter()
            .any(|folder| path.starts_with(user.join(folder)))
        {
            return Some("is in a protected folder of keys and credentials");
        }
        if USER_FILES.iter().any(|file| path == user.join(file)) {
            return Some("is a protected start-up or credential file");
        }
    }
    let home = &session.settings().home;
    let home_real = resolved(home);
    for home in [home, &home_real] {
        if HOME_FILES.iter().any(|file| path == home.join(file)) {
            return Some("is a protected file of this program");
        }
    }
    None
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
