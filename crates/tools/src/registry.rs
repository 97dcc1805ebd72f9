//! Which tools there are, and which of them a session has.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use serde_json::Value;
use talaria_types::ToolSpec;

use crate::{AnyTool, builtin, deferred, schema};

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
    deferred::SEARCH,
    deferred::CALL,
    "todo",
    "process",
    deferred::DESCRIBE,
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

/// A tool and its toolset.
type Entry = (Cow<'static, str>, Arc<dyn AnyTool>);

/// All tools, by toolset.
#[derive(Default)]
pub struct Registry {
    entries: RwLock<Vec<Entry>>,
    /// Toolsets that exist although none of their tools is known yet.
    announced: Vec<String>,
    deferral: Deferral,
}

/// When the schemas of tools from outside are left out of requests and looked up instead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deferral {
    /// Always, never, or by the share.
    pub when: Option<bool>,
    /// The share of the window that their schemas may take.
    pub share: f64,
}

impl Default for Deferral {
    fn default() -> Self {
        Self {
            when: None,
            share: 0.10,
        }
    }
}

/// The tools of one session, fixed for its life.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Their names, sorted.
    pub names: Vec<String>,
    /// Whether descriptions are cut to fit a window below 16 384 tokens.
    pub compact: bool,
    /// What the three tools that reach the others may reach; nothing when they are not among the names.
    pub beyond: Option<Beyond>,
}

/// The tools a session can look up and call without having them in its requests: those of
/// outside that its toolsets hold, whenever they come to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond {
    toolsets: Vec<String>,
    disabled: Vec<String>,
    /// What the model is told there is, by toolset; fixed for the session.
    pub(crate) sources: Vec<String>,
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
            entries: RwLock::new(
                builtin::all()
                    .into_iter()
                    .map(|(toolset, tool)| (Cow::Borrowed(toolset), tool))
                    .collect(),
            ),
            ..Self::default()
        }
    }

    fn entries(&self) -> RwLockReadGuard<'_, Vec<Entry>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn entries_mut(&self) -> RwLockWriteGuard<'_, Vec<Entry>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets when the schemas of tools from outside are left out of requests.
    pub fn defer(&mut self, deferral: Deferral) {
        self.deferral = deferral;
    }

    /// Says that `toolset` exists, although its tools may only come to be known later.
    pub fn announce(&mut self, toolset: &str) {
        self.announced.push(toolset.to_owned());
    }

    /// Adds a tool of another crate to `toolset`; a tool of the same name is replaced.
    pub fn add(&mut self, toolset: impl Into<Cow<'static, str>>, tool: Arc<dyn AnyTool>) {
        self.arrive(toolset, tool);
    }

    /// Adds a tool while sessions run. They can look it up; the next session has it in its requests.
    pub fn arrive(&self, toolset: impl Into<Cow<'static, str>>, tool: Arc<dyn AnyTool>) {
        let mut entries = self.entries_mut();
        entries.retain(|(_, old)| old.spec().name != tool.spec().name);
        entries.push((toolset.into(), tool));
    }

    /// Takes every tool of `toolset` away; sessions that have them are told that there is none.
    pub fn leave(&self, toolset: &str) {
        self.entries_mut().retain(|(known, _)| known != toolset);
    }

    /// The tool of that exact name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn AnyTool>> {
        let entries = self.entries();
        let mut tools = entries.iter().map(|(_, tool)| tool);
        tools.find(|tool| tool.spec().name == name).cloned()
    }

    /// The tools a session reaches without having them in its requests, sorted by name.
    pub(crate) fn reachable(&self, selection: &Selection) -> Vec<Arc<dyn AnyTool>> {
        let Some(beyond) = &selection.beyond else {
            return Vec::new();
        };
        let entries = self.entries();
        let wanted = self.wanted(&entries, &beyond.toolsets).unwrap_or_default();
        let mut tools: Vec<_> = entries
            .iter()
            .filter(|entry| entry.1.is_outside() && is_chosen(entry, &wanted, &beyond.disabled))
            .map(|(_, tool)| tool.clone())
            .filter(|tool| !selection.names.contains(&tool.spec().name))
            .collect();
        tools.sort_by(|one, two| one.spec().name.cmp(&two.spec().name));
        tools
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
        let entries = self.entries();
        let wanted = self.wanted(&entries, toolsets)?;
        let chosen = entries.iter().filter(|entry| is_chosen(entry, &wanted, disabled));
        let (outside, own): (Vec<&Entry>, Vec<&Entry>) = chosen.partition(|(_, tool)| tool.is_outside());
        let mut names: Vec<String> = own.iter().map(|(_, tool)| tool.spec().name.clone()).collect();
        let announced =
            |name: &String| self.announced.contains(name) || self.announced.contains(&alias(name));
        if let (true, Some(first)) = (
            names.is_empty() && outside.is_empty() && disabled.is_empty() && !toolsets.iter().any(announced),
            toolsets.first(),
        ) {
            return Err(unknown(&entries, first));
        }
        let cost: usize = outside.iter().map(|(_, tool)| rough_tokens(tool.spec())).sum();
        let deferred = !outside.is_empty() && self.is_deferred(cost, window);
        let mut beyond = None;
        if deferred || outside.iter().any(|(_, tool)| tool.may_change()) {
            names.extend([deferred::SEARCH, deferred::DESCRIBE, deferred::CALL].map(str::to_owned));
            beyond = Some(Beyond {
                toolsets: toolsets.to_vec(),
                disabled: disabled.to_vec(),
                sources: if deferred { sources(&outside) } else { Vec::new() },
            });
        }
        if !deferred {
            names.extend(outside.iter().map(|(_, tool)| tool.spec().name.clone()));
        }
        drop(entries);
        let compact = window > 0 && window < COMPACT_BELOW;
        let mut selection = Selection {
            names,
            compact,
            beyond,
        };
        if compact {
            self.fit_compact(&mut selection);
        }
        selection.names.sort();
        Ok(selection)
    }

    /// Whether schemas of `cost` tokens are left out of the requests to a window of `window` tokens.
    fn is_deferred(&self, cost: usize, window: u64) -> bool {
        self.deferral.when.unwrap_or_else(|| {
            let room = self.deferral.share * window as f64;
            window > 0 && cost as f64 > room
        })
    }

    /// The toolsets that `toolsets` name; all of them when empty.
    fn wanted(&self, entries: &[Entry], toolsets: &[String]) -> Result<BTreeSet<String>, UnknownToolset> {
        let mut wanted = BTreeSet::new();
        for name in toolsets {
            wanted.extend(
                self.expand(entries, name.trim())
                    .ok_or_else(|| unknown(entries, name))?,
            );
        }
        if toolsets.is_empty() {
            wanted.extend(entries.iter().map(|(toolset, _)| toolset.to_string()));
        }
        Ok(wanted)
    }

    /// The toolsets `name` stands for, or nothing when no such name is known.
    fn expand(&self, entries: &[Entry], name: &str) -> Option<Vec<String>> {
        let all = || entries.iter().map(|(toolset, _)| toolset.to_string());
        if name == "all" || name == "*" || name.starts_with("hermes-") {
            return Some(all().collect());
        }
        // A server's own name stands for its toolset, unless a toolset has that name.
        for known in [name.to_owned(), alias(name)] {
            if all().any(|toolset| toolset == known) || self.announced.contains(&known) {
                return Some(vec![known]);
            }
        }
        if let Some((_, parts)) = COMPOSITES.iter().find(|(composite, _)| *composite == name) {
            return Some(
                all()
                    .filter(|toolset| parts.contains(&toolset.as_str()))
                    .collect(),
            );
        }
        KNOWN_ELSEWHERE.contains(&name).then(Vec::new)
    }

    /// As many of the names as the compact budget holds, the essential ones first.
    fn fit_compact(&self, selection: &mut Selection) {
        let rank = |name: &String| ESSENTIAL.iter().position(|essential| essential == name);
        let mut names = std::mem::take(&mut selection.names);
        names.sort_by_key(|name| (rank(name).unwrap_or(usize::MAX), name.clone()));
        let mut left = COMPACT_TOKENS;
        names.retain(|name| {
            let Some(spec) = self.spec(name, selection) else {
                return false;
            };
            let cost = rough_tokens(&compact(&spec));
            let fits = cost <= left;
            if fits {
                left -= cost;
            }
            fits
        });
        selection.names = names;
    }

    /// What is said of one tool of a selection.
    fn spec(&self, name: &str, selection: &Selection) -> Option<ToolSpec> {
        if let Some(tool) = self.get(name) {
            return Some(tool.spec().clone());
        }
        let beyond = selection.beyond.as_ref()?;
        deferred::spec(name, &beyond.sources)
    }

    /// What the model is told of a selection: sorted by name, the same bytes in every process.
    pub fn specs(&self, selection: &Selection) -> Arc<[ToolSpec]> {
        let chosen: BTreeMap<&String, ToolSpec> = selection
            .names
            .iter()
            .filter_map(|name| Some((name, self.spec(name, selection)?)))
            .collect();
        let shape = |spec: ToolSpec| {
            if selection.compact { compact(&spec) } else { spec }
        };
        chosen.into_values().map(shape).collect()
    }

    /// The toolsets and their tools, for listings.
    pub fn toolsets(&self) -> Vec<(String, Vec<String>)> {
        let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (toolset, tool) in self.entries().iter() {
            sets.entry(toolset.to_string())
                .or_default()
                .push(tool.spec().name.clone());
        }
        sets.values_mut().for_each(|names| names.sort());
        sets.into_iter().collect()
    }
}

/// The toolset of an MCP server called `name`.
fn alias(name: &str) -> String {
    format!("mcp-{name}")
}

fn is_chosen((toolset, tool): &Entry, wanted: &BTreeSet<String>, disabled: &[String]) -> bool {
    let off = |name: &str| {
        disabled
            .iter()
            .any(|disabled| disabled == name || alias(disabled) == name)
    };
    wanted.contains(toolset.as_ref()) && !off(toolset) && !disabled.contains(&tool.spec().name)
}

/// Toolsets with the number of their tools, as the model reads them.
fn sources(outside: &[&Entry]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (toolset, _) in outside {
        *counts.entry(toolset).or_default() += 1;
    }
    let shown = |(toolset, count): (&str, usize)| {
        let name = toolset.strip_prefix("mcp-").unwrap_or(toolset);
        format!("{name} ({count})")
    };
    counts.into_iter().map(shown).collect()
}

fn unknown(entries: &[Entry], name: &str) -> UnknownToolset {
    let mut known: BTreeSet<&str> = entries.iter().map(|(toolset, _)| toolset.as_ref()).collect();
    let exists = |parts: &[&str]| {
        parts
            .iter()
            .any(|part| entries.iter().any(|(set, _)| set == part))
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
