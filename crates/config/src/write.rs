//! Changes single values of `config.yaml` and `.env`, keeping everything else as it is.

use crate::{ConfigError, Home};

/// Sets `key` to `value`: an UPPER_CASE name in `.env` (mode 0600), a dotted key in `config.yaml`,
/// with comments, order and unknown keys kept.
///
/// # Errors
/// When the value has the wrong type for a known key, or a file cannot be written.
pub fn set(_home: &Home, _key: &str, _value: &str) -> Result<(), ConfigError> {
    unimplemented!()
}

/// Takes `key` away; gives whether it was there.
///
/// # Errors
/// When a file cannot be written.
pub fn unset(_home: &Home, _key: &str) -> Result<bool, ConfigError> {
    unimplemented!()
}
