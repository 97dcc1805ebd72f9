//! What a server has, and its memory on disk.
//!
//! A server may take seconds to start. What it offered last time is remembered for these exact settings,
//! so that a session begins at once with its tools and the server is only started by the first call.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{ServerSettings, naming};

/// The longest description that is sent with every request, in characters.
const DESCRIPTION: usize = 2_000;
/// The largest schema, in bytes; a larger one is replaced by an open object.
const SCHEMA: usize = 20_000;
/// The most tools of one server.
const TOOLS: usize = 1_000;
/// How deep references of a schema are followed.
const DEEP: usize = 8;

/// What a server has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Its own name and version.
    pub server: String,
    /// Its tools, in its order.
    pub tools: Vec<OfferedTool>,
    /// It has resources.
    pub resources: bool,
    /// It has prompts.
    pub prompts: bool,
    /// It says that its tools may change.
    pub may_change: bool,
}

/// One tool of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedTool {
    /// The server's name for it.
    pub name: String,
    /// What it says it does.
    pub description: String,
    /// Its arguments.
    pub parameters: Value,
    /// It says that it only reads.
    #[serde(default)]
    pub reads_only: bool,
    /// It says that it destroys.
    #[serde(default)]
    pub destroys: bool,
}

impl Offer {
    /// The tools as the server told them.
    pub(crate) fn tools_of(listed: &[Value]) -> Vec<OfferedTool> {
        listed.iter().take(TOOLS).filter_map(OfferedTool::read).collect()
    }

    /// What was remembered for these settings.
    pub(crate) fn remembered(home: &Path, settings: &ServerSettings) -> Option<Self> {
        let text = std::fs::read(file(home, settings)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Remembers it; what was remembered for other settings of the server is forgotten.
    pub(crate) fn remember(&self, home: &Path, settings: &ServerSettings) {
        let path = file(home, settings);
        if Self::remembered(home, settings).as_ref() == Some(self) {
            return;
        }
        if let Err(error) = self.write(&path, settings) {
            tracing::warn!(%error, path = %path.display(), "what an MCP server offers could not be remembered");
        }
    }

    fn write(&self, path: &Path, settings: &ServerSettings) -> std::io::Result<()> {
        let Some(folder) = path.parent() else {
            return Ok(());
        };
        std::fs::create_dir_all(folder)?;
        forget(folder, &settings.name);
        let new = path.with_extension(format!("new{}", std::process::id()));
        std::fs::write(&new, serde_json::to_vec(self).unwrap_or_default())?;
        std::fs::rename(new, path)
    }

    /// Forgets what any settings of the server offered.
    pub(crate) fn forget(home: &Path, server: &str) {
        forget(&folder(home), server);
    }
}

fn folder(home: &Path) -> PathBuf {
    home.join("cache").join("mcp")
}

fn file(home: &Path, settings: &ServerSettings) -> PathBuf {
    let name = format!("{}.{}.json", naming::file(&settings.name), settings.fingerprint());
    folder(home).join(name)
}

fn forget(folder: &Path, server: &str) {
    let start = format!("{}.", naming::file(server));
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files.filter(|file| file.file_name().to_string_lossy().starts_with(&start)) {
        let _ = std::fs::remove_file(file.path());
    }
}

impl OfferedTool {
    fn read(listed: &Value) -> Option<Self> {
        let name = listed["name"].as_str().filter(|name| !name.is_empty())?;
        let hint = |key: &str| listed["annotations"][key].as_bool();
        let said = listed["description"].as_str().unwrap_or_default().trim();
        let description: String = said
            .chars()
            .filter(|c| !is_hidden(*c))
            .take(DESCRIPTION)
            .collect();
        Some(Self {
            name: name.to_owned(),
            description: if description.is_empty() {
                name.to_owned()
            } else {
                description
            },
            parameters: schema(&listed["inputSchema"]),
            reads_only: hint("readOnlyHint") == Some(true),
            destroys: hint("destructiveHint") == Some(true),
        })
    }
}

/// Characters that a person does not see and a model reads.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{e0000}'..='\u{e007f}')
        || (c.is_control() && c != '\n' && c != '\t')
}

/// A schema that providers take: an object with properties, references put in place.
fn schema(given: &Value) -> Value {
    let open = || json!({"type": "object", "properties": {}});
    let Value::Object(root) = given else { return open() };
    let mut plain = settled(given, root, DEEP);
    if let Value::Object(object) = &mut plain {
        for key in ["$schema", "$defs", "definitions", "$id"] {
            object.remove(key);
        }
        object.insert("type".to_owned(), json!("object"));
        object.entry("properties").or_insert_with(|| json!({}));
    }
    if plain.to_string().len() > SCHEMA {
        open()
    } else {
        plain
    }
}

/// `schema` with its references into `root` replaced and nullable unions of one type reduced to it.
fn settled(schema: &Value, root: &Map<String, Value>, deep: usize) -> Value {
    match schema {
        Value::Object(object) => {
            if let Some(target) = object.get("$ref").and_then(Value::as_str) {
                return match resolve(target, root).filter(|_| deep > 0) {
                    Some(found) => settled(found, root, deep - 1),
                    None => json!({}),
                };
            }
            if let Some(only) = only_variant(object) {
                let mut inner = settled(only, root, deep);
                if let (Value::Object(inner), Some(said)) = (&mut inner, object.get("description")) {
                    inner.entry("description").or_insert_with(|| said.clone());
                }
                return inner;
            }
            let inner = object
                .iter()
                .filter(|(key, _)| !matches!(key.as_str(), "$defs" | "definitions"))
                .map(|(key, value)| (key.clone(), settled(value, root, deep)));
            Value::Object(inner.collect())
        }
        Value::Array(items) => items.iter().map(|item| settled(item, root, deep)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => schema.clone(),
    }
}

fn resolve<'a>(target: &str, root: &'a Map<String, Value>) -> Option<&'a Value> {
    let mut parts = target.strip_prefix("#/")?.split('/');
    let first = root.get(parts.next()?)?;
    parts.try_fold(first, |found, part| found.get(part))
}

/// The one variant of a union that is not null.
fn only_variant(object: &Map<String, Value>) -> Option<&Value> {
    let variants = object.get("anyOf").or_else(|| object.get("oneOf"))?.as_array()?;
    let is_null = |variant: &&Value| variant["type"] == "null";
    let mut real = variants.iter().filter(|variant| !is_null(variant));
    let only = real.next()?;
    (variants.len() == 2 && real.next().is_none()).then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_nullable_unions_become_plain_schemas() {
        let given = json!({"$schema": "x", "$defs": {"P": {"type": "string", "enum": ["a"]}}, "properties": {
            "p": {"$ref": "#/$defs/P"},
            "q": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "a number"},
        }});
        assert_eq!(
            schema(&given),
            json!({"properties": {"p": {"type": "string", "enum": ["a"]}, "q": {"type": "integer", "description": "a number"}},
                "type": "object"})
        );
        assert_eq!(schema(&Value::Null), json!({"type": "object", "properties": {}}));
    }

    #[test]
    fn a_schema_that_holds_itself_ends_and_a_huge_one_is_left_open() {
        let given = json!({"$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}},
            "properties": {"t": {"$ref": "#/$defs/T"}}});
        assert!(schema(&given).to_string().len() < 2_000);
        let many: Map<String, Value> = (0..3_000).map(|n| (format!("property_{n}"), json!({}))).collect();
        assert_eq!(schema(&json!({"properties": many}))["properties"], json!({}));
    }

    #[test]
    fn a_description_is_cut_and_holds_nothing_a_person_would_not_see() {
        let listed = json!({"name": "t", "description": format!("a\u{200b}\u{e0041}b{}", "x".repeat(9_000))});
        let tool = OfferedTool::read(&listed).unwrap();
        assert!(tool.description.starts_with("abx") && tool.description.len() == DESCRIPTION);
        assert_eq!(OfferedTool::read(&json!({"description": "no name"})), None);
    }

    #[test]
    fn an_offer_is_remembered_for_its_settings_only() {
        let home = tempfile::tempdir().unwrap();
        let settings = |command: &str| {
            let written = json!({"command": command});
            ServerSettings::read("s", &written, crate::Source::Config, &|_| None).unwrap()
        };
        let offer = Offer {
            server: "a 1".to_owned(),
            ..Offer::default()
        };
        offer.remember(home.path(), &settings("a"));
        assert_eq!(
            Offer::remembered(home.path(), &settings("a")),
            Some(offer.clone())
        );
        assert_eq!(Offer::remembered(home.path(), &settings("b")), None);
        offer.remember(home.path(), &settings("b"));
        assert_eq!(Offer::remembered(home.path(), &settings("a")), None);
    }
}
