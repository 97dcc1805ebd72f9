//! Where a value came from.

use std::fmt;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of a file.
    File {
        /// The file's name, as people know it (`config.yaml`, `.hermes/config.yaml`).
        name: String,
        /// The line, from 1.
        line: u64,
    },
    /// An environment variable.
    Environment(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Environment(name) => write!(f, "${name}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}
