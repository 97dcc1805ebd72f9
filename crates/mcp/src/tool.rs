//! A tool of a server as the model has it.
//!
//! What a server gives is a stranger's word: it reaches the model in the frame for such words. What a server
//! says of its own tools (that one only reads) is believed of a server the person wrote down and trusts, and
//! even then it only saves waiting, never a question.

use std::sync::Arc;

use base64::Engine;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use talaria_tools::approval::{Gate, Mode};
use talaria_tools::{AnyTool, Parallel, ToolContext, ToolError, ToolOutput, untrusted};
use talaria_types::{Content, Effect, ImagePart, ImageSource, Part, ToolSpec};

use crate::offer::OfferedTool;
use crate::server::{Caller, Server};
use crate::settings::Source;
use crate::wire::Wish;
use crate::{McpError, naming};

/// The largest picture, in bytes of base64.
const PICTURE: usize = 12 * 1024 * 1024;
/// As much of the arguments as a question for consent shows, in characters.
const SHOWN: usize = 600;

/// One tool of a server, or one of the four that reach its resources and prompts.
pub(crate) struct McpTool {
    spec: ToolSpec,
    server: Arc<Server>,
    kind: Kind,
}

enum Kind {
    Tool(OfferedTool),
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

/// The tools of a server, with the names the model calls them by.
pub(crate) fn all(server: &Arc<Server>) -> Vec<Arc<dyn AnyTool>> {
    let Some(offer) = server.core.offer() else {
        return Vec::new();
    };
    let settings = &server.core.settings;
    let mut kinds: Vec<(String, Kind)> = offer
        .tools
        .iter()
        .filter(|tool| settings.offers(&tool.name))
        .map(|tool| (tool.name.clone(), Kind::Tool(tool.clone())))
        .collect();
    let own = |name: &str| offer.tools.iter().any(|tool| tool.name == name);
    let mut add = |wanted: bool, name: &str, kind: Kind| {
        if wanted && !own(name) {
            kinds.push((name.to_owned(), kind));
        }
    };
    let resources = offer.resources && settings.resources;
    let prompts = offer.prompts && settings.prompts;
    add(resources, "list_resources", Kind::ListResources);
    add(resources, "read_resource", Kind::ReadResource);
    add(prompts, "list_prompts", Kind::ListPrompts);
    add(prompts, "get_prompt", Kind::GetPrompt);
    let mut taken = std::collections::BTreeSet::new();
    let mut tools: Vec<Arc<dyn AnyTool>> = Vec::with_capacity(kinds.len());
    for (name, kind) in kinds {
        let name = naming::tool(server.name(), &name, &taken);
        if !taken.insert(name.clone()) {
            continue;
        }
        tools.push(Arc::new(McpTool {
            spec: spec(name, server.name(), &kind),
            server: server.clone(),
            kind,
        }));
    }
    tools
}

fn spec(name: String, server: &str, kind: &Kind) -> ToolSpec {
    let (description, parameters) = match kind {
        Kind::Tool(tool) => (tool.description.clone(), tool.parameters.clone()),
        Kind::ListResources => (format!("List the resources of the server {server}"), object(&[])),
        Kind::ReadResource => (
            format!("Read a resource of the server {server}"),
            object(&[("uri", "string", "Its address, from list_resources", true)]),
        ),
        Kind::ListPrompts => (format!("List the prompts of the server {server}"), object(&[])),
        Kind::GetPrompt => (
            format!("Get a prompt of the server {server}"),
            object(&[
                ("name", "string", "Its name, from list_prompts", true),
                ("arguments", "object", "Its arguments", false),
            ]),
        ),
    };
    ToolSpec {
        name,
        description,
        parameters,
    }
}

fn object(fields: &[(&str, &str, &str, bool)]) -> Value {
    let mut properties = Map::new();
    for (name, kind, said, _) in fields {
        let mut field = json!({"type": kind, "description": said});
        if *kind == "object" {
            field["properties"] = json!({});
        }
        properties.insert((*name).to_owned(), field);
    }
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.3)
        .map(|field| field.0)
        .collect();
    if required.is_empty() {
        json!({"type": "object", "properties": properties})
    } else {
        json!({"type": "object", "properties": properties, "required": required})
    }
}

impl McpTool {
    /// Whether what the server says of itself is believed.
    fn is_trusted(&self) -> bool {
        let settings = &self.server.core.settings;
        settings.source == Source::Config && settings.trust != Some(false)
    }

    /// Why the person is asked before the first call; nothing when they are not.
    fn question(&self, mode: Mode) -> Option<&'static str> {
        let settings = &self.server.core.settings;
        match (&self.kind, settings.trust) {
            (Kind::Tool(_), Some(true)) => None,
            (Kind::Tool(_), Some(false)) => Some("a tool of a server that is not trusted (trust: false)"),
            (Kind::Tool(_), None) if settings.source == Source::Project => {
                Some("a tool of a server that this project brings (.mcp.json)")
            }
            (Kind::Tool(_), None) if mode == Mode::Manual => Some("a tool of an MCP server"),
            _ => None,
        }
    }

    fn wish(&self, args: Value) -> Result<Wish, ToolError> {
        let text = |key: &str| match args[key].as_str().filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(text.to_owned()),
            None => Err(ToolError::Misfit(format!(
                "{} needs {key}: a text",
                self.spec.name
            ))),
        };
        Ok(match &self.kind {
            Kind::Tool(tool) => Wish::Tool {
                name: tool.name.clone(),
                arguments: match args {
                    Value::Object(arguments) => arguments,
                    _ => Map::new(),
                },
            },
            Kind::ListResources => Wish::Resources,
            Kind::ListPrompts => Wish::Prompts,
            Kind::ReadResource => Wish::Resource { uri: text("uri")? },
            Kind::GetPrompt => Wish::Prompt {
                name: text("name")?,
                arguments: args["arguments"].as_object().cloned().unwrap_or_default(),
            },
        })
    }

    async fn call(&self, args: Value, cx: &ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        if let Some(reason) = self.question(cx.session.settings().approval_mode) {
            let shown: String = args.to_string().chars().take(SHOWN).collect();
            let checked = Gate::of(cx).check_tool(&self.spec.name, &shown, reason).await;
            checked.map_err(|refusal| match refusal.status {
                "interrupted" => ToolError::Interrupted,
                _ => ToolError::Denied(refusal.message),
            })?;
        }
        let wish = self.wish(args)?;
        let caller = Caller {
            host: cx.host,
            cancel: cx.cancel,
            call: &cx.call.id,
        };
        let source = format!("MCP server {}", self.server.name());
        match self.server.call(&wish, &caller).await {
            Ok(result) => Ok(self.output(&result, &source)),
            Err(McpError::Interrupted) => Err(ToolError::Interrupted),
            Err(McpError::Refused { detail, .. }) => Err(ToolError::Failed(format!(
                "the server refused: {}",
                untrusted::wrap(&source, &detail)
            ))),
            Err(error) => Err(ToolError::Failed(error.to_string())),
        }
    }

    fn output(&self, result: &Value, source: &str) -> ToolOutput {
        let mut told = Told::default();
        match &self.kind {
            Kind::Tool(_) => told.tool(result),
            Kind::ReadResource => told.resources(&result["contents"]),
            Kind::GetPrompt => told.prompt(result),
            Kind::ListResources => told.text(result["resources"].to_string()),
            Kind::ListPrompts => told.text(result["prompts"].to_string()),
        }
        let ok = result["isError"] != true;
        let text = told.texts.join("\n\n");
        let words = text.split_whitespace().take(12).collect::<Vec<_>>().join(" ");
        let brief = format!("[{}] {}{words}", self.spec.name, if ok { "" } else { "failed: " });
        let framed = if text.is_empty() && !told.pictures.is_empty() {
            String::new()
        } else {
            let empty = if text.is_empty() { "(nothing)" } else { &text };
            untrusted::wrap(source, empty)
        };
        let content = if told.pictures.is_empty() {
            Content::Text(framed)
        } else {
            let text = (!framed.is_empty()).then_some(Part::Text { text: framed });
            Content::Parts(
                text.into_iter()
                    .chain(told.pictures.into_iter().map(Part::Image))
                    .collect(),
            )
        };
        ToolOutput { content, brief, ok }
    }
}

/// What a result holds.
#[derive(Default)]
struct Told {
    texts: Vec<String>,
    pictures: Vec<ImagePart>,
}

impl Told {
    fn text(&mut self, text: impl Into<String>) {
        self.texts.push(text.into());
    }

    fn tool(&mut self, result: &Value) {
        for block in result["content"].as_array().into_iter().flatten() {
            self.block(block);
        }
        let Some(structured) = result.get("structuredContent").filter(|value| !value.is_null()) else {
            return;
        };
        // Most servers say the same as text too.
        let said = self
            .texts
            .iter()
            .any(|text| serde_json::from_str::<Value>(text).is_ok_and(|it| it == *structured));
        if !said {
            self.text(structured.to_string());
        }
    }

    fn block(&mut self, block: &Value) {
        match block["type"].as_str() {
            Some("text") => self.text(block["text"].as_str().unwrap_or_default()),
            Some("image") => self.picture(&block["data"], &block["mimeType"]),
            Some("resource") => self.resource(&block["resource"]),
            Some("resource_link") => {
                let said = |key: &str| block[key].as_str().unwrap_or_default();
                let text = format!(
                    "[resource {}] {} {}",
                    said("uri"),
                    said("name"),
                    said("description")
                );
                self.text(text.trim_end());
            }
            Some(kind) => {
                let size = block["data"].as_str().map_or(0, str::len) * 3 / 4;
                let mime = block["mimeType"].as_str().unwrap_or_default();
                self.text(format!("[{kind} {mime}, {size} bytes, left out]"));
            }
            None => self.text(block.to_string()),
        }
    }

    fn resources(&mut self, contents: &Value) {
        for content in contents.as_array().into_iter().flatten() {
            self.resource(content);
        }
    }

    fn resource(&mut self, resource: &Value) {
        let (uri, mime) = (
            resource["uri"].as_str().unwrap_or_default(),
            &resource["mimeType"],
        );
        if let Some(text) = resource["text"].as_str() {
            return self.text(format!("[resource {uri}]\n{text}"));
        }
        if mime.as_str().is_some_and(|mime| mime.starts_with("image/")) {
            self.text(format!("[resource {uri}]"));
            return self.picture(&resource["blob"], mime);
        }
        let bytes = resource["blob"]
            .as_str()
            .and_then(|blob| base64::engine::general_purpose::STANDARD.decode(blob).ok());
        match bytes.map(String::from_utf8) {
            Some(Ok(text)) => self.text(format!("[resource {uri}]\n{text}")),
            Some(Err(bytes)) => self.text(format!(
                "[resource {uri} {}, {} bytes, left out]",
                mime.as_str().unwrap_or_default(),
                bytes.as_bytes().len()
            )),
            None => self.text(format!("[resource {uri}]")),
        }
    }

    fn prompt(&mut self, result: &Value) {
        for message in result["messages"].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap_or("user");
            self.text(format!("[{role}]"));
            self.block(&message["content"]);
        }
    }

    fn picture(&mut self, data: &Value, mime: &Value) {
        const KNOWN: &[&str] = &["image/png", "image/jpeg", "image/webp", "image/gif"];
        let mime = mime.as_str().unwrap_or_default();
        match data.as_str() {
            Some(data) if KNOWN.contains(&mime) && data.len() <= PICTURE => self.pictures.push(ImagePart {
                source: ImageSource::Inline(data.to_owned()),
                media_type: mime.to_owned(),
            }),
            _ => self.text(format!("[a picture, {mime}, left out]")),
        }
    }
}

impl AnyTool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        match &self.kind {
            Kind::Tool(tool) if tool.reads_only && self.is_trusted() => Effect::Read,
            Kind::Tool(_) => Effect::Execute,
            _ => Effect::Read,
        }
    }

    fn run<'a>(
        &'a self,
        args: Value,
        cx: &'a ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.call(args, cx))
    }

    fn parallel(&self, _: &Value) -> Parallel {
        if self.server.core.settings.parallel || self.effect() == Effect::Read {
            Parallel::Always
        } else {
            Parallel::Never
        }
    }

    fn idempotent(&self) -> bool {
        self.effect() == Effect::Read
    }

    fn keeps_whole_results(&self) -> bool {
        false
    }

    fn is_outside(&self) -> bool {
        true
    }

    fn may_change(&self) -> bool {
        self.server.core.offer().is_some_and(|offer| offer.may_change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(result: &Value) -> Told {
        let mut told = Told::default();
        told.tool(result);
        told
    }

    #[test]
    fn structured_content_is_told_once() {
        let same =
            json!({"content": [{"type": "text", "text": "{\"a\": 1}"}], "structuredContent": {"a": 1}});
        assert_eq!(told(&same).texts, ["{\"a\": 1}"]);
        let other = json!({"content": [{"type": "text", "text": "one"}], "structuredContent": {"a": 1}});
        assert_eq!(told(&other).texts, ["one", "{\"a\":1}"]);
    }

    #[test]
    fn a_result_is_pictures_and_texts_and_the_rest_is_named() {
        let result = json!({"content": [
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "image", "data": "aGk=", "mimeType": "image/tiff"},
            {"type": "audio", "data": "aGkh", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "x://1", "text": "one"}},
            {"type": "resource", "resource": {"uri": "x://2", "blob": "aGk=", "mimeType": "text/plain"}},
            {"type": "resource_link", "uri": "x://3", "name": "three"},
            {"type": "hologram"},
        ]});
        let told = told(&result);
        assert_eq!(told.pictures.len(), 1);
        assert_eq!(
            told.texts,
            [
                "[a picture, image/tiff, left out]",
                "[audio audio/wav, 3 bytes, left out]",
                "[resource x://1]\none",
                "[resource x://2]\nhi",
                "[resource x://3] three",
                "[hologram , 0 bytes, left out]",
            ]
        );
    }
}
