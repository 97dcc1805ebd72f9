//! Measures the program against the floors of the machine it runs on.

use anyhow::Result;
use std::path::Path;

/// Runs the benchmarks named on the command line, or all.
pub(crate) fn run(_root: &Path, _arguments: &[String]) -> Result<()> {
    Ok(())
}
