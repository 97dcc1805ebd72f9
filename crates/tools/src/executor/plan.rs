//! Understands the calls of a batch and orders them, before anything runs.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use talaria_types::{Effect, ToolCall};

use crate::tool::Parallel;
use crate::{AnyTool, Registry, Selection, ToolSession, arguments};

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
            _ => serde_json::Map::new(),
        };
        understood(&self.name, &self.tool, args, session)
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
        registry: &Registry,
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
    registry: &Registry,
    selection: &Selection,
    session: &ToolSession,
) -> Result<Ready, (String, String)> {
    const SHOWN: usize = 80;
    let found = arguments::resolve(&call.name, &selection.names).and_then(|name| registry.get(name));
    let Some(tool) = found else {
        let shown: String = call.name.trim().chars().take(SHOWN).collect();
        let valid = selection.names.join(", ");
        let error = if shown.is_empty() {
            format!("the call names no tool; available tools: {valid}")
        } else {
            format!("unknown tool: {shown}; available tools: {valid}")
        };
        return Err((shown, error));
    };
    let name = tool.spec().name.clone();
    let args = arguments::understand(&name, &call.arguments)
        .map_err(|misread| (name.clone(), misread.text().to_owned()))?;
    Ok(understood(&name, tool, args, session))
}

/// A call that can run, of arguments that are an object.
fn understood(
    name: &str,
    tool: &Arc<dyn AnyTool>,
    mut args: serde_json::Map<String, Value>,
    session: &ToolSession,
) -> Ready {
    arguments::coerce(&mut args, &tool.spec().parameters);
    args.sort_keys();
    let args = Value::Object(args);
    let parallel = match tool.parallel(&args) {
        Parallel::Path(path) => Parallel::Path(session.absolute(&path)),
        other => other,
    };
    Ready {
        key: format!("{name} {args}"),
        name: name.to_owned(),
        tool: Arc::clone(tool),
        args,
        parallel,
    }
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
