//! Every environment variable the program reads, by name, and a view of them.
//!
//! Nothing else in the program reads the environment for its behaviour; names of
//! providers' keys are data of the provider catalogue and are found here by the
//! shape of their names (see [`Environment::secrets`]). `.env` of the home is part
//! of the environment and wins over what the shell has exported, as in Hermes.

use std::collections::BTreeMap;

use secrecy::SecretString;

/// The home folder; wins over [`HERMES_HOME`].
pub const TALARIA_HOME: &str = "TALARIA_HOME";
/// The home folder.
pub const HERMES_HOME: &str = "HERMES_HOME";
/// The person's own folder, in which `~/.hermes` stands.
pub const USER_HOME: &str = "HOME";
/// `model.default`.
pub const HERMES_INFERENCE_MODEL: &str = "HERMES_INFERENCE_MODEL";
/// `model.provider`.
pub const HERMES_INFERENCE_PROVIDER: &str = "HERMES_INFERENCE_PROVIDER";
/// `agent.max_turns`.
pub const HERMES_MAX_ITERATIONS: &str = "HERMES_MAX_ITERATIONS";
/// `agent.system_prompt`.
pub const HERMES_EPHEMERAL_SYSTEM_PROMPT: &str = "HERMES_EPHEMERAL_SYSTEM_PROMPT";
/// `timezone`.
pub const HERMES_TIMEZONE: &str = "HERMES_TIMEZONE";
/// `security.redact_secrets`.
pub const HERMES_REDACT_SECRETS: &str = "HERMES_REDACT_SECRETS";
/// `security.allow_private_urls`.
pub const HERMES_ALLOW_PRIVATE_URLS: &str = "HERMES_ALLOW_PRIVATE_URLS";
/// `terminal.backend`.
pub const TERMINAL_ENV: &str = "TERMINAL_ENV";
/// `terminal.cwd`.
pub const TERMINAL_CWD: &str = "TERMINAL_CWD";
/// `terminal.timeout`, seconds.
pub const TERMINAL_TIMEOUT: &str = "TERMINAL_TIMEOUT";
/// As `--yolo`, when true.
pub const HERMES_YOLO_MODE: &str = "HERMES_YOLO_MODE";
/// As `--ignore-rules`, when true.
pub const HERMES_IGNORE_RULES: &str = "HERMES_IGNORE_RULES";
/// Leaves `config.yaml` of the home and of the project out, when true.
pub const HERMES_IGNORE_USER_CONFIG: &str = "HERMES_IGNORE_USER_CONFIG";
/// As `--source`.
pub const HERMES_SESSION_SOURCE: &str = "HERMES_SESSION_SOURCE";
/// Seconds without a byte after which a stream is given up.
pub const HERMES_STREAM_STALE_TIMEOUT: &str = "HERMES_STREAM_STALE_TIMEOUT";
/// Seconds a whole model call may take.
pub const HERMES_API_TIMEOUT: &str = "HERMES_API_TIMEOUT";
/// Seconds without a sign of life after which a scheduled run is stopped.
pub const HERMES_CRON_TIMEOUT: &str = "HERMES_CRON_TIMEOUT";
/// A file of additional root certificates; [`SSL_CERT_FILE`] too.
pub const HERMES_CA_BUNDLE: &str = "HERMES_CA_BUNDLE";
/// A file of additional root certificates.
pub const SSL_CERT_FILE: &str = "SSL_CERT_FILE";
/// A folder outside of which the file tools do not write.
pub const HERMES_WRITE_SAFE_ROOT: &str = "HERMES_WRITE_SAFE_ROOT";
/// Somebody else owns the configuration: writes are refused.
pub const HERMES_MANAGED: &str = "HERMES_MANAGED";
/// `hooks_auto_accept`.
pub const HERMES_ACCEPT_HOOKS: &str = "HERMES_ACCEPT_HOOKS";
/// Looks for plugins in the project's `.hermes/plugins` too, when true.
pub const HERMES_ENABLE_PROJECT_PLUGINS: &str = "HERMES_ENABLE_PROJECT_PLUGINS";
/// No colours, when set to anything.
pub const NO_COLOR: &str = "NO_COLOR";
/// The terminal's kind.
pub const TERM: &str = "TERM";
/// The person's editor.
pub const EDITOR: &str = "EDITOR";
/// The person's editor for a screen; wins over [`EDITOR`].
pub const VISUAL: &str = "VISUAL";
/// Where programs are looked for.
pub const PATH: &str = "PATH";

/// Ends of names that hold a credential or say where a provider is.
const CREDENTIAL_ENDS: [&str; 7] = [
    "_PASSWORD",
    "_API_KEY",
    "_TOKEN",
    "_BASE_URL",
    "_KEY",
    "_SECRET",
    "_ACCESS_KEY_ID",
];
/// Beginnings of names that belong to this program or to a provider's own tools.
const OWN_BEGINNINGS: [&str; 7] = [
    "HERMES_",
    "TALARIA_",
    "AWS_",
    "GOOGLE_",
    "VERTEX_",
    "SSL_CERT_FILE",
    "SEARXNG_URL",
];

/// The environment as the program sees it, a plain map so that tests can make one.
#[derive(Clone, Default)]
pub struct Environment {
    values: BTreeMap<String, String>,
}

impl Environment {
    /// That of this process; names or values that are no Unicode are left out.
    pub fn of_process() -> Self {
        let pairs = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            Some((name, value.into_string().ok()?))
        });
        Self {
            values: pairs.collect(),
        }
    }

    /// One that holds just these.
    pub fn of<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            values: owned.collect(),
        }
    }

    /// A variable, an empty one being none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values
            .get(name)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// Whether a switch is on: `1`, `true`, `yes` or `on`.
    pub fn is_on(&self, name: &str) -> bool {
        let word = self.get(name).unwrap_or_default().to_ascii_lowercase();
        matches!(word.as_str(), "1" | "true" | "yes" | "on")
    }

    /// Adds variables that win over those that are there.
    pub(crate) fn overlay(&mut self, pairs: Vec<(String, String)>) {
        self.values.extend(pairs);
    }

    /// What may be a credential or the address of a provider, by name, and `also` whatever was named
    /// by a `key_env`.
    pub(crate) fn secrets(&self, also: &[String]) -> BTreeMap<String, SecretString> {
        let wanted = |name: &str| {
            CREDENTIAL_ENDS.iter().any(|end| name.ends_with(end))
                || OWN_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
                || also.iter().any(|other| other == name)
        };
        let kept = self
            .values
            .iter()
            .filter(|(name, value)| !value.is_empty() && wanted(name));
        kept.map(|(name, value)| (name.clone(), SecretString::from(value.as_str())))
            .collect()
    }
}

impl std::fmt::Debug for Environment {
    /// Names only: values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}
