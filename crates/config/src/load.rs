//! Joins flags, environment, project and home files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use secrecy::SecretString;

use crate::{Config, ConfigError, Home, Origin};

/// What the command line says; wins over everything else.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `-m`.
    pub model: Option<String>,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// `--max-turns`.
    pub max_turns: Option<u32>,
    /// `--max-cost`, US dollars.
    pub max_cost: Option<f64>,
    /// `-t`.
    pub toolsets: Vec<String>,
}

/// A configuration with where each value came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The home folder.
    pub home: Home,
    /// The values.
    pub config: Config,
    /// Where each dotted key came from.
    pub origins: BTreeMap<String, Origin>,
    /// Every value as `config show` prints it, secrets as `***`, by dotted key.
    pub shown: BTreeMap<String, String>,
    /// Keys and credentials from environment and `.env`, by variable name.
    pub secrets: BTreeMap<String, SecretString>,
    /// What the person should know (clamped values, ignored project keys).
    pub warnings: Vec<String>,
}

/// Loads the configuration of `home` for a program that works in `cwd`.
///
/// # Errors
/// On a file that cannot be read, is no YAML, or holds a value of a wrong type;
/// the error names file, line and key.
pub fn load(_home: Home, _cwd: &PathBuf, _overrides: &Overrides) -> Result<Loaded, ConfigError> {
    unimplemented!()
}
