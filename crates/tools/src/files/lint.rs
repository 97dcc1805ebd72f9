//! Tells at once when an edit broke a file that a program will parse.

use std::path::Path;

use serde::Serialize;
use serde::de::IgnoredAny;

/// What is wrong with a file that was right before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    status: &'static str,
    message: String,
}

/// Larger files are not parsed.
const LARGEST: usize = 2 << 20;

/// A fault of `new` that `old` had not.
pub(crate) fn new_fault(path: &Path, old: Option<&str>, new: &str) -> Option<Finding> {
    if new.len() > LARGEST {
        return None;
    }
    let check = parser(path)?;
    let message = check(new).err()?;
    if old.is_some_and(|old| check(old).is_err()) {
        return None;
    }
    Some(Finding {
        status: "error",
        message,
    })
}

/// Tells what is wrong with a text.
type Parser = fn(&str) -> Result<(), String>;

fn parser(path: &Path) -> Option<Parser> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" => Some(json),
        "yaml" | "yml" => Some(yaml),
        _ => None,
    }
}

fn json(text: &str) -> Result<(), String> {
    serde_json::from_str::<IgnoredAny>(text)
        .map(|_| ())
        .map_err(|error| format!("invalid JSON: {error}"))
}

fn yaml(text: &str) -> Result<(), String> {
    serde_saphyr::from_multiple::<serde_json::Value>(text)
        .map(|_| ())
        .map_err(|error| {
            format!(
                "invalid YAML: {}",
                error.to_string().lines().next().unwrap_or_default()
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_fault_that_is_new_is_told() {
        let json = Path::new("a.json");
        assert!(new_fault(json, None, "{\"a\": }").is_some());
        assert!(new_fault(json, Some("{}"), "{\"a\": }").is_some());
        assert_eq!(new_fault(json, Some("// note\n{}"), "// note\n{ }"), None);
        assert_eq!(new_fault(json, None, "{\"a\": 1}"), None);
        assert_eq!(new_fault(Path::new("a.txt"), None, "{"), None);
        assert!(new_fault(Path::new("a.yml"), None, "a: [1, 2\nb: 3").is_some());
        assert_eq!(new_fault(Path::new("a.yml"), None, "a: 1\n---\nb: 2\n"), None);
    }
}
