//! The head of a SKILL.md: YAML between two lines of dashes.
//!
//! Most heads are a few plain `key: value` lines. These are read without a YAML
//! parser, because an index of thousands of skills reads thousands of them.

use serde_json::Value;

/// The longest name.
pub(crate) const NAME: usize = 64;
/// The longest description.
pub(crate) const DESCRIPTION: usize = 1_024;

/// What a head says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Front {
    /// `name`.
    pub(crate) name: Option<String>,
    /// `description`.
    pub(crate) description: Option<String>,
    /// All of it.
    pub(crate) all: Value,
}

/// A file's head and the text after it.
pub(crate) struct Parted<'a> {
    pub(crate) head: &'a str,
    pub(crate) body: &'a str,
}

/// Parts a file; nothing when it has no closed head.
pub(crate) fn part(text: &str) -> Option<Parted<'_>> {
    let text = text.trim_start_matches('\u{feff}');
    let rest = text.strip_prefix("---")?;
    let start = rest.find('\n')? + 1;
    if !rest[..start].trim().is_empty() {
        return None;
    }
    let inner = &rest[start..];
    let mut at = 0;
    for line in inner.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some(Parted {
                head: &inner[..at],
                body: &inner[at + line.len()..],
            });
        }
        at += line.len();
    }
    None
}

/// Reads a head.
///
/// # Errors
/// When it is no mapping; the text says what is wrong.
pub(crate) fn read(head: &str) -> Result<Front, String> {
    let all = match plain(head) {
        Some(all) => all,
        None => serde_saphyr::from_str::<Value>(head).map_err(|error| error.to_string())?,
    };
    if !all.is_object() {
        return Err("the frontmatter is no mapping of keys to values".to_owned());
    }
    let text = |key: &str| match &all[key] {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    Ok(Front {
        name: text("name"),
        description: text("description"),
        all,
    })
}

/// A head of plain `key: value` lines; nothing when it is anything more.
fn plain(head: &str) -> Option<Value> {
    let mut all = serde_json::Map::new();
    for line in head.lines().filter(|line| !line.trim().is_empty()) {
        let (key, value) = line.split_once(": ")?;
        let value = value.trim();
        let simple_key = key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        if !simple_key || key.is_empty() || !is_plain_word(value) {
            return None;
        }
        all.insert(key.to_owned(), Value::String(value.to_owned()));
    }
    (!all.is_empty()).then_some(Value::Object(all))
}

/// A value that YAML reads as the text it is.
fn is_plain_word(value: &str) -> bool {
    let first = value.chars().next();
    let starts_plain = first.is_some_and(|c| c.is_alphabetic());
    let special = ["true", "false", "null", "yes", "no", "on", "off"];
    starts_plain
        && !value.contains(": ")
        && !value.ends_with(':')
        && !value.contains(" #")
        && !special.iter().any(|word| value.eq_ignore_ascii_case(word))
}

impl Front {
    /// A list at a path such as `metadata.hermes.tags`: a sequence, or words between commas.
    pub(crate) fn list(&self, path: &str) -> Vec<String> {
        let value = path.split('.').fold(&self.all, |value, key| &value[key]);
        let words: Vec<String> = match value {
            Value::Array(items) => items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
            Value::String(text) => text
                .trim_matches(['[', ']'])
                .split(',')
                .map(|word| word.trim().to_owned())
                .collect(),
            _ => Vec::new(),
        };
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }

    /// Whether it is for this operating system.
    pub(crate) fn fits_platform(&self) -> bool {
        let platforms = self.list("platforms");
        let here = std::env::consts::OS;
        platforms.is_empty()
            || platforms
                .iter()
                .any(|platform| platform.eq_ignore_ascii_case(here))
    }
}

/// The description of a file without one: its first line that is no heading.
pub(crate) fn first_line(body: &str) -> Option<String> {
    let mut lines = body.lines().map(str::trim);
    lines
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
}

/// Whether a name can be a folder's: `^[a-z0-9][a-z0-9._-]*$`, at most 64.
pub(crate) fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let starts = bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let goes_on =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-');
    starts && name.len() <= NAME && bytes.all(goes_on) && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn front(head: &str) -> Front {
        read(head).unwrap()
    }

    #[test]
    fn a_plain_head_and_the_same_in_yaml_say_the_same() {
        let simple = front("name: csv-tools\ndescription: Handle CSV files\n");
        assert_eq!(
            plain("name: csv-tools\ndescription: Handle CSV files\n"),
            Some(simple.all.clone())
        );
        let quoted = front("name: \"csv-tools\"\ndescription: >\n  Handle\n  CSV files\n");
        assert_eq!(
            (simple.name, simple.description),
            (quoted.name, quoted.description)
        );
    }

    #[test]
    fn what_only_yaml_can_tell_is_left_to_yaml() {
        for head in [
            "a: true",
            "a: 1",
            "a: 'x'",
            "a: [b]",
            "a: x # y",
            "a: b: c",
            "a:\n  b: c",
            "- a",
        ] {
            assert_eq!(plain(head), None, "{head}");
        }
    }

    #[test]
    fn a_file_is_parted_only_when_its_head_is_closed() {
        let parted = part("---\nname: a\n---\n\n# Body\n---\n").unwrap();
        assert_eq!((parted.head, parted.body), ("name: a\n", "\n# Body\n---\n"));
        assert!(part("---\nname: a\n").is_none());
        assert!(part("name: a\n").is_none());
        assert!(part("----\nname: a\n---\n").is_none());
    }

    #[test]
    fn a_head_that_is_broken_is_an_error_and_no_panic() {
        assert!(read("name: [unclosed\n").is_err());
        assert!(read("- a\n- b\n").is_err());
    }

    #[test]
    fn lists_are_sequences_or_words_between_commas() {
        let head =
            front("metadata:\n  hermes:\n    tags: [a, b]\n    requires_tools: terminal, web_search\n");
        assert_eq!(head.list("metadata.hermes.tags"), ["a", "b"]);
        assert_eq!(
            head.list("metadata.hermes.requires_tools"),
            ["terminal", "web_search"]
        );
        assert_eq!(front("name: a").all, json!({"name": "a"}));
    }

    #[test]
    fn a_skill_of_another_system_does_not_fit() {
        assert!(!front("platforms: [plan9]").fits_platform());
        assert!(front("platforms: [linux, macos, windows]").fits_platform());
    }

    #[test]
    fn names_are_those_a_folder_can_have() {
        for good in ["a", "csv-tools", "v1.2_x"] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "",
            "Bad Name!",
            "../evil",
            "-a",
            ".a",
            "a/b",
            "a..b",
            &"a".repeat(65),
        ] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
