//! One file as a layer of the configuration: names places, expands variables,
//! reads the sections whose entries have names of their own.

use std::collections::BTreeMap;
use std::path::Path;

use crate::keys::{KEYS, RECORDS};
use crate::records::{AUXILIARY, FALLBACK, Field, HOOK, PROVIDER};
use crate::slot::Unfit;
use crate::yaml::{Node, Value};
use crate::{
    AuxiliaryConfig, ConfigError, Environment, FallbackConfig, HookConfig, Origin, ProviderConfig, dotenv,
};

/// One file.
pub(crate) struct Layer<'a> {
    /// Where it is.
    pub(crate) file: &'a Path,
    /// The name people know it by.
    pub(crate) name: &'static str,
    /// What `${NAME}` may be replaced by; a project's file gets nothing of the environment.
    pub(crate) environment: Option<&'a Environment>,
}

/// What reading tells beside values.
pub(crate) struct Told<'a> {
    /// Where values came from.
    pub(crate) origins: &'a mut BTreeMap<String, Origin>,
    /// What the person should know.
    pub(crate) warnings: &'a mut Vec<String>,
}

impl Layer<'_> {
    /// File and line, as errors and warnings say it.
    pub(crate) fn place(&self, line: u64) -> String {
        format!("{}:{line}", self.file.display())
    }

    /// The origin of a node.
    pub(crate) fn origin(&self, node: &Node) -> Origin {
        Origin::File {
            name: self.name.to_owned(),
            line: node.line,
        }
    }

    /// The error for a value of the wrong type.
    pub(crate) fn refused(&self, key: &str, expected: String, node: &Node, secret: bool) -> ConfigError {
        let found = if secret {
            "something else".to_owned()
        } else {
            node.described()
        };
        ConfigError::Value {
            place: self.place(node.line),
            key: key.to_owned(),
            expected,
            found,
        }
    }

    /// Each section must be one.
    pub(crate) fn check_sections(&self, root: &Node) -> Result<(), ConfigError> {
        for (name, node) in root.entries() {
            let is_section = KEYS.iter().any(|key| {
                key.name
                    .strip_prefix(name.as_str())
                    .is_some_and(|rest| rest.starts_with('.'))
            });
            let fits = match node.value {
                Value::Map(_) | Value::Null => true,
                Value::Scalar { .. } => name == "model",
                Value::List(_) => false,
            };
            if is_section && !fits {
                return Err(self.refused(
                    name,
                    "a section (indented `key: value` lines)".to_owned(),
                    node,
                    false,
                ));
            }
        }
        Ok(())
    }

    /// `node` with each `${NAME}` replaced. A name that is not set makes the value empty:
    /// a literal `${NAME}` sent as a key or an address would only fail later, and further away.
    pub(crate) fn expanded(&self, node: &Node, key: &str, warnings: &mut Vec<String>) -> Node {
        let Some(environment) = self.environment else {
            return node.clone();
        };
        let mut node = node.clone();
        match &mut node.value {
            Value::Scalar { text, .. } if text.contains("${") => {
                match dotenv::expand(text, |name| environment.get(name).map(str::to_owned)) {
                    Ok(full) => *text = full,
                    Err(name) => {
                        warnings.push(format!(
                            "{}: {key}: ${{{name}}} is not set",
                            self.place(node.line)
                        ));
                        node.value = Value::Null;
                    }
                }
            }
            Value::List(items) => {
                for item in items {
                    *item = self.expanded(item, key, warnings);
                }
            }
            Value::Null | Value::Scalar { .. } | Value::Map(_) => {}
        }
        node
    }

    fn entry<T: Default>(
        &self,
        fields: &[Field<T>],
        node: &Node,
        prefix: &str,
        told: &mut Told<'_>,
    ) -> Result<T, ConfigError> {
        if !matches!(node.value, Value::Map(_) | Value::Null) {
            return Err(self.refused(prefix, "a section (`key: value` lines)".to_owned(), node, false));
        }
        let mut entry = T::default();
        for field in fields {
            let Some(inner) = field.names.iter().find_map(|name| node.get(name)) else {
                continue;
            };
            let name = field.names.first().copied().unwrap_or_default();
            let key = format!("{prefix}.{name}");
            let inner = self.expanded(inner, &key, told.warnings);
            let slot = (field.slot)(&mut entry);
            let secret = slot.is_secret();
            match slot.put(&inner, field.rule) {
                Ok(()) => {
                    told.origins.insert(key, self.origin(&inner));
                }
                Err(Unfit::Type(expected)) => return Err(self.refused(&key, expected, &inner, secret)),
                Err(Unfit::Range(expected)) => told.warnings.push(format!(
                    "{}: {key}: expected {expected}, found {}; it is left out",
                    self.place(inner.line),
                    inner.described()
                )),
            }
        }
        Ok(entry)
    }

    /// `providers.<id>` and the legacy list `custom_providers`.
    pub(crate) fn providers(
        &self,
        root: &Node,
        told: &mut Told<'_>,
    ) -> Result<BTreeMap<String, ProviderConfig>, ConfigError> {
        let mut all = BTreeMap::new();
        for (index, node) in self.items(root, "custom_providers")?.iter().enumerate() {
            let Some(Value::Scalar { text, .. }) = node.get("name").map(|name| &name.value) else {
                continue;
            };
            let prefix = format!("custom_providers.{index}");
            all.insert(text.clone(), self.provider(node, &prefix, told)?);
        }
        for (id, node) in self.section(root, "providers")? {
            all.insert(id.clone(), self.provider(node, &format!("providers.{id}"), told)?);
        }
        Ok(all)
    }

    fn provider(
        &self,
        node: &Node,
        prefix: &str,
        told: &mut Told<'_>,
    ) -> Result<ProviderConfig, ConfigError> {
        let mut provider = self.entry(PROVIDER, node, prefix, told)?;
        for (model, settings) in node.get("models").map(Node::entries).unwrap_or_default() {
            let Some(length) = settings.get("context_length") else {
                continue;
            };
            let key = format!("{prefix}.models.{model}.context_length");
            let mut tokens = None;
            let rule = crate::slot::Rule::AtLeast(1);
            match crate::slot::Slot::OptU64(&mut tokens).put(length, rule) {
                Ok(()) => {}
                Err(Unfit::Type(expected) | Unfit::Range(expected)) => {
                    return Err(self.refused(&key, expected, length, false));
                }
            }
            provider
                .model_context_lengths
                .extend(tokens.map(|tokens| (model.clone(), tokens)));
        }
        Ok(provider)
    }

    /// `fallback_providers` and the legacy `fallback_model`.
    pub(crate) fn fallbacks(
        &self,
        root: &Node,
        told: &mut Told<'_>,
    ) -> Result<Vec<FallbackConfig>, ConfigError> {
        let mut all = Vec::new();
        for (index, node) in self.items(root, "fallback_providers")?.iter().enumerate() {
            all.push(self.entry(FALLBACK, node, &format!("fallback_providers.{index}"), told)?);
        }
        if let Some(node) = root
            .get("fallback_model")
            .filter(|node| !node.entries().is_empty())
        {
            all.push(self.entry(FALLBACK, node, "fallback_model", told)?);
        }
        Ok(all)
    }

    /// `auxiliary.<task>`.
    pub(crate) fn auxiliary(
        &self,
        root: &Node,
        told: &mut Told<'_>,
    ) -> Result<BTreeMap<String, AuxiliaryConfig>, ConfigError> {
        let entries = self.section(root, "auxiliary")?.iter();
        let read = entries.map(|(task, node)| {
            Ok((
                task.clone(),
                self.entry(AUXILIARY, node, &format!("auxiliary.{task}"), told)?,
            ))
        });
        read.collect()
    }

    /// `hooks.<event>`.
    pub(crate) fn hooks(
        &self,
        root: &Node,
        told: &mut Told<'_>,
    ) -> Result<BTreeMap<String, Vec<HookConfig>>, ConfigError> {
        let mut all = BTreeMap::new();
        for (event, node) in self.section(root, "hooks")? {
            let prefix = format!("hooks.{event}");
            let items = match &node.value {
                Value::Null => continue,
                Value::List(items) => items,
                Value::Scalar { .. } | Value::Map(_) => {
                    return Err(self.refused(&prefix, "a list of sections".to_owned(), node, false));
                }
            };
            let hooks = items.iter().enumerate();
            let hooks = hooks.map(|(index, node)| self.entry(HOOK, node, &format!("{prefix}.{index}"), told));
            all.insert(event.clone(), hooks.collect::<Result<_, _>>()?);
        }
        Ok(all)
    }

    /// `credential_pool_strategies.<provider>`.
    pub(crate) fn strategies(
        &self,
        root: &Node,
        told: &mut Told<'_>,
    ) -> Result<BTreeMap<String, String>, ConfigError> {
        const WORDS: crate::slot::Rule =
            crate::slot::Rule::OneOf(&["fill_first", "round_robin", "random", "least_used"]);
        let mut all = BTreeMap::new();
        for (provider, node) in self.section(root, "credential_pool_strategies")? {
            let key = format!("credential_pool_strategies.{provider}");
            let mut word = String::new();
            match crate::slot::Slot::Text(&mut word).put(node, WORDS) {
                Ok(()) => {
                    told.origins.insert(key, self.origin(node));
                    all.insert(provider.clone(), word);
                }
                Err(Unfit::Type(expected) | Unfit::Range(expected)) => {
                    return Err(self.refused(&key, expected, node, false));
                }
            }
        }
        Ok(all)
    }

    /// `mcp_servers.<name>`, as it is written; whoever speaks with servers reads it.
    pub(crate) fn mcp_servers(
        &self,
        root: &Node,
        told: &mut Told<'_>,
    ) -> Result<BTreeMap<String, serde_json::Value>, ConfigError> {
        let mut all = BTreeMap::new();
        for (name, node) in self.section(root, "mcp_servers")? {
            told.origins
                .insert(format!("mcp_servers.{name}"), self.origin(node));
            all.insert(name.clone(), node.json());
        }
        Ok(all)
    }

    fn items<'n>(&self, root: &'n Node, key: &str) -> Result<&'n [Node], ConfigError> {
        match root.get(key).map(|node| (node, &node.value)) {
            None | Some((_, Value::Null)) => Ok(&[]),
            Some((_, Value::List(items))) => Ok(items),
            Some((node, Value::Map(_))) if node.entries().is_empty() => Ok(&[]),
            Some((node, _)) => Err(self.refused(key, "a list of sections".to_owned(), node, false)),
        }
    }

    fn section<'n>(&self, root: &'n Node, key: &str) -> Result<&'n [(String, Node)], ConfigError> {
        match root.get(key).map(|node| (node, &node.value)) {
            None | Some((_, Value::Null)) => Ok(&[]),
            Some((_, Value::Map(entries))) => Ok(entries),
            Some((node, _)) => Err(self.refused(key, "a section of sections".to_owned(), node, false)),
        }
    }
}

/// Names of a file that this program does not read, with their lines: whole sections by their own name.
pub(crate) fn unknown(root: &Node) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for (name, node) in root.entries() {
        let is = |known: &str| known == name;
        if RECORDS.iter().any(|known| is(known)) || crate::keys::NAMES.iter().any(|known| is(known)) {
            continue;
        }
        let inside = format!("{name}.");
        if !crate::keys::NAMES.iter().any(|known| known.starts_with(&inside)) {
            found.push((name.clone(), node.line));
            continue;
        }
        for (inner, value) in node.entries() {
            let full = format!("{inside}{inner}");
            if !crate::keys::NAMES.contains(&full.as_str()) {
                found.push((full, value.line));
            }
        }
    }
    found
}
