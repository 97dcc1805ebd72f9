//! Which program runs, where, and what it sees of our environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// What every program sees of our environment: where things are, how to speak, how to reach the network.
/// Anything else may be a key of ours and is passed on only when it is named.
const PASSED: &[&str] = &[
    "ALL_PROXY",
    "CURL_CA_BUNDLE",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LOGNAME",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PATH",
    "REQUESTS_CA_BUNDLE",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// As [`PASSED`], by how they begin.
const PASSED_PREFIXES: &[&str] = &["LC_", "XDG_", "PYENV_", "NVM_", "CONDA_"];

/// A program and how it is run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) file: PathBuf,
    pub(crate) name: String,
    args: Vec<OsString>,
    pass: Vec<String>,
    env: BTreeMap<String, String>,
    folder: Option<PathBuf>,
    pub(crate) limits: Limits,
}

/// Bounds of one program.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one line the program may send. A longer one ends it.
    pub line_bytes: usize,
    /// Messages that may wait to be read by the program.
    pub waiting: usize,
    /// Requests of the program that are answered at once.
    pub open_requests: usize,
    /// Starts in a minute before it is left alone for a minute.
    pub starts_a_minute: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes: 8 * 1024 * 1024,
            waiting: 256,
            open_requests: 16,
            starts_a_minute: 3,
        }
    }
}

impl Program {
    /// A program by its path, or by a name to be found in `PATH`.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        let name = file.file_name().map_or_else(
            || file.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        Self {
            file,
            name,
            args: Vec::new(),
            pass: Vec::new(),
            env: BTreeMap::new(),
            folder: None,
            limits: Limits::default(),
        }
    }

    /// What errors call it; the file's name when nothing else is said.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// One argument more.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// More arguments.
    #[must_use]
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Passes on a variable of our own environment, which may be a secret.
    #[must_use]
    pub fn pass(mut self, variable: impl Into<String>) -> Self {
        self.pass.push(variable.into());
        self
    }

    /// Sets a variable, whatever ours says.
    #[must_use]
    pub fn env(mut self, variable: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(variable.into(), value.into());
        self
    }

    /// The folder it runs in; ours when nothing is said.
    #[must_use]
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(folder.as_ref().to_path_buf());
        self
    }

    /// Other bounds than the usual ones.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The breaker its limits ask for.
    pub(crate) fn breaker(&self) -> crate::Breaker {
        const MINUTE: Duration = Duration::from_secs(60);
        crate::Breaker::new(self.limits.starts_a_minute, MINUTE, MINUTE)
    }

    /// The command that starts it, with pipes at all three ends, leading a process group of its own.
    pub(crate) fn command(&self) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.file);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.variables(std::env::vars_os()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    fn variables(&self, ours: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<OsString, OsString> {
        let passed = |name: &str| {
            PASSED.contains(&name)
                || PASSED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || self.pass.iter().any(|named| named == name)
        };
        let mut kept: BTreeMap<OsString, OsString> = ours
            .filter(|(name, _)| name.to_str().is_some_and(passed))
            .collect();
        kept.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_sees_no_key_of_ours_unless_it_is_named() {
        let ours = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("OPENAI_API_KEY", "secret"),
            ("MEM0_API_KEY", "named"),
            ("MODE", "ours"),
        ];
        let program = Program::new("/usr/lib/notes.py")
            .pass("MEM0_API_KEY")
            .env("MODE", "set");
        let seen = program.variables(ours.map(|(name, value)| (name.into(), value.into())).into_iter());
        let names: Vec<&str> = seen.keys().filter_map(|name| name.to_str()).collect();
        assert_eq!(names, ["LC_ALL", "MEM0_API_KEY", "MODE", "PATH"]);
        assert_eq!(seen[std::ffi::OsStr::new("MODE")], "set");
        assert_eq!(program.name, "notes.py");
    }
}
