//! Which events a hook wants to hear of.

use regex::Regex;

use crate::Dialect;

/// Decides by a text, such as a tool's name.
#[derive(Clone, Debug)]
pub(crate) enum Matcher {
    /// Everything.
    Any,
    /// One of these, exactly.
    OneOf(Vec<String>),
    /// What the pattern matches.
    Pattern(Regex),
}

impl Matcher {
    /// A matcher as it is written. Hermes matches whole names; Claude Code takes plain words
    /// literally and anything else as a pattern that may match anywhere; goose always the latter.
    ///
    /// # Errors
    /// When it is no pattern.
    pub(crate) fn parse(text: &str, dialect: Dialect) -> Result<Self, String> {
        let text = text.trim();
        if matches!(text, "" | "*" | ".*") {
            return Ok(Self::Any);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_|, -".contains(c);
        if dialect == Dialect::Claude && text.chars().all(plain) {
            let words = text.split(['|', ',']).map(|word| word.trim().to_owned());
            return Ok(Self::OneOf(words.filter(|word| !word.is_empty()).collect()));
        }
        let pattern = match dialect {
            Dialect::Hermes => format!("^(?:{text})$"),
            Dialect::Claude | Dialect::Goose => text.to_owned(),
        };
        Regex::new(&pattern)
            .map(Self::Pattern)
            .map_err(|error| format!("the matcher {text:?} is no regular expression: {error}"))
    }

    /// Whether one of `subjects` is meant; without a subject nothing is narrowed.
    pub(crate) fn is_met(&self, subjects: &[&str]) -> bool {
        subjects.is_empty()
            || match self {
                Self::Any => true,
                Self::OneOf(words) => subjects
                    .iter()
                    .any(|subject| words.iter().any(|word| word == subject)),
                Self::Pattern(pattern) => subjects.iter().any(|subject| pattern.is_match(subject)),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::tool_names;
    use rstest::rstest;

    #[rstest]
    #[case(Dialect::Hermes, "term", "terminal", false)]
    #[case(Dialect::Hermes, "term.*|patch", "terminal", true)]
    #[case(Dialect::Claude, "Bash", "terminal", true)]
    #[case(Dialect::Claude, "Edit|Write", "patch", true)]
    #[case(Dialect::Claude, "Edit|Write", "read_file", false)]
    #[case(Dialect::Claude, "Glob", "search_files", true)]
    #[case(Dialect::Claude, "mcp__.*__write.*", "mcp__files__write_all", true)]
    #[case(Dialect::Claude, "*", "anything", true)]
    #[case(Dialect::Claude, "Ba", "terminal", false)]
    #[case(Dialect::Goose, "developer__sh", "terminal", true)]
    #[case(Dialect::Goose, "^developer__(edit|write)$", "write_file", true)]
    fn tools_are_meant_by_the_names_their_hooks_know(
        #[case] dialect: Dialect,
        #[case] written: &str,
        #[case] tool: &str,
        #[case] is_met: bool,
    ) {
        let matcher = Matcher::parse(written, dialect).unwrap();
        assert_eq!(matcher.is_met(&tool_names(dialect, tool)), is_met);
    }

    #[test]
    fn a_broken_pattern_is_told() {
        assert!(
            Matcher::parse("(", Dialect::Hermes)
                .unwrap_err()
                .contains("\"(\"")
        );
    }
}
