//! Files that are not written without a person.

use std::path::Path;

use super::own::is_git_internal;

/// Folders of the system.
const SYSTEM_FOLDERS: &[&str] = &[
    "/etc",
    "/boot",
    "/usr/lib/systemd",
    "/private/etc",
    "/private/var",
];

/// Folders in the user's home that hold credentials.
const CREDENTIAL_FOLDERS: &[&str] = &[
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
    ".config/gcloud",
];

/// Files in the user's home that hold credentials or run at every login.
const HOME_FILES: &[&str] = &[
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".config/fish/config.fish",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
];

/// Files of this program's home that hold its keys or decide what it may do.
const OWN_FILES: &[&str] = &[".env", "auth.json", "config.yaml"];

/// Folders of this program's home that are meant for the model's work.
const FREE_FOLDERS: &[&str] = &["cache/tool-results", "home"];

/// Why `path`, absolute and without `.` and `..`, is not to be written; `home` is this program's own folder.
///
/// The user's own folder is that of the process.
pub fn protected_write(path: &Path, home: &Path) -> Option<String> {
    let user = std::env::home_dir();
    protected_write_for(path, home, user.as_deref())
}

/// As [`protected_write`], for a user whose folder is `user_home`.
///
/// Links are followed: a link in the project to a protected file is no way around.
pub fn protected_write_for(path: &Path, home: &Path, user_home: Option<&Path>) -> Option<String> {
    let real = real_path(path);
    let candidates = [path, real.as_path()];
    candidates
        .iter()
        .find_map(|path| reason(path, home, user_home))
        .map(|reason| {
            format!(
                "{} is protected: {reason}. Ask the user to change it, or to tell you another place",
                path.display()
            )
        })
}

fn reason(path: &Path, home: &Path, user_home: Option<&Path>) -> Option<&'static str> {
    for base in [home, &real_path(home)] {
        if let Ok(inner) = path.strip_prefix(base) {
            if OWN_FILES.iter().any(|file| inner == Path::new(file)) {
                return Some("it holds this program's keys and permissions");
            }
            if !FREE_FOLDERS.iter().any(|folder| inner.starts_with(folder)) {
                return Some(advice(inner));
            }
        }
    }
    if is_git_internal(&path.to_string_lossy()) {
        return Some("git runs what hooks and the configuration of a repository say");
    }
    let homes = user_home
        .map(|user| [user.to_owned(), real_path(user)])
        .into_iter()
        .flatten();
    for user in homes {
        if let Ok(rest) = path.strip_prefix(&user) {
            let found = protected_path(&format!("~/{}", rest.display()));
            if found.is_some() {
                return found;
            }
        }
    }
    protected_path(&path.to_string_lossy())
}

/// What to use instead of writing `inner` of this program's home.
fn advice(inner: &Path) -> &'static str {
    if inner.starts_with("memories") {
        "it belongs to the memory, which the memory tool changes"
    } else if inner.starts_with("skills") {
        "it belongs to the skills, which the skill_manage tool changes"
    } else {
        "it is one of this program's own files"
    }
}

/// Why `path` is protected; the user's home is `~`.
pub(super) fn protected_path(path: &str) -> Option<&'static str> {
    let below = |folder: &str| {
        path == folder
            || path
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    if SYSTEM_FOLDERS.iter().any(|folder| below(folder)) {
        return Some("it belongs to the system");
    }
    if path.ends_with("/docker.sock") {
        return Some("it controls the container service");
    }
    let rest = path
        .strip_prefix("~/")
        .or_else(|| path.strip_prefix("$HOME/"))
        .or_else(|| path.strip_prefix("/root/"))?;
    let below_rest = |folder: &str| {
        rest == folder
            || rest
                .strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
    };
    if CREDENTIAL_FOLDERS.iter().any(|folder| below_rest(folder)) {
        return Some("it holds credentials");
    }
    if HOME_FILES.contains(&rest) {
        return Some("it holds credentials or runs at every login");
    }
    let own = [".hermes/", ".talaria/"]
        .iter()
        .find_map(|folder| rest.strip_prefix(folder));
    own.filter(|file| OWN_FILES.contains(file))
        .map(|_| "it holds this program's keys and permissions")
}

/// `path` with links followed as far as it exists.
pub(super) fn real_path(path: &Path) -> std::path::PathBuf {
    for base in path.ancestors() {
        if let Ok(real) = std::fs::canonicalize(base) {
            return path.strip_prefix(base).map_or_else(
                |_| path.to_owned(),
                |rest| {
                    if rest.as_os_str().is_empty() {
                        real.clone()
                    } else {
                        real.join(rest)
                    }
                },
            );
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason_of(path: &str) -> Option<String> {
        protected_write_for(
            Path::new(path),
            Path::new("/data/home"),
            Some(Path::new("/home/ada")),
        )
    }

    #[test]
    fn credentials_startup_files_and_the_system_are_protected() {
        for path in [
            "/home/ada/.ssh/id_ed25519",
            "/home/ada/.ssh",
            "/home/ada/.aws/config",
            "/home/ada/.bashrc",
            "/home/ada/.netrc",
            "/home/ada/.config/gh/hosts.yml",
            "/data/home/.env",
            "/data/home/config.yaml",
            "/etc/passwd",
            "/boot/x",
            "/usr/lib/systemd/system/x.service",
            "/var/run/docker.sock",
            "/home/ada/.hermes/.env",
            "/data/home",
            "/data/home/state.db-wal",
            "/data/home/memories/MEMORY.md",
            "/data/home/skills/x/SKILL.md",
            "/data/home/SOUL.md",
            "/data/home/plugins/x.py",
            "/home/ada/project/.git/hooks/pre-commit",
            "/home/ada/project/.git/config",
            "/home/ada/project/.git/modules/sub/config",
        ] {
            assert!(reason_of(path).is_some(), "{path}");
        }
    }

    #[test]
    fn look_alikes_are_not_protected() {
        for path in [
            "/home/ada/project/.ssh-notes",
            "/home/ada/project/.bashrc",
            "/home/ada/.sshx",
            "/home/ada/etc/passwd",
            "/data/home/cache/tool-results/notes.md",
            "/home/ada/project/.github/hooks/x",
            "/home/ada/project/.gitignore",
            "/home/ada/project/config",
            "/etcetera",
            "/home/bob/.bashrc",
            "/home/ada/project/config.yaml",
            "/data/home2/skills/x.md",
        ] {
            assert_eq!(reason_of(path), None, "{path}");
        }
    }

    #[test]
    fn a_link_is_no_way_around_the_protection() {
        let folder = tempfile::tempdir().unwrap();
        let user = folder.path().join("user");
        let project = user.join("project");
        std::fs::create_dir_all(user.join(".ssh")).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        std::os::unix::fs::symlink(user.join(".ssh"), project.join("keys")).unwrap();
        let reason = protected_write_for(&project.join("keys/new"), Path::new("/data/home"), Some(&user));
        assert!(reason.unwrap().contains("credentials"));
    }
}
