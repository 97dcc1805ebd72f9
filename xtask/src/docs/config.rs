//! `docs/config.md`: every key with its default, the variable that sets it and what it means.
//!
//! Names and defaults come from the running code; what a key means is the doc comment of its field in
//! the schema, found through the path that the key's table names.

use crate::tree::Tree;
use anyhow::Result;
use std::{collections::BTreeMap, fmt::Write as _};
use talaria_config::{Environment, Home, Overrides, known_keys, load_from};

const KEYS: &str = "crates/config/src/keys.rs";
const SCHEMA: &str = "crates/config/src/schema.rs";

pub(super) fn page(tree: &Tree) -> Result<String> {
    let keys = tree.text(KEYS).unwrap_or_default();
    let fields = fields(tree.text(SCHEMA).unwrap_or_default());
    let defaults = defaults()?;
    let mut page = "# Settings\n\n\
        Made by `cargo xtask docs` from the tables of `crates/config`; do not edit.\n\n\
        They stand in `config.yaml` of the home folder; `talaria config set KEY VALUE` writes one, `talaria config show \
        --origin` tells where each value comes from. A flag wins over the environment, the environment over a \
        project's `.hermes/config.yaml` (only what cannot widen permissions), that over the home's. Keys that are \
        not listed are kept in the file and do nothing (`talaria config check` names them).\n"
        .to_owned();
    let mut section = "";
    for key in known_keys() {
        let own = key.split('.').next().unwrap_or_default();
        if own != section {
            section = own;
            let _ = write!(
                page,
                "\n## {section}\n\n| key | default | meaning |\n|---|---|---|\n"
            );
        }
        let entry = entry(keys, key);
        let mut meaning = path(entry)
            .and_then(|path| fields.get(path))
            .cloned()
            .unwrap_or_default();
        if let Some(variable) = variable(entry) {
            let gap = if meaning.is_empty() { "" } else { " " };
            let _ = write!(meaning, "{gap}Set by `{variable}`.");
        }
        let default = defaults.get(key).filter(|value| !value.is_empty());
        let default = default.map_or_else(|| "–".to_owned(), |value| format!("`{value}`"));
        let _ = writeln!(page, "| `{key}` | {default} | {} |", super::cell(&meaning));
    }
    for (heading, kind) in RECORDS {
        let _ = write!(page, "\n## {heading}\n\n| key | meaning |\n|---|---|\n");
        for (name, meaning) in record(tree.text(SCHEMA).unwrap_or_default(), kind) {
            let _ = writeln!(page, "| `{name}` | {} |", super::cell(&meaning));
        }
    }
    page.push_str(
        "\n## mcp_servers.NAME\n\nServers that speak the Model Context Protocol; their keys are in [mcp.md](mcp.md).\n",
    );
    Ok(page)
}

/// Sections whose entries have names of their own, and the struct of one entry.
const RECORDS: [(&str, &str); 4] = [
    ("providers.NAME", "ProviderConfig"),
    ("fallback_providers (a list)", "FallbackConfig"),
    ("auxiliary.TASK", "AuxiliaryConfig"),
    ("hooks.EVENT (a list each)", "HookConfig"),
];

/// The keys of an entry and what they mean.
fn record(schema: &str, kind: &str) -> Vec<(String, String)> {
    let body = schema.split(&format!("pub struct {kind} {{")).nth(1);
    let body = body.and_then(|rest| rest.split("\n}").next()).unwrap_or_default();
    let named = members_with_docs(body).into_iter();
    named
        .map(|(doc, _, _)| (first_code(&doc).to_owned(), meaning(&doc)))
        .collect()
}

/// What the first pair of backticks holds: the key as it is written in the file.
fn first_code(doc: &str) -> &str {
    doc.split('`').nth(1).unwrap_or_default()
}

/// The values of a home in which nothing is set.
fn defaults() -> Result<BTreeMap<String, String>> {
    let empty = tempfile::tempdir()?;
    let home = Home::at(empty.path());
    let loaded = load_from(home, empty.path(), &Overrides::default(), Environment::of([]))?;
    Ok(loaded.shown)
}

/// The source of a key's line in the table.
fn entry<'a>(keys: &'a str, name: &str) -> &'a str {
    let start = keys.find(&format!("key(\"{name}\"")).map_or("", |at| &keys[at..]);
    let end = start[start.len().min(4)..]
        .find("    key(")
        .map_or(start.len(), |at| at + 4);
    &start[..end]
}

/// The field that a key fills: `model.key_env` of `&mut c.model.key_env`.
fn path(entry: &str) -> Option<&str> {
    let path = entry.split("&mut c.").nth(1)?;
    path.split(|char: char| !(char.is_alphanumeric() || char == '_' || char == '.'))
        .next()
}

fn variable(entry: &str) -> Option<&str> {
    entry.split(".variable(env::").nth(1)?.split(')').next()
}

/// What each field of the schema means, by its path from the root.
fn fields(schema: &str) -> BTreeMap<String, String> {
    let structs: Vec<(&str, &str)> = schema
        .split("\npub struct ")
        .skip(1)
        .filter_map(|text| text.split_once(" {"))
        .map(|(name, rest)| (name, rest.split("\n}").next().unwrap_or_default()))
        .collect();
    let mut fields = BTreeMap::new();
    let root = structs
        .iter()
        .find(|(name, _)| *name == "Config")
        .map_or("", |(_, body)| *body);
    for (section, kind, doc) in members(root) {
        let inner = structs.iter().find(|(name, _)| *name == kind);
        for (field, _, doc) in inner.map(|(_, body)| members(body)).unwrap_or_default() {
            fields.insert(format!("{section}.{field}"), doc);
        }
        fields.insert(section.to_owned(), doc);
    }
    fields
}

/// Name, type and meaning of the fields of a struct.
fn members(body: &str) -> Vec<(&str, &str, String)> {
    let members = members_with_docs(body).into_iter();
    members
        .map(|(doc, name, kind)| (name, kind, meaning(&doc)))
        .collect()
}

/// Doc comment, name and type of the fields of a struct.
fn members_with_docs(body: &str) -> Vec<(String, &str, &str)> {
    let mut doc = String::new();
    let mut members = Vec::new();
    for line in body.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("///") {
            doc.push_str(text);
        } else if let Some((name, kind)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(": ")) {
            members.push((std::mem::take(&mut doc), name, kind.trim_end_matches(',')));
        }
    }
    members
}

/// A doc comment without the name it begins with.
fn meaning(doc: &str) -> String {
    let doc = doc.trim();
    let rest = doc
        .strip_prefix('`')
        .and_then(|rest| rest.split_once('`'))
        .map_or(doc, |(_, rest)| rest);
    let text = rest.trim_start_matches([':', ';', ',', '.', ' ']);
    let text = without_default(text);
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The text without a default in parentheses, which has a column of its own.
fn without_default(text: &str) -> String {
    let Some((before, rest)) = text.split_once('(') else {
        return text.to_owned();
    };
    let Some((inside, after)) = rest.split_once(')') else {
        return text.to_owned();
    };
    let is_value = inside
        .chars()
        .all(|char| char.is_ascii_digit() || matches!(char, ' ' | '.'))
        || matches!(inside, "true" | "false");
    let kept = format!("{}{}", before.trim_end(), after);
    match (is_value, kept.trim_matches(['.', ' ']).is_empty()) {
        (true, true) => String::new(),
        (true, false) => kept,
        (false, _) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fields_meaning_is_found_by_the_path_of_its_key() {
        let schema = "\npub struct Config {\n    /// `a`.\n    pub a: A,\n}\n\npub struct A {\n    /// `b`: what b is.\n    pub b: u8,\n}\n";
        assert_eq!(fields(schema).get("a.b").map(String::as_str), Some("What b is."));
        let keys = "    key(\"a.b\", |c| Slot::U8(&mut c.a.b)).variable(env::B),\n    key(\"a.c\", |c| x),\n";
        assert_eq!(path(entry(keys, "a.b")), Some("a.b"));
        assert_eq!(variable(entry(keys, "a.b")), Some("B"));
        assert_eq!(variable(entry(keys, "a.c")), None);
    }
}
