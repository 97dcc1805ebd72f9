//! The schemas the model reads: made from the argument types, then made lean.
//!
//! Providers differ in what they accept and every byte is sent with every
//! request, so only what all of them understand and the model needs is kept: no
//! `$schema`, titles, formats, references, nullable types or defaults.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of `Args`: an object without references.
pub(crate) fn of<Args: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<Args>()
        .to_value();
    trim(&mut schema, true);
    if let Value::Object(object) = &mut schema {
        object.remove("description");
        object.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// What is left out of every schema.
const DROPPED: &[&str] = &[
    "$schema",
    "title",
    "format",
    "default",
    "additionalProperties",
    "examples",
];

fn trim(schema: &mut Value, root: bool) {
    let Value::Object(object) = schema else { return };
    for key in DROPPED {
        object.remove(*key);
    }
    unwrap_nullable(object);
    join_constants(object);
    if object.get("minimum") == Some(&json!(0)) {
        object.remove("minimum");
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for property in properties.values_mut() {
            trim(property, false);
        }
    }
    if let Some(items) = object.get_mut("items") {
        trim(items, false);
    }
    // An inner object repeats what its property already says.
    if !root && object.contains_key("properties") {
        object.remove("description");
    }
}

/// `["string", "null"]` and `anyOf: [X, null]` become plain `X`: a missing member says the same.
fn unwrap_nullable(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get("type") {
        let first = types.iter().find(|kind| *kind != "null").cloned();
        object.insert("type".to_owned(), first.unwrap_or_else(|| json!("string")));
    }
    let Some(Value::Array(options)) = object.get("anyOf") else {
        return;
    };
    let real: Vec<&Value> = options.iter().filter(|option| option["type"] != "null").collect();
    if let [Value::Object(only)] = real.as_slice() {
        let only = only.clone();
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
        for key in DROPPED {
            object.remove(*key);
        }
    }
}

/// An enum whose variants are described one by one becomes a plain list of words.
fn join_constants(object: &mut Map<String, Value>) {
    for key in ["oneOf", "anyOf"] {
        let Some(Value::Array(options)) = object.get(key) else {
            continue;
        };
        let mut words: Vec<Value> = Vec::new();
        for option in options {
            match (option.get("const"), option.get("enum").and_then(Value::as_array)) {
                (Some(word), _) => words.push(word.clone()),
                (None, Some(several)) => words.extend(several.iter().cloned()),
                (None, None) => return,
            }
        }
        object.remove(key);
        object.insert("type".to_owned(), json!("string"));
        object.insert("enum".to_owned(), Value::Array(words));
    }
}

/// The schema in one line of prose, for the error that follows a misfit.
pub(crate) fn summary(schema: &Value) -> String {
    let required = required(schema);
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return "no arguments".to_owned();
    };
    if properties.is_empty() {
        return "no arguments".to_owned();
    }
    let parts: Vec<String> = properties
        .iter()
        .map(|(name, property)| {
            let kind = property["type"].as_str().unwrap_or("any");
            let need = if required.contains(&name.as_str()) {
                ", required"
            } else {
                ""
            };
            format!("{name} ({kind}{need})")
        })
        .collect();
    parts.join(", ")
}

/// The names of the members that must be there.
pub(crate) fn required(schema: &Value) -> Vec<&str> {
    let list = schema.get("required").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The schema for a small window: names, types and choices only.
pub(crate) fn compact(schema: &Value) -> Value {
    let mut schema = schema.clone();
    strip_descriptions(&mut schema);
    schema
}

fn strip_descriptions(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    object.remove("description");
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(strip_descriptions);
    }
    if let Some(items) = object.get_mut("items") {
        strip_descriptions(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ignored.
    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Sample {
        /// A path
        /// on two lines.
        path: String,
        /// How many.
        limit: Option<u32>,
        #[serde(default)]
        inner: Vec<Inner>,
        /// Which.
        kind: Option<Kind>,
    }

    #[derive(serde::Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        /// The first.
        FirstOne,
        Second,
    }

    /// Dropped too.
    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        id: String,
        done: Option<bool>,
    }

    #[test]
    fn a_schema_keeps_only_what_every_provider_understands() {
        let property = |kind: &str, text: &str| json!({"type": kind, "description": text});
        let expected = json!({
            "type": "object",
            "properties": {
                "path": property("string", "A path on two lines."),
                "limit": property("integer", "How many."),
                "inner": {"type": "array", "items": {
                    "type": "object", "required": ["id"],
                    "properties": {"id": {"type": "string"}, "done": {"type": "boolean"}}}},
                "kind": {"type": "string", "enum": ["second", "first_one"], "description": "Which."},
            },
            "required": ["path"],
        });
        assert_eq!(of::<Sample>(), expected);
    }

    #[test]
    fn a_misfit_is_told_what_the_tool_takes() {
        assert_eq!(
            summary(&of::<Sample>()),
            "path (string, required), limit (integer), inner (array), kind (string)"
        );
    }
}
