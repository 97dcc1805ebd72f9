//! Which tools there are, and which of them a session has.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use talaria_types::ToolSpec;

use crate::{AnyTool, builtin, schema};

/// Below this window (tokens) the compact tool set is used.
const COMPACT_BELOW: u64 = 16_384;

/// What the schemas of the compact tool set may cost, in tokens.
const COMPACT_TOKENS: usize = 1_200;

/// Tools that stay in the compact set before all others, most needed first.
const ESSENTIAL: &[&str] = &[
    "terminal",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "todo",
    "process",
];

/// Toolsets made of others; a part that does not exist is left out.
const COMPOSITES: &[(&str, &[&str])] = &[
    ("debugging", &["terminal", "file", "web"]),
    ("safe", &["web", "vision", "image_gen"]),
    ("search", &["web"]),
];

/// Names a Hermes configuration may carry for toolsets that are not here; they select nothing.
const KNOWN_ELSEWHERE: &[&str] = &[
    "browser",
    "browser-cdp",
    "code_execution",
    "computer_use",
    "cronjob",
    "delegation",
    "discord",
    "discord_admin",
    "feishu_doc",
    "feishu_drive",
    "homeassistant",
    "image_gen",
    "kanban",
    "memory",
    "messaging",
    "moa",
    "session_search",
    "skills",
    "spotify",
    "tts",
    "video",
    "video_gen",
    "vision",
    "x_search",
];

/// All tools, by toolset.
#[derive(Default)]
pub struct Registry {
    entries: Vec<(Cow<'static, str>, Arc<dyn AnyTool>)>,
}

/// The tools of one session, fixed for its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Their names, sorted.
    pub names: Vec<String>,
    /// Whether descriptions are cut to fit a window below 16 384 tokens.
    pub compact: bool,
}

/// A toolset that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no toolset {name:?}; there are {known}")]
pub struct UnknownToolset {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: String,
}

impl Registry {
    /// The built-in tools: `terminal`, `process`, the four file tools, `todo`, `clarify`.
    pub fn builtin() -> Self {
        Self {
            entries: builtin::all()
                .into_iter()
                .map(|(toolset, tool)| (Cow::Borrowed(toolset), tool))
                .collect(),
        }
    }

    /// Adds a tool of another crate to `toolset`; a tool of the same name is replaced.
    pub fn add(&mut self, toolset: impl Into<Cow<'static, str>>, tool: Arc<dyn AnyTool>) {
        self.entries
            .retain(|(_, old)| old.spec().name != tool.spec().name);
        self.entries.push((toolset.into(), tool));
    }

    /// The tool of that exact name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn AnyTool>> {
        self.entries
            .iter()
            .map(|(_, tool)| tool)
            .find(|tool| tool.spec().name == name)
    }

    /// The tools of `toolsets` (all of them when empty) for a window of `window` tokens,
    /// without those of `disabled`, which may name toolsets or tools.
    ///
    /// A toolset that Hermes has and this program has not selects nothing, so that
    /// a Hermes configuration can be used as it is.
    ///
    /// # Errors
    /// When a toolset does not exist, or nothing at all is selected by those that were named.
    pub fn select(
        &self,
        toolsets: &[String],
        disabled: &[String],
        window: u64,
    ) -> Result<Selection, UnknownToolset> {
        let mut wanted: BTreeSet<&str> = BTreeSet::new();
        for name in toolsets {
            wanted.extend(self.expand(name.trim()).ok_or_else(|| self.unknown(name))?);
        }
        if toolsets.is_empty() {
            wanted.extend(self.entries.iter().map(|(toolset, _)| toolset.as_ref()));
        }
        let off = |name: &str| disabled.iter().any(|disabled| disabled == name);
        let mut names: Vec<String> = self
            .entries
            .iter()
            .filter(|(toolset, tool)| {
                wanted.contains(toolset.as_ref()) && !off(toolset) && !off(&tool.spec().name)
            })
            .map(|(_, tool)| tool.spec().name.clone())
            .collect();
        if let (true, Some(first)) = (names.is_empty() && disabled.is_empty(), toolsets.first()) {
            return Err(self.unknown(first));
        }
        let compact = window > 0 && window < COMPACT_BELOW;
        if compact {
            names = self.fit_compact(names);
        }
        names.sort();
        Ok(Selection { names, compact })
    }

    /// The toolsets `name` stands for, or nothing when no such name is known.
    fn expand(&self, name: &str) -> Option<Vec<&str>> {
        let all = || self.entries.iter().map(|(toolset, _)| toolset.as_ref());
        if name == "all" || name == "*" || name.starts_with("hermes-") {
            return Some(all().collect());
        }
        if let Some(toolset) = all().find(|toolset| *toolset == name) {
            return Some(vec![toolset]);
        }
        if let Some((_, parts)) = COMPOSITES.iter().find(|(composite, _)| *composite == name) {
            return Some(all().filter(|toolset| parts.contains(toolset)).collect());
        }
        KNOWN_ELSEWHERE.contains(&name).then(Vec::new)
    }

    fn unknown(&self, name: &str) -> UnknownToolset {
        let mut known: BTreeSet<&str> = self.entries.iter().map(|(toolset, _)| toolset.as_ref()).collect();
        let exists = |parts: &[&str]| {
            parts
                .iter()
                .any(|part| self.entries.iter().any(|(set, _)| set == part))
        };
        known.extend(
            COMPOSITES
                .iter()
                .filter(|(_, parts)| exists(parts))
                .map(|(composite, _)| *composite),
        );
        known.insert("all");
        UnknownToolset {
            name: name.trim().to_owned(),
            known: known.into_iter().collect::<Vec<_>>().join(", "),
        }
    }

    /// As many of `names` as the compact budget holds, the essential ones first.
    fn fit_compact(&self, mut names: Vec<String>) -> Vec<String> {
        let rank = |name: &String| ESSENTIAL.iter().position(|essential| essential == name);
        names.sort_by_key(|name| (rank(name).unwrap_or(usize::MAX), name.clone()));
        let mut left = COMPACT_TOKENS;
        names.retain(|name| {
            let Some(tool) = self.get(name) else { return false };
            let cost = rough_tokens(&compact(tool.spec()));
            let fits = cost <= left;
            if fits {
                left -= cost;
            }
            fits
        });
        names
    }

    /// What the model is told of a selection: sorted by name, the same bytes in every process.
    pub fn specs(&self, selection: &Selection) -> Arc<[ToolSpec]> {
        let chosen: BTreeMap<&str, &ToolSpec> = selection
            .names
            .iter()
            .filter_map(|name| self.get(name))
            .map(|tool| (tool.spec().name.as_str(), tool.spec()))
            .collect();
        let shape = |spec: &ToolSpec| {
            if selection.compact {
                compact(spec)
            } else {
                spec.clone()
            }
        };
        chosen.into_values().map(shape).collect()
    }

    /// The toolsets and their tools, for listings.
    pub fn toolsets(&self) -> Vec<(String, Vec<String>)> {
        let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (toolset, tool) in &self.entries {
            sets.entry(toolset.to_string())
                .or_default()
                .push(tool.spec().name.clone());
        }
        sets.values_mut().for_each(|names| names.sort());
        sets.into_iter().collect()
    }
}

/// A spec for a small window: the first sentence of the description, no words about arguments.
fn compact(spec: &ToolSpec) -> ToolSpec {
    let first = spec.description.split(". ").next().unwrap_or_default();
    ToolSpec {
        name: spec.name.clone(),
        description: first.trim_end_matches('.').to_owned(),
        parameters: schema::compact(&spec.parameters),
    }
}

/// An upper estimate of what a spec costs on the wire; schemas take about four bytes a token.
fn rough_tokens(spec: &ToolSpec) -> usize {
    const WRAPPER: usize = 16;
    let parameters = Value::to_string(&spec.parameters).len();
    (spec.name.len() + spec.description.len() + parameters) * 2 / 7 + WRAPPER
}

#[cfg(test)]
mod tests;
