//! Which provider a turn would use.

use talaria_config::Loaded;

/// The provider in words, or why there is none.
pub(super) fn resolved(loaded: &Loaded) -> Result<String, String> {
    let _ = loaded;
    Ok("x".to_owned())
}
