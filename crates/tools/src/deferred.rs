//! The three tools that stand in for many: `tool_search`, `tool_describe`, `tool_call`.
//!
//! Servers and plugins may bring hundreds of tools, and their schemas would fill a good part of the
//! window with every request. Above a share of it they are left out; the model looks them up by words
//! and calls them through `tool_call`. What is called runs, is asked for, journaled, masked and shown
//! under its own name: the plan of a batch puts the real tool in place before anything else looks.
//!
//! The bytes of these three are fixed for a session. What they reach is not: tools that a server comes
//! to have meanwhile are found too.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use talaria_types::{Effect, ToolSpec};

use crate::tool::Parallel;
use crate::{AnyTool, Registry, Selection, ToolContext, ToolError, ToolOutput, untrusted};

/// Finds tools.
pub(crate) const SEARCH: &str = "tool_search";
/// Gives a tool's schema.
pub(crate) const DESCRIBE: &str = "tool_describe";
/// Calls a tool.
pub(crate) const CALL: &str = "tool_call";

/// Tools that a search gives.
const FOUND: usize = 8;
/// As much of a description as a search shows, in characters.
const SHOWN: usize = 200;
/// Names that are listed when nothing fits.
const LISTED: usize = 60;
/// What found tools are said to come from.
const SOURCE: &str = "descriptions of tools, by the servers that have them";

/// What is said of one of the three; nothing for any other name.
pub(crate) fn spec(name: &str, sources: &[String]) -> Option<ToolSpec> {
    let (description, properties, required) = match name {
        SEARCH => {
            let whose = if sources.is_empty() {
                "Find tools that connected servers came to have meanwhile".to_owned()
            } else {
                format!(
                    "Find tools of connected servers that are not listed here: {}",
                    sources.join(", ")
                )
            };
            let properties =
                json!({"query": {"type": "string", "description": "Words of what the tool should do"}});
            (whose, properties, json!(["query"]))
        }
        DESCRIBE => (
            "Give the arguments of a tool that tool_search found".to_owned(),
            json!({"name": {"type": "string", "description": "Its name"}}),
            json!(["name"]),
        ),
        CALL => (
            "Call a tool that tool_search found".to_owned(),
            json!({
                "name": {"type": "string", "description": "Its name"},
                "arguments": {"type": "object", "description": "Its arguments, as tool_describe gives them", "properties": {}},
            }),
            json!(["name", "arguments"]),
        ),
        _ => return None,
    };
    Some(ToolSpec {
        name: name.to_owned(),
        description,
        parameters: json!({"type": "object", "properties": properties, "required": required}),
    })
}

/// The tool of that name, over what a session reaches; nothing when it is none of the three.
pub(crate) fn tool(name: &str, registry: &Arc<Registry>, selection: &Selection) -> Option<Arc<dyn AnyTool>> {
    let sources = &selection.beyond.as_ref()?.sources;
    let tool = Look {
        spec: spec(name, sources)?,
        registry: registry.clone(),
        selection: selection.clone(),
    };
    Some(Arc::new(tool))
}

/// `tool_search` and `tool_describe`; `tool_call` never runs itself.
struct Look {
    spec: ToolSpec,
    registry: Arc<Registry>,
    selection: Selection,
}

impl Look {
    fn look(&self, args: &Value) -> Result<ToolOutput, ToolError> {
        let wanted = if self.spec.name == SEARCH { "query" } else { "name" };
        let Some(text) = args[wanted].as_str().filter(|text| !text.trim().is_empty()) else {
            return Err(ToolError::Misfit(format!("{wanted} is missing: a text")));
        };
        let tools = self.registry.reachable(&self.selection);
        if self.spec.name == SEARCH {
            return Ok(search(text, &tools));
        }
        let found = tools.iter().find(|tool| tool.spec().name == text.trim());
        let Some(tool) = found else {
            return Err(ToolError::BadArguments(format!(
                "there is no tool {text:?}; {SEARCH} finds the names"
            )));
        };
        let spec = tool.spec();
        let told = json!({"name": spec.name, "description": spec.description, "parameters": spec.parameters});
        Ok(told_of(&told, format!("[{DESCRIBE}] {}", spec.name)))
    }
}

impl AnyTool for Look {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        Effect::Read
    }

    fn run<'a>(
        &'a self,
        args: Value,
        _: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(ready(self.look(&args)))
    }

    fn parallel(&self, _: &Value) -> Parallel {
        Parallel::Always
    }

    fn idempotent(&self) -> bool {
        true
    }

    fn keeps_whole_results(&self) -> bool {
        false
    }
}

fn told_of(told: &Value, brief: String) -> ToolOutput {
    ToolOutput {
        content: untrusted::wrap(SOURCE, &told.to_string()).into(),
        brief,
        ok: true,
    }
}

fn search(query: &str, tools: &[Arc<dyn AnyTool>]) -> ToolOutput {
    let wanted = words(query);
    let mut ranked: Vec<(usize, &ToolSpec)> = tools
        .iter()
        .map(|tool| (score(&wanted, tool.spec()), tool.spec()))
        .filter(|(score, _)| *score > 0)
        .collect();
    ranked.sort_by(|one, two| two.0.cmp(&one.0).then_with(|| one.1.name.cmp(&two.1.name)));
    ranked.truncate(FOUND);
    let brief = format!("[{SEARCH}] {query:?}: {} found", ranked.len());
    if ranked.is_empty() {
        let names: Vec<&str> = tools
            .iter()
            .map(|tool| tool.spec().name.as_str())
            .take(LISTED)
            .collect();
        let told =
            json!({"tools": [], "note": "no tool has these words", "names": names, "total": tools.len()});
        return told_of(&told, brief);
    }
    let shown = |spec: &ToolSpec| {
        let description: String = spec.description.chars().take(SHOWN).collect();
        let arguments: Vec<&String> = spec.parameters["properties"]
            .as_object()
            .into_iter()
            .flat_map(|properties| properties.keys())
            .collect();
        json!({"name": spec.name, "description": description, "arguments": arguments})
    };
    let found: Vec<Value> = ranked.into_iter().map(|(_, spec)| shown(spec)).collect();
    told_of(&json!({"tools": found}), brief)
}

/// How well a tool fits: a word of its name counts most, then a beginning of one, then a word of what is said of it.
fn score(wanted: &BTreeSet<String>, spec: &ToolSpec) -> usize {
    let name = words(&spec.name);
    let said = words(&spec.description);
    let points = wanted.iter().map(|word| {
        if name.contains(word) {
            8
        } else if word.len() > 2
            && name
                .iter()
                .any(|known| known.starts_with(word) || word.starts_with(known))
        {
            4
        } else if said.contains(word) {
            2
        } else {
            usize::from(word.len() > 3 && said.iter().any(|known| known.starts_with(word)))
        }
    });
    points.sum()
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests;
