//! Which tables count a model's tokens.

use super::quick;

/// Families of models that share a vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// GPT-4 and GPT-3.5.
    Cl100k,
    /// GPT-4o and everything of OpenAI since, gpt-oss included.
    O200k,
    /// Vocabularies that are not public or not worth their size here.
    Other,
}

/// Beginnings of model ids, the longer before the shorter.
const FAMILIES: &[(&str, Family)] = &[
    ("gpt-4o", Family::O200k),
    ("gpt-4.1", Family::O200k),
    ("gpt-4.5", Family::O200k),
    ("gpt-4", Family::Cl100k),
    ("gpt-3", Family::Cl100k),
    ("gpt-", Family::O200k),
    ("chatgpt-4o", Family::O200k),
    ("codex", Family::O200k),
    ("o1", Family::O200k),
    ("o3", Family::O200k),
    ("o4", Family::O200k),
];

impl Family {
    /// By the model's id, whoever serves it.
    pub(super) fn of(model: &str) -> Self {
        let bare = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        FAMILIES
            .iter()
            .find(|(start, _)| bare.starts_with(start))
            .map_or(Self::Other, |(_, family)| *family)
    }

    pub(super) fn count(self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        match self {
            Self::Cl100k => bpe_openai::cl100k_base().count(text) as u64,
            Self::O200k => bpe_openai::o200k_base().count(text) as u64,
            Self::Other => quick(text),
        }
    }
}
