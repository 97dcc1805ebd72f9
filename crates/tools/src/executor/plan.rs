//! Understands the calls of a batch and orders them, before anything runs.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use talaria_types::{Effect, ToolCall};

use crate::tool::Parallel;
use crate::{AnyTool, Registry, Selection, ToolSession, arguments, deferred};

/// As much of a name nobody knows is said back.
const SHOWN: usize = 80;

/// A batch, understood.
pub(super) struct Plan {
    /// One entry a call, in call order.
    pub(super) calls: Vec<Planned>,
    /// Runs of calls that may go side by side, in order; together they cover all calls.
    pub(super) segments: Vec<Range<usize>>,
}

/// What is to be done with one call.
pub(super) enum Planned {
    /// It can run.
    Ready(Ready),
    /// It is the same as an earlier one of this batch and gets its result.
    SameAs {
        /// The earlier call.
        original: usize,
        /// The tool's registered name.
        name: String,
    },
    /// It could not be understood; it gets this error.
    Invalid {
        /// The tool as far as it is known.
        name: String,
        /// For the model.
        error: String,
    },
}

/// A call that can run.
pub(super) struct Ready {
    /// The tool's registered name.
    pub(super) name: String,
    pub(super) tool: Arc<dyn AnyTool>,
    /// A JSON object.
    pub(super) args: Value,
    /// Equal for calls of the same tool with the same arguments.
    pub(super) key: String,
    parallel: Parallel,
}

impl Ready {
    /// The same call with other arguments, understood as the model's are.
    pub(super) fn with(&self, args: Value, session: &ToolSession) -> Self {
        let args = match args {
            Value::Object(args) => args,
            _ => Map::new(),
        };
        ready(Arc::clone(&self.tool), args, session)
    }
}

impl Planned {
    /// The tool's name and reach, for the journal. What will not run has no effect.
    pub(super) fn tool(&self) -> (&str, Effect) {
        match self {
            Self::Ready(ready) => (&ready.name, ready.tool.effect()),
            Self::Invalid { name, .. } | Self::SameAs { name, .. } => (name, Effect::Read),
        }
    }
}

impl Plan {
    pub(super) fn new(
        calls: &[ToolCall],
        registry: &Arc<Registry>,
        selection: &Selection,
        session: &ToolSession,
    ) -> Self {
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut planned = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter().enumerate() {
            let next = match understand(call, registry, selection, session) {
                Ok(ready) => match seen.get(&ready.key) {
                    Some(original) => Planned::SameAs {
                        original: *original,
                        name: ready.name,
                    },
                    None => {
                        seen.insert(ready.key.clone(), index);
                        Planned::Ready(ready)
                    }
                },
                Err((name, error)) => Planned::Invalid { name, error },
            };
            planned.push(next);
        }
        let segments = segments(&planned);
        Self {
            calls: planned,
            segments,
        }
    }
}

fn understand(
    call: &ToolCall,
    registry: &Arc<Registry>,
    selection: &Selection,
    session: &ToolSession,
) -> Result<Ready, (String, String)> {
    let Some(tool) = find(&call.name, registry, selection) else {
        return Err(no_such_tool(&call.name, &selection.names));
    };
    let name = tool.spec().name.clone();
    let args = arguments::understand(&name, &call.arguments)
        .map_err(|misread| (name.clone(), misread.text().to_owned()))?;
    if name == deferred::CALL {
        return beyond(args, registry, selection, session);
    }
    Ok(ready(tool, args, session))
}

/// The tool that `name` means: one of the session's own, or one of those that reach the others.
fn find(name: &str, registry: &Arc<Registry>, selection: &Selection) -> Option<Arc<dyn AnyTool>> {
    let name = arguments::resolve(name, &selection.names)?;
    registry
        .get(name)
        .or_else(|| deferred::tool(name, registry, selection))
}

/// The call of another tool that `tool_call` stands for; from here on it is that tool's call.
fn beyond(
    mut args: Map<String, Value>,
    registry: &Registry,
    selection: &Selection,
    session: &ToolSession,
) -> Result<Ready, (String, String)> {
    let wrong = |text: String| (deferred::CALL.to_owned(), text);
    let Some(Value::String(name)) = args.remove("name") else {
        return Err(wrong(
            "name is missing: the tool's name, as tool_search gives it".to_owned(),
        ));
    };
    let reachable = registry.reachable(selection);
    let own = selection.names.iter().filter_map(|name| registry.get(name));
    let tools: Vec<_> = reachable.into_iter().chain(own).collect();
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let found = arguments::resolve(&name, &names);
    let Some(tool) = found.and_then(|found| tools.into_iter().find(|tool| tool.spec().name == found)) else {
        let shown: String = name.chars().take(SHOWN).collect();
        return Err(wrong(format!(
            "there is no tool {shown:?}; look for one with {}",
            deferred::SEARCH
        )));
    };
    let inner = match args.remove("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(inner)) => inner,
        Some(Value::String(text)) => arguments::understand(&name, &text)
            .map_err(|misread| (name.clone(), misread.text().to_owned()))?,
        Some(_) => {
            return Err(wrong(format!(
                "arguments must be an object with the arguments of {name}"
            )));
        }
    };
    Ok(ready(tool, inner, session))
}

/// A call that can run, of arguments that are an object.
fn ready(tool: Arc<dyn AnyTool>, mut args: Map<String, Value>, session: &ToolSession) -> Ready {
    let name = tool.spec().name.clone();
    arguments::coerce(&mut args, &tool.spec().parameters);
    args.sort_keys();
    let args = Value::Object(args);
    let parallel = match tool.parallel(&args) {
        Parallel::Path(path) => Parallel::Path(session.absolute(&path)),
        other => other,
    };
    Ready {
        key: format!("{name} {args}"),
        name,
        tool,
        args,
        parallel,
    }
}

fn no_such_tool(name: &str, valid: &[String]) -> (String, String) {
    let shown: String = name.trim().chars().take(SHOWN).collect();
    let valid = valid.join(", ");
    let error = if shown.is_empty() {
        format!("the call names no tool; available tools: {valid}")
    } else {
        format!("unknown tool: {shown}; available tools: {valid}")
    };
    (shown, error)
}

fn segments(calls: &[Planned]) -> Vec<Range<usize>> {
    let mut segments = Vec::new();
    let mut start = 0;
    for index in 0..calls.len() {
        let Planned::Ready(next) = &calls[index] else {
            continue;
        };
        let clash = calls[start..index].iter().any(|earlier| match earlier {
            Planned::Ready(earlier) => !compatible(earlier, next),
            Planned::SameAs { .. } | Planned::Invalid { .. } => false,
        });
        if clash {
            segments.push(start..index);
            start = index;
        }
    }
    if start < calls.len() {
        segments.push(start..calls.len());
    }
    segments
}

/// Whether two calls may run at the same time.
fn compatible(one: &Ready, two: &Ready) -> bool {
    let readers = one.tool.effect() == Effect::Read && two.tool.effect() == Effect::Read;
    match (&one.parallel, &two.parallel) {
        (Parallel::Never, _) | (_, Parallel::Never) => false,
        (Parallel::Always, _) | (_, Parallel::Always) => true,
        (Parallel::Path(a), Parallel::Path(b)) => readers || !overlap(a, b),
    }
}

fn overlap(a: &PathBuf, b: &PathBuf) -> bool {
    a.starts_with(b) || b.starts_with(a)
}
