//! What is told of an event.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::Event;

/// One event with its facts.
#[derive(Clone, Debug, PartialEq)]
pub struct Payload {
    /// What happens.
    pub event: Event,
    /// The session's id.
    pub session_id: String,
    /// The folder the agent works in.
    pub cwd: PathBuf,
    /// The tool, for events of one.
    pub tool: Option<ToolFacts>,
    /// Everything else, by the names of `docs/hooks.md`.
    pub extra: Map<String, Value>,
}

/// A tool call as it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFacts {
    /// The tool.
    pub name: String,
    /// Its arguments, a JSON object.
    pub args: Value,
    /// The call's id.
    pub call_id: String,
}

impl Payload {
    /// An event of a session, with nothing else told yet.
    pub fn new(event: Event, session_id: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            event,
            session_id: session_id.into(),
            cwd: cwd.into(),
            tool: None,
            extra: Map::new(),
        }
    }

    /// With a tool call.
    #[must_use]
    pub fn of_tool(mut self, name: &str, args: &Value, call_id: &str) -> Self {
        self.tool = Some(ToolFacts {
            name: name.to_owned(),
            args: args.clone(),
            call_id: call_id.to_owned(),
        });
        self
    }

    /// With one more fact.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.extra.insert(name.to_owned(), value.into());
        self
    }

    /// A fact as text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.extra.get(name).and_then(Value::as_str)
    }

    /// The tool's name, or nothing.
    pub(crate) fn tool_name(&self) -> &str {
        self.tool.as_ref().map_or("", |tool| &tool.name)
    }

    /// The JSON that hooks of `config.yaml` and plugins read.
    pub fn json(&self) -> Value {
        let tool = self.tool.as_ref();
        serde_json::json!({
            "hook_event_name": self.event.name(),
            "tool_name": tool.map(|tool| &tool.name),
            "tool_input": tool.map(|tool| &tool.args),
            "session_id": self.session_id,
            "cwd": self.cwd,
            "extra": self.extra_with_call(),
        })
    }

    fn extra_with_call(&self) -> Map<String, Value> {
        let mut extra = self.extra.clone();
        if let Some(tool) = &self.tool {
            extra.insert("tool_call_id".to_owned(), tool.call_id.clone().into());
        }
        extra
    }
}
