//! Finds the tool a misspelt name can only mean.
//!
//! Nearness is no ground: a name that is merely similar belongs to another
//! program's tool, and running ours for it does something nobody asked for.

/// Prefixes that some models put before every tool.
const NAMESPACES: &[&str] = &["functions", "function", "default_api", "tools", "tool"];

/// The one of `valid` that `name` means, when it can be no other.
pub(crate) fn resolve<'a>(name: &str, valid: &'a [String]) -> Option<&'a str> {
    if let Some(exact) = valid.iter().find(|known| *known == name) {
        return Some(exact);
    }
    let bare = without_namespace(without_leakage(name));
    let mut key = key(bare);
    for _ in 0..3 {
        if let Some(found) = only(&key, valid) {
            return Some(found);
        }
        if let Some(half) = half(&key) {
            key = half.to_owned();
        } else {
            key = key.strip_suffix("tool")?.to_owned();
        }
    }
    None
}

/// The part before quotes, brackets or line breaks that leaked out of another call syntax.
fn without_leakage(name: &str) -> &str {
    let start = name.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let end = start
        .find(['"', '\'', '<', '>', '(', '{', '\n', '=', '`'])
        .unwrap_or(start.len());
    start[..end].trim()
}

fn without_namespace(name: &str) -> &str {
    match name.split_once(['.', ':', '/']) {
        Some((space, rest)) if NAMESPACES.contains(&space.to_ascii_lowercase().as_str()) => {
            rest.trim_start_matches(':')
        }
        _ => name,
    }
}

/// Letters and digits in lower case: what is left when case, dashes and underscores do not matter.
/// Any other character makes it a name of another kind, which matches nothing.
fn key(name: &str) -> String {
    if name
        .chars()
        .any(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | ' '))
    {
        return String::new();
    }
    name.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

fn only<'a>(wanted: &str, valid: &'a [String]) -> Option<&'a str> {
    let mut found = valid
        .iter()
        .filter(|known| !wanted.is_empty() && key(known) == wanted);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The half of a name that was written twice.
fn half(key: &str) -> Option<&str> {
    let (left, right) = key.split_at_checked(key.len() / 2)?;
    (!left.is_empty() && left == right).then_some(left)
}
