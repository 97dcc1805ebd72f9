//! What a request asks, read the same way from each of the four protocols.

use bytes::Bytes;
use serde_json::Value;

/// A wire protocol, told by the end of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// `…/chat/completions`
    Chat,
    /// `…/messages`
    Messages,
    /// `…/responses`
    Responses,
    /// `…:generateContent`, `…:streamGenerateContent`
    Gemini,
}

impl Api {
    /// The protocol a POST to this path speaks.
    pub(crate) fn of(path: &str) -> Option<Api> {
        let path = path.trim_end_matches('/');
        let ends = |end: &str| path.ends_with(end);
        if ends("/chat/completions") {
            Some(Api::Chat)
        } else if ends("/responses") {
            Some(Api::Responses)
        } else if ends("/messages") {
            Some(Api::Messages)
        } else if ends(":generateContent") || ends(":streamGenerateContent") {
            Some(Api::Gemini)
        } else {
            None
        }
    }

    /// The word used in the request log.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::Chat => "chat",
            Api::Messages => "messages",
            Api::Responses => "responses",
            Api::Gemini => "gemini",
        }
    }
}

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskKind {
    /// The conversation: it offers tools that may be called.
    Main,
    /// A summary of hidden messages.
    Summary,
    /// A title.
    Title,
    /// Anything else without tools.
    Side,
}

impl TaskKind {
    /// The word used in scenarios and in the request log.
    pub fn as_str(self) -> &'static str {
        match self {
            TaskKind::Main => "main",
            TaskKind::Summary => "summary",
            TaskKind::Title => "title",
            TaskKind::Side => "side",
        }
    }
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct ModelCall {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// The client's own cursor, from a path that starts with `/s/KEY`.
    pub(crate) key: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) raw: Bytes,
    pub(crate) body: Option<Value>,
    pub(crate) api: Option<Api>,
    pub(crate) stream: bool,
    pub(crate) model: String,
    pub(crate) last_user: String,
    pub(crate) system: String,
    pub(crate) tools: Vec<String>,
    pub(crate) messages: usize,
    /// Tool results after the last thing a person said.
    pub(crate) results: usize,
    pub(crate) task: TaskKind,
}

impl ModelCall {
    /// Reads method, target, headers (names in lower case) and body.
    pub(crate) fn read(method: &str, target: &str, headers: Vec<(String, String)>, raw: Bytes) -> ModelCall {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (key, path) = keyed(path);
        let mut call = ModelCall {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            key: key.to_owned(),
            headers,
            body: serde_json::from_slice(&raw).ok(),
            raw,
            api: (method == "POST").then(|| Api::of(path)).flatten(),
            stream: false,
            model: String::new(),
            last_user: String::new(),
            system: String::new(),
            tools: Vec::new(),
            messages: 0,
            results: 0,
            task: TaskKind::Side,
        };
        let body = call.body.take().unwrap_or_default();
        call.model = text_at(&body, "model");
        call.stream = body["stream"].as_bool().unwrap_or(false);
        match call.api {
            Some(Api::Chat) => call.read_chat(&body),
            Some(Api::Messages) => call.read_messages(&body),
            Some(Api::Responses) => call.read_responses(&body),
            Some(Api::Gemini) => call.read_gemini(&body),
            None => {}
        }
        call.task = call.purpose(&body);
        call.body = Some(body).filter(|body| !body.is_null());
        call
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    fn read_chat(&mut self, body: &Value) {
        let messages = list(body, "messages");
        self.messages = messages.len();
        self.tools = list(body, "tools")
            .iter()
            .map(|tool| {
                if tool["function"].is_object() {
                    text_at(&tool["function"], "name")
                } else {
                    text_at(tool, "name")
                }
            })
            .collect();
        let systems = messages
            .iter()
            .filter(|message| matches!(role(message), "system" | "developer"));
        self.system = systems
            .map(|message| text_of(&message["content"]))
            .collect::<Vec<_>>()
            .join("\n");
        for message in messages.iter().rev() {
            match role(message) {
                "tool" => self.results += 1,
                "user" => {
                    self.last_user = text_of(&message["content"]);
                    break;
                }
                _ => {}
            }
        }
    }

    fn read_messages(&mut self, body: &Value) {
        let messages = list(body, "messages");
        self.messages = messages.len();
        self.tools = list(body, "tools")
            .iter()
            .map(|tool| text_at(tool, "name"))
            .collect();
        self.system = text_of(&body["system"]);
        for message in messages.iter().rev().filter(|message| role(message) == "user") {
            let results = list(message, "content")
                .iter()
                .filter(|part| part["type"] == "tool_result")
                .count();
            if results == 0 {
                self.last_user = text_of(&message["content"]);
                break;
            }
            self.results += results;
        }
    }

    fn read_responses(&mut self, body: &Value) {
        for tool in list(body, "tools") {
            self.tools
                .extend(list(tool, "tools").iter().map(|inner| text_at(inner, "name")));
            self.tools.push(if tool["name"].is_string() {
                text_at(tool, "name")
            } else {
                text_at(tool, "type")
            });
        }
        self.system = text_at(body, "instructions");
        if let Value::String(text) = &body["input"] {
            self.last_user.clone_from(text);
            self.messages = 1;
            return;
        }
        let items = list(body, "input");
        self.messages = items.len();
        for item in items
            .iter()
            .filter(|item| matches!(role(item), "system" | "developer"))
        {
            self.system.push('\n');
            self.system.push_str(&text_of(&item["content"]));
        }
        for item in items.iter().rev() {
            match item["type"].as_str().unwrap_or("message") {
                "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                    self.results += 1;
                }
                "message" if role(item) == "user" => {
                    self.last_user = text_of(&item["content"]);
                    break;
                }
                _ => {}
            }
        }
    }

    fn read_gemini(&mut self, body: &Value) {
        let contents = list(body, "contents");
        self.messages = contents.len();
        let declared = list(body, "tools")
            .iter()
            .flat_map(|tool| list(tool, "functionDeclarations"));
        self.tools = declared.map(|function| text_at(function, "name")).collect();
        self.system = text_of(&body["systemInstruction"]["parts"]);
        let named = self
            .path
            .rsplit("models/")
            .next()
            .and_then(|rest| rest.split([':', '/']).next());
        self.model = named.unwrap_or_default().to_owned();
        self.stream = self.path.contains("streamGenerateContent");
        for content in contents
            .iter()
            .rev()
            .filter(|content| matches!(role(content), "user" | "function" | ""))
        {
            let parts = list(content, "parts");
            let results = parts
                .iter()
                .filter(|part| part.get("functionResponse").is_some())
                .count();
            if results == 0 {
                self.last_user = text_of(&content["parts"]);
                break;
            }
            self.results += results;
        }
    }

    fn purpose(&self, body: &Value) -> TaskKind {
        let choice = &body["tool_choice"];
        let none = choice == "none"
            || choice["type"] == "none"
            || body["toolConfig"]["functionCallingConfig"]["mode"] == "NONE";
        if !self.tools.is_empty() && !none {
            return TaskKind::Main;
        }
        let text = format!("{}\n{}", self.system, self.last_user);
        if text.contains("Completed Actions") && text.contains("Critical Context") {
            return TaskKind::Summary;
        }
        let start: String = text.chars().take(4000).collect::<String>().to_lowercase();
        let mut words = start.split(|char: char| !char.is_alphanumeric() && char != '_');
        if words.any(|word| word == "title") || start.contains("标题") {
            TaskKind::Title
        } else {
            TaskKind::Side
        }
    }

    /// The argument names that the request declares for a tool.
    pub(crate) fn declared(&self, tool: &str) -> Option<Vec<&str>> {
        let body = self.body.as_ref()?;
        let mut entries: Vec<&Value> = Vec::new();
        for entry in list(body, "tools") {
            let inner = [list(entry, "functionDeclarations"), list(entry, "tools")];
            if inner.iter().all(|list| list.is_empty()) {
                entries.push(entry);
            }
            entries.extend(inner.into_iter().flatten());
        }
        let functions = entries.into_iter().map(|entry| {
            if entry["function"].is_object() {
                &entry["function"]
            } else {
                entry
            }
        });
        let function = functions.into_iter().find(|function| function["name"] == tool)?;
        let schema = ["parameters", "parametersJsonSchema", "input_schema"]
            .iter()
            .find_map(|key| function.get(*key))?;
        let names: Vec<&str> = schema["properties"]
            .as_object()?
            .keys()
            .map(String::as_str)
            .collect();
        (!names.is_empty()).then_some(names)
    }
}

/// Splits the client key off a path: `/s/KEY/v1/…`.
fn keyed(path: &str) -> (&str, &str) {
    let split = path
        .strip_prefix("/s/")
        .and_then(|rest| rest.find('/').map(|end| rest.split_at(end)));
    split.filter(|(key, _)| !key.is_empty()).unwrap_or(("", path))
}

/// The role of a message, or nothing.
pub(crate) fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or("")
}

/// The array under a key, or an empty one.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn text_at(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The text of a content: a string, or the texts of its parts, one a line.
pub(crate) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| part.get("text")?.as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// Every text of a request's messages, whatever the protocol.
pub(crate) fn all_text(body: &Value) -> Vec<&str> {
    const NAMES: &[&str] = &[
        "role",
        "type",
        "id",
        "name",
        "tool_call_id",
        "call_id",
        "tool_use_id",
    ];
    fn walk<'a>(value: &'a Value, out: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => out.push(text),
            Value::Array(list) => list.iter().for_each(|item| walk(item, out)),
            Value::Object(map) => {
                map.iter()
                    .filter(|(key, _)| !NAMES.contains(&key.as_str()))
                    .for_each(|(_, item)| walk(item, out));
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    for key in [
        "messages",
        "input",
        "contents",
        "system",
        "instructions",
        "systemInstruction",
    ] {
        if let Some(value) = body.get(key) {
            walk(value, &mut out);
        }
    }
    out
}
