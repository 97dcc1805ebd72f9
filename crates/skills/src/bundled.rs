//! The skills that are part of the program. A skill of the same name anywhere else stands in front of them.

use std::path::Path;

use crate::entry::{Entry, Kind};

/// Category, name and text.
pub(crate) const SKILLS: &[(&str, &str, &str)] = &[
    ("talaria", "talaria", include_str!("../bundled/talaria.md")),
    (
        "development",
        "debugging",
        include_str!("../bundled/debugging.md"),
    ),
    (
        "development",
        "code-review",
        include_str!("../bundled/code-review.md"),
    ),
    (
        "development",
        "git-history",
        include_str!("../bundled/git-history.md"),
    ),
    (
        "research",
        "source-research",
        include_str!("../bundled/source-research.md"),
    ),
    (
        "skills",
        "skill-writing",
        include_str!("../bundled/skill-writing.md"),
    ),
];

/// All of them.
pub(crate) fn entries() -> impl Iterator<Item = Entry> {
    SKILLS
        .iter()
        .filter_map(|(category, name, text)| Entry::of(text, Path::new(name), category, Kind::Bundled))
}

/// The text of one.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    let found = SKILLS.iter().find(|(_, known, _)| *known == name);
    found.map(|(_, _, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_skill_is_a_valid_skill() {
        for (_, name, text) in SKILLS {
            let front = crate::manage::check(text).unwrap();
            assert_eq!(front.name.as_deref(), Some(*name));
            assert!(
                front.description.unwrap().len() <= 60,
                "{name}: the index would cut its description"
            );
            assert_eq!(crate::guard::scan_text("SKILL.md", text), Vec::new(), "{name}");
        }
    }
}
