//! Joins flags, environment, project and home files.
//!
//! A flag wins over the environment, that over the project's file (which may only
//! set what cannot widen permissions), that over the home's file, that over the
//! default. What is out of range is left at what it was and told; what has the
//! wrong type is refused with file and line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use crate::ModelConfig;
use crate::keys::{KEYS, Key, Project};
use crate::layer::Layer;
use crate::slot::Unfit;
use crate::yaml::{Node, Value};
use crate::{Config, ConfigError, Environment, Home, Origin, dotenv, env, show, yaml};

/// What the command line says; wins over everything else.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `-m`.
    pub model: Option<String>,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// `--max-turns`.
    pub max_turns: Option<u32>,
    /// `--max-cost`, US dollars.
    pub max_cost: Option<f64>,
    /// `-t`.
    pub toolsets: Vec<String>,
    /// `--debug-http`.
    pub debug_http: Option<PathBuf>,
}

/// A configuration with where each value came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The home folder.
    pub home: Home,
    /// The values.
    pub config: Config,
    /// Where each dotted key came from; what is not here is a default.
    pub origins: BTreeMap<String, Origin>,
    /// Every value as `config show` prints it, secrets as `***`, by dotted key; what is not set is not here.
    pub shown: BTreeMap<String, String>,
    /// Keys, credentials and addresses from environment and `.env`, by variable name.
    pub secrets: BTreeMap<String, SecretString>,
    /// The file into which model calls are written down.
    pub debug_http: Option<PathBuf>,
    /// What the person should know (values out of range, ignored project keys).
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Takes another model, of the same provider or another one. Address, key and protocol belong to a
    /// provider, a configured window to a model.
    pub fn choose_model(&mut self, model: &str, provider: Option<&str>) {
        let kept = std::mem::take(&mut self.config.model);
        let other = provider.filter(|other| !other.eq_ignore_ascii_case(&kept.provider));
        self.config.model = match other {
            Some(other) => ModelConfig {
                provider: other.to_owned(),
                ..ModelConfig::default()
            },
            None => ModelConfig {
                context_length: kept.context_length.filter(|_| kept.default == model),
                ..kept
            },
        };
        model.clone_into(&mut self.config.model.default);
    }

    /// Where a value came from.
    pub fn origin(&self, key: &str) -> Origin {
        self.origins.get(key).cloned().unwrap_or(Origin::Default)
    }

    /// A variable of the environment or of `.env` (see [`Environment`] for which are kept).
    pub fn variable(&self, name: &str) -> Option<&str> {
        use secrecy::ExposeSecret;
        self.secrets.get(name).map(ExposeSecret::expose_secret)
    }
}

/// Loads the configuration of `home` for a program that works in `cwd`.
///
/// # Errors
/// On a file that cannot be read, is no YAML, or holds a value of a wrong type;
/// the error names file, line and key.
pub fn load(home: Home, cwd: &Path, overrides: &Overrides) -> Result<Loaded, ConfigError> {
    load_from(home, cwd, overrides, Environment::of_process())
}

/// As [`load`], in an environment that is not the process's own.
///
/// # Errors
/// As [`load`].
pub fn load_from(
    home: Home,
    cwd: &Path,
    overrides: &Overrides,
    mut environment: Environment,
) -> Result<Loaded, ConfigError> {
    let mut joined = Joined::default();
    if let Some(bytes) = bytes(&home.env_file())? {
        let (text, unread) = dotenv::decode(&bytes);
        joined.warnings.extend(unread.iter().map(|line| {
            let file = home.env_file();
            format!("{}:{line}: not UTF-8; the line is left out", file.display())
        }));
        environment.overlay(dotenv::parse(&text, &environment));
    }
    let file = home.config_file();
    if !environment.is_on(env::HERMES_IGNORE_USER_CONFIG) {
        if let Some(root) = joined.tree(&file)? {
            joined.home(
                &root,
                &Layer {
                    file: &file,
                    name: "config.yaml",
                    environment: Some(&environment),
                },
            )?;
        }
        if let Some(file) = project_file(cwd, &home)
            && let Some(root) = joined.tree(&file)?
        {
            joined.project(
                &root,
                &Layer {
                    file: &file,
                    name: ".hermes/config.yaml",
                    environment: None,
                },
            )?;
        }
    }
    joined.environment(&environment)?;
    joined.flags(overrides);
    joined.not_honoured();
    let Joined {
        mut config,
        origins,
        warnings,
    } = joined;
    if config.model.provider.is_empty() {
        "auto".clone_into(&mut config.model.provider);
    }
    // Hermes' names for "everything"; beside them the others say nothing.
    if config
        .toolsets
        .iter()
        .any(|name| name == "all" || name.starts_with("hermes-"))
    {
        config.toolsets.clear();
    }
    let secrets = environment.secrets(&key_variables(&config));
    let shown = show::values(&mut config);
    Ok(Loaded {
        home,
        config,
        origins,
        shown,
        secrets,
        debug_http: overrides.debug_http.clone(),
        warnings,
    })
}

/// The variables that a `key_env` names.
fn key_variables(config: &Config) -> Vec<String> {
    let providers = config
        .providers
        .values()
        .filter_map(|provider| provider.key_env.clone());
    let fallbacks = config
        .fallback_providers
        .iter()
        .filter_map(|fallback| fallback.key_env.clone());
    config
        .model
        .key_env
        .clone()
        .into_iter()
        .chain(providers)
        .chain(fallbacks)
        .collect()
}

pub(crate) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let Some(bytes) = bytes(path)? else {
        return Ok(None);
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..valid];
        ConfigError::Syntax {
            path: path.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64,
            detail: "not UTF-8; save the file in that encoding".to_owned(),
        }
    })
}

fn bytes(path: &Path) -> Result<Option<Vec<u8>>, ConfigError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::File {
            path: path.to_owned(),
            source,
        }),
    }
}

/// The tree of a file, when it exists and is not empty.
pub(crate) fn tree(path: &Path) -> Result<Option<Node>, ConfigError> {
    Ok(document(path)?.map(|(root, _)| root))
}

/// The same, with the keys that are written twice and the line of the second one.
fn document(path: &Path) -> Result<Option<(Node, Vec<yaml::Repeated>)>, ConfigError> {
    let Some(text) = read(path)? else { return Ok(None) };
    let yaml::Document { root, repeated } = yaml::document(&text).map_err(|broken| ConfigError::Syntax {
        path: path.to_owned(),
        line: broken.line,
        detail: broken.detail,
    })?;
    match root {
        None
        | Some(Node {
            value: Value::Null, ..
        }) => Ok(None),
        Some(node) if matches!(node.value, Value::Map(_)) => Ok(Some((node, repeated))),
        Some(node) => Err(ConfigError::Syntax {
            path: path.to_owned(),
            line: node.line,
            detail: format!("expected settings (`key: value`), found {}", node.described()),
        }),
    }
}

/// `.hermes/config.yaml` of the nearest folder from `cwd` up to the end of its repository;
/// never the home's own file under another name.
fn project_file(cwd: &Path, home: &Home) -> Option<PathBuf> {
    for (depth, folder) in cwd.ancestors().enumerate() {
        let file = folder.join(".hermes/config.yaml");
        if file.is_file() {
            let own = home.config_file();
            let same = file.canonicalize().ok() == own.canonicalize().ok().or(Some(own));
            return (!same).then_some(file);
        }
        if folder.join(".git").exists() {
            return None;
        }
        // Outside of a repository only the folder itself counts: what lies above it is not this project.
        if depth == 0 && !cwd.ancestors().skip(1).any(|above| above.join(".git").exists()) {
            return None;
        }
    }
    None
}

#[derive(Default)]
struct Joined {
    config: Config,
    origins: BTreeMap<String, Origin>,
    warnings: Vec<String>,
}

impl Joined {
    /// The tree of a file; what it says twice is told, because only the last one counts.
    fn tree(&mut self, file: &Path) -> Result<Option<Node>, ConfigError> {
        let Some((root, repeated)) = document(file)? else {
            return Ok(None);
        };
        self.warnings.extend(repeated.iter().map(|twice| {
            format!(
                "{}:{}: {} is written twice; the one on line {} is not used",
                file.display(),
                twice.line,
                twice.key,
                twice.first
            )
        }));
        Ok(Some(root))
    }

    fn home(&mut self, root: &Node, layer: &Layer<'_>) -> Result<(), ConfigError> {
        layer.check_sections(root)?;
        if let Some(node) = root
            .get("model")
            .filter(|node| matches!(node.value, Value::Scalar { .. }))
        {
            let key = KEYS.iter().find(|key| key.name == "model.default");
            key.map_or(Ok(()), |key| self.put(key, node, layer))?;
        }
        for key in KEYS {
            if let Some((name, node)) = found(root, key) {
                let node = if name == "context.threshold_percent" {
                    as_share(node)
                } else {
                    node.clone()
                };
                self.put(key, &node, layer)?;
            }
        }
        let mut told = crate::layer::Told {
            origins: &mut self.origins,
            warnings: &mut self.warnings,
        };
        self.config.providers = layer.providers(root, &mut told)?;
        self.config.fallback_providers = layer.fallbacks(root, &mut told)?;
        self.config.credential_pool_strategies = layer.strategies(root, &mut told)?;
        self.config.auxiliary = layer.auxiliary(root, &mut told)?;
        self.config.hooks = layer.hooks(root, &mut told)?;
        self.config.mcp_servers = layer.mcp_servers(root, &mut told)?;
        Ok(())
    }

    fn put(&mut self, key: &Key, node: &Node, layer: &Layer<'_>) -> Result<(), ConfigError> {
        let node = layer.expanded(node, key.name, &mut self.warnings);
        let slot = (key.slot)(&mut self.config);
        let secret = slot.is_secret();
        match slot.put(&node, key.rule) {
            Ok(()) => {
                self.origins.insert(key.name.to_owned(), layer.origin(&node));
            }
            Err(Unfit::Type(expected)) => return Err(layer.refused(key.name, expected, &node, secret)),
            Err(Unfit::Range(expected)) => {
                let kept = (key.slot)(&mut self.config)
                    .shown()
                    .filter(|kept| !kept.is_empty());
                let kept = kept.map_or_else(|| "it is left out".to_owned(), |kept| format!("{kept} is used"));
                let found = node.described();
                let warning = format!("{}: expected {expected}, found {found}; {kept}", key.name);
                self.warnings
                    .push(format!("{}: {warning}", layer.place(node.line)));
            }
        }
        Ok(())
    }

    fn project(&mut self, root: &Node, layer: &Layer<'_>) -> Result<(), ConfigError> {
        layer.check_sections(root)?;
        for key in KEYS {
            let Some((_, node)) = found(root, key) else {
                continue;
            };
            let mut trial = Self {
                config: self.config.clone(),
                origins: self.origins.clone(),
                warnings: Vec::new(),
            };
            trial.put(key, node, layer)?;
            self.warnings.append(&mut trial.warnings);
            let before = (key.slot)(&mut self.config).shown().unwrap_or_default();
            let after = (key.slot)(&mut trial.config).shown().unwrap_or_default();
            let allowed = match key.project {
                Project::Never => before == after,
                Project::Set | Project::Add => true,
                Project::Lower => after.parse::<f64>().ok() <= before.parse::<f64>().ok(),
            };
            if !allowed {
                self.warnings.push(ignored(layer, node.line, key.name));
                continue;
            }
            let added = if key.project == Project::Add {
                list(&mut self.config, key)
            } else {
                Vec::new()
            };
            *self = Self {
                warnings: std::mem::take(&mut self.warnings),
                ..trial
            };
            extend(&mut self.config, key, added);
        }
        for name in crate::keys::RECORDS
            .iter()
            .filter(|name| root.get(name).is_some())
        {
            self.warnings
                .push(ignored(layer, root.get(name).map_or(0, |node| node.line), name));
        }
        Ok(())
    }

    fn environment(&mut self, environment: &Environment) -> Result<(), ConfigError> {
        let file_provider = self.config.model.provider.clone();
        for key in KEYS {
            let Some(variable) = key.variable else { continue };
            let Some(text) = environment.get(variable) else {
                continue;
            };
            let slot = (key.slot)(&mut self.config);
            // In a shell a switch is a digit as often as a word; a file has words for it.
            let text = match text.trim() {
                "1" if slot.is_truth() => "true",
                "0" if slot.is_truth() => "false",
                word if slot.is_truth() => word,
                _ => text,
            };
            let node = Node {
                line: 0,
                value: Value::Scalar {
                    text: text.to_owned(),
                    plain: true,
                },
            };
            match slot.put(&node, key.rule) {
                Ok(()) => {
                    self.origins
                        .insert(key.name.to_owned(), Origin::Environment(variable));
                }
                Err(Unfit::Type(expected)) => {
                    return Err(ConfigError::Value {
                        place: format!("${variable}"),
                        key: key.name.to_owned(),
                        expected,
                        found: node.described(),
                    });
                }
                Err(Unfit::Range(expected)) => self.warnings.push(format!(
                    "${variable}: {}: expected {expected}, found {}; it is not used",
                    key.name,
                    node.described()
                )),
            }
        }
        self.forget_other_provider(&file_provider);
        Ok(())
    }

    fn flags(&mut self, overrides: &Overrides) {
        let file_provider = self.config.model.provider.clone();
        let config = &mut self.config;
        let mut came = Vec::new();
        if let Some(model) = &overrides.model {
            config.model.default.clone_from(model);
            came.push(("model.default", "-m"));
        }
        if let Some(provider) = &overrides.provider {
            config.model.provider.clone_from(provider);
            came.push(("model.provider", "--provider"));
        }
        if let Some(turns) = overrides.max_turns {
            config.agent.max_turns = turns.max(1);
            came.push(("agent.max_turns", "--max-turns"));
        }
        if overrides.max_cost.is_some() {
            config.budget.per_turn_usd = overrides.max_cost;
            came.push(("budget.per_turn_usd", "--max-cost"));
        }
        if !overrides.toolsets.is_empty() {
            config.toolsets.clone_from(&overrides.toolsets);
            came.push(("toolsets", "-t"));
        }
        self.forget_other_provider(&file_provider);
        if let Some(url) = &overrides.base_url {
            self.config.model.base_url = Some(url.clone());
            came.push(("model.base_url", "--base-url"));
        }
        self.origins.extend(
            came.into_iter()
                .map(|(key, flag)| (key.to_owned(), Origin::Flag(flag))),
        );
    }

    /// What can be written and is not done.
    fn not_honoured(&mut self) {
        if !self.config.security.redact_secrets {
            self.config.security.redact_secrets = true;
            self.warnings.push(
                "security.redact_secrets: false is not done: secrets are masked wherever text is kept or sent on"
                    .to_owned(),
            );
        }
    }

    /// Address, key and protocol in the file belong to the provider named there; another provider
    /// must not be sent that key, nor be spoken to in that protocol.
    fn forget_other_provider(&mut self, before: &str) {
        let model = &mut self.config.model;
        let unnamed = before.is_empty() || before == "auto";
        if unnamed || model.provider.eq_ignore_ascii_case(before) {
            return;
        }
        let kept = std::mem::take(model);
        model.default = kept.default;
        model.provider = kept.provider;
        let stays =
            |key: &String| !key.starts_with("model.") || key == "model.default" || key == "model.provider";
        self.origins.retain(|key, _| stays(key));
    }
}

/// The key's node, by its own name or another one.
fn found<'a>(root: &'a Node, key: &Key) -> Option<(&'static str, &'a Node)> {
    let mut names = std::iter::once(&key.name).chain(key.also);
    names.find_map(|name| root.at(name).map(|node| (*name, node)))
}

/// A threshold in percent, as its name says, or as a share.
fn as_share(node: &Node) -> Node {
    let mut share = node.clone();
    if let Value::Scalar { text, .. } = &mut share.value
        && let Ok(percent) = text.parse::<f64>()
        && percent > 1.0
        && percent <= 100.0
    {
        *text = (percent / 100.0).to_string();
    }
    share
}

fn list(config: &mut Config, key: &Key) -> Vec<String> {
    match (key.slot)(config) {
        crate::slot::Slot::Texts(place) => place.clone(),
        _ => Vec::new(),
    }
}

fn extend(config: &mut Config, key: &Key, before: Vec<String>) {
    if let crate::slot::Slot::Texts(place) = (key.slot)(config)
        && key.project == Project::Add
    {
        let own = std::mem::replace(place, before);
        own.into_iter().for_each(|item| {
            if !place.contains(&item) {
                place.push(item);
            }
        });
    }
}

fn ignored(layer: &Layer<'_>, line: u64, key: &str) -> String {
    format!(
        "{}: {key} is ignored: a project's file cannot set it (use the home's config.yaml)",
        layer.place(line)
    )
}

#[cfg(test)]
mod tests;
