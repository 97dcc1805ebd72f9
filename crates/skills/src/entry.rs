//! One skill as an index knows it.

use std::path::{Path, PathBuf};

use crate::front::{self, DESCRIPTION};

/// Where a skill comes from; an earlier kind wins over a later one of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The home's `skills/`.
    Local,
    /// `.agents/skills` of the folder worked in: it may have come with a repository.
    Project,
    /// The person's `~/.agents/skills`.
    Personal,
    /// One of `skills.external_dirs`.
    External,
    /// Part of this program.
    Bundled,
}

impl Kind {
    /// The word that is shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Project => "project",
            Self::Personal => "personal",
            Self::External => "external",
            Self::Bundled => "bundled",
        }
    }
}

/// One skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// The folders between the root and it; `general` without any.
    pub category: String,
    /// Its folder; of a bundled one, its name.
    pub folder: PathBuf,
    /// Where it comes from.
    pub kind: Kind,
    /// Tools it needs.
    pub(crate) requires: Vec<String>,
    /// Tools it stands in for.
    pub(crate) fallback_for: Vec<String>,
    /// It is for this system.
    pub(crate) fits: bool,
}

/// Only so much of a file is read for the index.
pub(crate) const READ: usize = 4_096;

impl Entry {
    /// The skill of a file's beginning. A broken head costs the description, never the index.
    pub(crate) fn of(beginning: &str, folder: &Path, category: &str, kind: Kind) -> Option<Self> {
        let parted = front::part(beginning);
        let (head, body) = parted
            .as_ref()
            .map_or(("", beginning), |parted| (parted.head, parted.body));
        let front = match head {
            "" => front::Front::default(),
            head => front::read(head).ok()?,
        };
        let own = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let described = front.description.clone().or_else(|| front::first_line(body));
        let listed = |key: &str| {
            let mut all = front.list(&format!("metadata.hermes.{key}_tools"));
            all.extend(front.list(&format!("metadata.hermes.{key}_toolsets")));
            all
        };
        Some(Self {
            name: front
                .name
                .clone()
                .map_or(own, |name| cut(&one_line(&name), front::NAME)),
            description: cut(&one_line(&described.unwrap_or_default()), DESCRIPTION),
            category: category.to_owned(),
            folder: folder.to_owned(),
            kind,
            requires: listed("requires"),
            fallback_for: listed("fallback_for"),
            fits: front.fits_platform(),
        })
    }

    /// Whether it is offered where these tools are.
    pub fn is_offered(&self, has: &dyn Fn(&str) -> bool) -> bool {
        self.fits
            && self.requires.iter().all(|name| has(name))
            && !self.fallback_for.iter().any(|name| has(name))
    }

    /// How it is called as a slash command: `Web Research` is `web-research`.
    pub fn slug(&self) -> String {
        slug(&self.name)
    }

    /// `category/name`.
    pub fn path_name(&self) -> String {
        format!("{}/{}", self.category, self.name)
    }
}

/// A name as a slash command.
pub fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.to_lowercase().chars() {
        let c = if matches!(c, ' ' | '_') { '-' } else { c };
        let is_kept = c.is_ascii_alphanumeric() || (c == '-' && !slug.ends_with('-') && !slug.is_empty());
        if is_kept {
            slug.push(c);
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// A text on one line, without what terminals and tables stumble over.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The first characters of a text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_becomes_a_command() {
        assert_eq!(slug("Web  Research_v2!"), "web-research-v2");
        assert_eq!(slug("--x--"), "x");
    }

    #[test]
    fn a_skill_without_a_head_is_called_like_its_folder() {
        let entry = Entry::of(
            "# Title\n\nDoes it.\n",
            Path::new("/r/notes"),
            "general",
            Kind::Local,
        )
        .unwrap();
        assert_eq!(
            (entry.name.as_str(), entry.description.as_str()),
            ("notes", "Does it.")
        );
        assert!(
            Entry::of(
                "---\nname: [x\n---\n",
                Path::new("/r/broken"),
                "general",
                Kind::Local
            )
            .is_none()
        );
    }
}
