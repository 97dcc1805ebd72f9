//! How other programs' hooks speak: Claude Code and Codex one way, goose another.
//!
//! Their hooks know other names of events, tools and arguments. A hook that was written
//! for one of them is told in its own words and understood in them; nothing else of this
//! program knows that it exists.

use serde_json::{Map, Value, json};

use crate::{Event, Payload};

/// Whose words a hook speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Hermes', which are this program's own.
    Hermes,
    /// Claude Code's and Codex'.
    Claude,
    /// goose's.
    Goose,
}

impl Dialect {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hermes => "hermes",
            Self::Claude => "claude",
            Self::Goose => "goose",
        }
    }
}

/// What a matcher is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The tool's name.
    Tool,
    /// An argument of the tool.
    Argument(&'static str),
    /// A fact of the event.
    Fact(&'static str),
    /// Nothing: matchers do not narrow this event.
    Nothing,
}

/// An event under somebody's name for it.
#[derive(Debug)]
pub(crate) struct Name {
    dialect: Dialect,
    pub(crate) name: &'static str,
    pub(crate) event: Event,
    /// Only calls that went well, or that did not.
    pub(crate) ok: Option<bool>,
    /// Only these tools; empty is all.
    pub(crate) tools: &'static [&'static str],
    pub(crate) subject: Subject,
    /// Whether its hooks may refuse.
    pub(crate) may_block: bool,
}

const fn name(dialect: Dialect, name: &'static str, event: Event, subject: Subject) -> Name {
    Name {
        dialect,
        name,
        event,
        ok: None,
        tools: &[],
        subject,
        may_block: true,
    }
}

impl Name {
    const fn only(mut self, ok: Option<bool>, tools: &'static [&'static str]) -> Self {
        self.ok = ok;
        self.tools = tools;
        self
    }
    const fn watches(mut self) -> Self {
        self.may_block = false;
        self
    }
}

use Dialect::{Claude, Goose};
use Subject::{Argument, Fact, Nothing, Tool};

/// The events of others that exist here.
static NAMES: &[Name] = &[
    name(Claude, "SessionStart", Event::OnSessionStart, Fact("source")),
    name(Claude, "SessionEnd", Event::OnSessionFinalize, Fact("reason")),
    name(Claude, "UserPromptSubmit", Event::PreLlmCall, Nothing),
    name(Claude, "PreToolUse", Event::PreToolCall, Tool),
    name(Claude, "PostToolUse", Event::PostToolCall, Tool).only(Some(true), &[]),
    name(Claude, "PostToolUseFailure", Event::PostToolCall, Tool).only(Some(false), &[]),
    name(Claude, "PermissionRequest", Event::PreApprovalRequest, Tool),
    name(
        Claude,
        "Notification",
        Event::PreApprovalRequest,
        Fact("notification_type"),
    ),
    name(Claude, "Stop", Event::PreVerify, Nothing),
    name(Claude, "SubagentStart", Event::SubagentStart, Fact("child_role")),
    name(Claude, "SubagentStop", Event::SubagentStop, Fact("child_role")),
    name(Claude, "PreCompact", Event::PreCompress, Fact("trigger")),
    name(Claude, "PostCompact", Event::PostCompress, Fact("trigger")),
    name(Goose, "SessionStart", Event::OnSessionStart, Nothing).watches(),
    name(Goose, "SessionEnd", Event::OnSessionFinalize, Nothing),
    name(Goose, "UserPromptSubmit", Event::PreLlmCall, Fact("user_message")).watches(),
    name(Goose, "PreToolUse", Event::PreToolCall, Tool),
    name(Goose, "PostToolUse", Event::PostToolCall, Tool)
        .only(Some(true), &[])
        .watches(),
    name(Goose, "PostToolUseFailure", Event::PostToolCall, Tool)
        .only(Some(false), &[])
        .watches(),
    name(Goose, "BeforeReadFile", Event::PreToolCall, Argument("path"))
        .only(None, &["read_file"])
        .watches(),
    name(Goose, "AfterFileEdit", Event::PostToolCall, Argument("path"))
        .only(Some(true), &["write_file", "patch"])
        .watches(),
    name(
        Goose,
        "BeforeShellExecution",
        Event::PreToolCall,
        Argument("command"),
    )
    .only(None, &["terminal"])
    .watches(),
    name(
        Goose,
        "AfterShellExecution",
        Event::PostToolCall,
        Argument("command"),
    )
    .only(Some(true), &["terminal"])
    .watches(),
    name(Goose, "Stop", Event::PreVerify, Nothing),
];

/// The event somebody calls `name`.
pub(crate) fn named(dialect: Dialect, name: &str) -> Option<&'static Name> {
    NAMES
        .iter()
        .find(|row| row.dialect == dialect && row.name == name)
}

/// A tool under somebody's names for it; the first is what it is told as.
struct ToolNames {
    dialect: Dialect,
    ours: &'static str,
    theirs: &'static [&'static str],
    /// Arguments: ours and theirs.
    keys: &'static [(&'static str, &'static str)],
}

const fn tool(
    dialect: Dialect,
    ours: &'static str,
    theirs: &'static [&'static str],
    keys: &'static [(&'static str, &'static str)],
) -> ToolNames {
    ToolNames {
        dialect,
        ours,
        theirs,
        keys,
    }
}

static TOOLS: &[ToolNames] = &[
    tool(
        Claude,
        "terminal",
        &["Bash"],
        &[("background", "run_in_background")],
    ),
    tool(Claude, "read_file", &["Read"], &[("path", "file_path")]),
    tool(Claude, "write_file", &["Write"], &[("path", "file_path")]),
    tool(
        Claude,
        "patch",
        &["Edit", "MultiEdit", "apply_patch"],
        &[("path", "file_path")],
    ),
    tool(
        Claude,
        "search_files",
        &["Grep", "Glob"],
        &[("file_glob", "glob")],
    ),
    tool(Claude, "web_extract", &["WebFetch"], &[]),
    tool(Claude, "web_search", &["WebSearch"], &[]),
    tool(Claude, "delegate_task", &["Task", "Agent"], &[("goal", "prompt")]),
    tool(Claude, "todo", &["TodoWrite"], &[]),
    tool(Claude, "clarify", &["AskUserQuestion"], &[]),
    tool(Claude, "skill_view", &["Skill"], &[("name", "skill")]),
    tool(
        Goose,
        "terminal",
        &["developer__shell", "shell"],
        &[("timeout", "timeout_secs")],
    ),
    tool(Goose, "read_file", &["developer__text_editor"], &[]),
    tool(
        Goose,
        "write_file",
        &["developer__write", "developer__text_editor"],
        &[],
    ),
    tool(
        Goose,
        "patch",
        &["developer__edit", "developer__text_editor"],
        &[("old_string", "before"), ("new_string", "after")],
    ),
];

fn names_of(dialect: Dialect, ours: &str) -> Option<&'static ToolNames> {
    TOOLS
        .iter()
        .find(|row| row.dialect == dialect && row.ours == ours)
}

/// Every name a matcher may mean this tool by.
pub(crate) fn tool_names(dialect: Dialect, ours: &str) -> Vec<&str> {
    let theirs = names_of(dialect, ours).map(|row| row.theirs).unwrap_or_default();
    theirs.iter().copied().chain([ours]).collect()
}

/// What `args` of our tool are called there.
fn their_input(dialect: Dialect, ours: &str, args: &Value) -> Value {
    renamed(
        args,
        names_of(dialect, ours).map(|row| row.keys).unwrap_or_default(),
        |(ours, theirs)| (ours, theirs),
    )
}

/// What the arguments they gave are called here.
pub(crate) fn our_input(dialect: Dialect, ours: &str, input: &Value) -> Value {
    renamed(
        input,
        names_of(dialect, ours).map(|row| row.keys).unwrap_or_default(),
        |(ours, theirs)| (theirs, ours),
    )
}

type Pair = (&'static str, &'static str);

fn renamed(object: &Value, keys: &[Pair], direction: fn(Pair) -> Pair) -> Value {
    let Value::Object(members) = object else {
        return object.clone();
    };
    let rename = |name: &String| {
        let found = keys
            .iter()
            .map(|pair| direction(*pair))
            .find(|(from, _)| from == name);
        found.map_or_else(|| name.clone(), |(_, to)| to.to_owned())
    };
    Value::Object(
        members
            .iter()
            .map(|(name, value)| (rename(name), value.clone()))
            .collect(),
    )
}

/// The JSON a hook of that dialect reads for `payload`, which it knows as `name`.
pub(crate) fn told(name: Option<&Name>, dialect: Dialect, payload: &Payload) -> Value {
    match (name, dialect) {
        (Some(name), Claude) => claude(name, payload),
        (Some(name), Goose) => goose(name, payload),
        _ => payload.json(),
    }
}

fn claude(name: &Name, payload: &Payload) -> Value {
    let mut told = object(json!({
        "session_id": payload.session_id,
        "transcript_path": "",
        "cwd": payload.cwd,
        "permission_mode": "default",
        "hook_event_name": name.name,
    }));
    if let Some(tool) = &payload.tool {
        let shown = match (tool.name.as_str(), tool.args["target"].as_str()) {
            ("search_files", Some("files")) => "Glob",
            (ours, _) => names_of(Claude, ours)
                .and_then(|row| row.theirs.first().copied())
                .unwrap_or(ours),
        };
        told.insert("tool_name".into(), shown.into());
        told.insert("tool_input".into(), their_input(Claude, &tool.name, &tool.args));
        told.insert("tool_use_id".into(), tool.call_id.clone().into());
    }
    for (ours, theirs) in CLAUDE_FACTS {
        if let Some(value) = payload.extra.get(*ours) {
            told.insert((*theirs).to_owned(), value.clone());
        }
    }
    if let Some(result) = payload.text("result") {
        let (member, value) = if name.ok == Some(false) {
            ("error", Value::String(result.to_owned()))
        } else {
            ("tool_response", response(payload.tool_name(), result))
        };
        told.insert(member.into(), value);
    }
    Value::Object(told)
}

/// Our facts and what Claude Code calls them.
const CLAUDE_FACTS: &[Pair] = &[
    ("source", "source"),
    ("reason", "reason"),
    ("model", "model"),
    ("user_message", "prompt"),
    ("trigger", "trigger"),
    ("focus", "custom_instructions"),
    ("response_text", "last_assistant_message"),
    ("stop_hook_active", "stop_hook_active"),
    ("child_role", "agent_type"),
    ("child_summary", "last_assistant_message"),
    ("notification_type", "notification_type"),
    ("description", "message"),
];

/// A result in the form that hooks for a shell expect; any other as it is.
fn response(tool: &str, result: &str) -> Value {
    let parsed: Option<Value> = serde_json::from_str(result).ok().filter(Value::is_object);
    match parsed {
        Some(parsed) if tool == "terminal" => json!({
            "stdout": parsed["output"], "stderr": "", "interrupted": false, "exit_code": parsed["exit_code"],
        }),
        Some(parsed) => parsed,
        None => Value::String(result.to_owned()),
    }
}

fn goose(name: &Name, payload: &Payload) -> Value {
    let mut told = object(json!({"event": name.name, "session_id": payload.session_id}));
    if let Some(tool) = &payload.tool {
        let shown = names_of(Goose, &tool.name).and_then(|row| row.theirs.first().copied());
        told.insert("tool_name".into(), shown.unwrap_or(&tool.name).into());
        told.insert("tool_input".into(), their_input(Goose, &tool.name, &tool.args));
        told.insert("tool_call_id".into(), tool.call_id.clone().into());
        told.insert("working_dir".into(), json!(payload.cwd));
    }
    for (ours, theirs) in [
        ("user_message", "message"),
        ("response_text", "last_assistant_message"),
    ] {
        if let Some(value) = payload.extra.get(ours) {
            told.insert(theirs.to_owned(), value.clone());
        }
    }
    if let Some(subject) = subjects(Some(name), Goose, payload).first() {
        told.insert("matcher_context".into(), (*subject).into());
    }
    Value::Object(told)
}

/// What a matcher of that dialect is held against; empty when matchers do not narrow the event.
pub(crate) fn subjects<'a>(name: Option<&Name>, dialect: Dialect, payload: &'a Payload) -> Vec<&'a str> {
    let subject = match name {
        Some(name) => name.subject,
        None if payload.tool.is_some() => Tool,
        None => Nothing,
    };
    match subject {
        Tool => tool_names(dialect, payload.tool_name()),
        Argument(key) => {
            let value = payload.tool.as_ref().and_then(|tool| tool.args[key].as_str());
            vec![value.unwrap_or_default()]
        }
        Fact(fact) => vec![payload.text(fact).unwrap_or_default()],
        Nothing => Vec::new(),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
