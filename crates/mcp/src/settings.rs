//! What is written about a server: `mcp_servers` of `config.yaml`, `mcpServers` of a project's `.mcp.json`.
//!
//! Both have the same keys here, Hermes' own and those of Claude Code. `${NAME}` and `${NAME:-otherwise}`
//! stand for variables in every text. A project's file can start programs and reach addresses, once the
//! person has trusted it; it cannot spare itself questions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::McpError;

/// How long a call may take, in seconds.
const TIMEOUT: u64 = 120;
/// How long a server may take to start and say what it has, in seconds.
const CONNECT_TIMEOUT: u64 = 60;

/// Where a server was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The person's own `config.yaml`.
    Config,
    /// A project's `.mcp.json`.
    Project,
}

/// One server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Its name.
    pub name: String,
    /// Where it was written down.
    pub source: Source,
    /// How it is reached.
    pub(crate) door: Door,
    /// Whether it is used at all.
    pub enabled: bool,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) include: Option<Vec<String>>,
    pub(crate) exclude: Vec<String>,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    pub(crate) sampling: Sampling,
    pub(crate) parallel: bool,
    /// What the person says of it; nothing when they say nothing.
    pub(crate) trust: Option<bool>,
    fingerprint: String,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    /// A program that speaks on its stdio.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: Option<PathBuf>,
    },
    /// An address.
    Http {
        url: String,
        headers: BTreeMap<String, String>,
        /// The older transport: a stream to read, and an address to write to.
        sse: bool,
        /// Nothing without a login.
        oauth: Option<OAuth>,
        verify: Verify,
    },
}

/// How a server's certificate is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verify {
    /// By the system's roots.
    #[default]
    System,
    /// By those of a file, beside the system's.
    Bundle(PathBuf),
    /// Not at all, because the person says so.
    Nothing,
}

/// A login.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OAuth {
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<String>,
    #[serde(deserialize_with = "words")]
    pub(crate) scope: Vec<String>,
    pub(crate) redirect_port: Option<u16>,
    pub(crate) client_name: Option<String>,
}

/// What a server may ask of the model.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub(crate) struct Sampling {
    pub(crate) enabled: bool,
    pub(crate) model: Option<String>,
    pub(crate) max_tokens_cap: u64,
    pub(crate) timeout: u64,
    pub(crate) max_rpm: u32,
    pub(crate) allowed_models: Vec<String>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            enabled: false,
            model: None,
            max_tokens_cap: 4096,
            timeout: 30,
            max_rpm: 10,
            allowed_models: Vec::new(),
        }
    }
}

/// The keys as they are written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    command: Option<String>,
    #[serde(deserialize_with = "texts")]
    args: Vec<String>,
    #[serde(deserialize_with = "named_texts")]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(deserialize_with = "named_texts")]
    headers: BTreeMap<String, String>,
    /// Claude Code writes `type`.
    #[serde(alias = "type")]
    transport: Option<String>,
    ssl_verify: Option<Value>,
    auth: Option<String>,
    oauth: Option<OAuth>,
    enabled: Option<bool>,
    disabled: Option<bool>,
    timeout: Option<f64>,
    connect_timeout: Option<f64>,
    tools: Tools,
    sampling: Sampling,
    supports_parallel_tool_calls: bool,
    trust: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tools {
    #[serde(deserialize_with = "one_or_many")]
    include: Option<Vec<String>>,
    #[serde(deserialize_with = "one_or_many")]
    exclude: Option<Vec<String>>,
    resources: Option<bool>,
    prompts: Option<bool>,
}

impl ServerSettings {
    /// Reads what is written about the server `name`; `lookup` gives variables.
    ///
    /// # Errors
    /// When it makes no sense, or a variable it needs is not set.
    pub fn read(
        name: &str,
        written: &Value,
        source: Source,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, McpError> {
        let wrong = |detail: String| McpError::Settings {
            server: name.to_owned(),
            detail,
        };
        let fingerprint = fingerprint(name, written);
        let mut value = written.clone();
        expand(&mut value, lookup).map_err(wrong)?;
        let written: Written = serde_json::from_value(value).map_err(|error| wrong(error.to_string()))?;
        let enabled = written.enabled.unwrap_or(true) && !written.disabled.unwrap_or(false);
        let seconds = |key: &str, given: Option<f64>, usual: u64| match given {
            None => Ok(Duration::from_secs(usual)),
            Some(given) if given > 0.0 && given <= 86_400.0 => Ok(Duration::from_secs_f64(given)),
            Some(given) => Err(wrong(format!("{key} must be seconds above 0, not {given}"))),
        };
        Ok(Self {
            name: name.to_owned(),
            source,
            enabled,
            timeout: seconds("timeout", written.timeout, TIMEOUT)?,
            connect_timeout: seconds("connect_timeout", written.connect_timeout, CONNECT_TIMEOUT)?,
            include: written.tools.include.clone(),
            exclude: written.tools.exclude.clone().unwrap_or_default(),
            resources: written.tools.resources.unwrap_or(true),
            prompts: written.tools.prompts.unwrap_or(true),
            sampling: written.sampling.clone(),
            parallel: written.supports_parallel_tool_calls,
            trust: written.trust.filter(|_| source == Source::Config),
            door: door(written).map_err(wrong)?,
            fingerprint,
        })
    }

    /// Names these settings; another one after any change.
    pub(crate) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Whether the model gets `tool`: an include list wins over an exclude list.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == tool);
        match &self.include {
            Some(include) => named(include),
            None => !named(&self.exclude),
        }
    }

    /// The program with its arguments, or the address; for showing, without what may be secret.
    pub fn shown(&self) -> String {
        match &self.door {
            Door::Stdio { command, args, .. } => {
                let words: Vec<&str> = std::iter::once(command).chain(args).map(String::as_str).collect();
                talaria_redact::redact_own(&words.join(" ")).into_owned()
            }
            Door::Http { url, .. } => talaria_redact::redact_own(&without_query(url)).into_owned(),
        }
    }

    /// The program that is started, where there is one.
    pub fn program(&self) -> Option<&str> {
        match &self.door {
            Door::Stdio { command, .. } => Some(command),
            Door::Http { .. } => None,
        }
    }

    /// `stdio`, `http` or `sse`.
    pub fn transport(&self) -> &'static str {
        match &self.door {
            Door::Stdio { .. } => "stdio",
            Door::Http { sse: true, .. } => "sse",
            Door::Http { sse: false, .. } => "http",
        }
    }

    /// Whether it wants a login.
    pub fn wants_login(&self) -> bool {
        matches!(&self.door, Door::Http { oauth: Some(_), .. })
    }

    /// The texts of these settings that are secrets: what its environment and headers hold.
    pub fn secrets(&self) -> Vec<String> {
        let named: Vec<(&String, &String)> = match &self.door {
            Door::Stdio { env, .. } => env.iter().collect(),
            Door::Http { headers, .. } => headers.iter().collect(),
        };
        const SECRET: &[&str] = &["KEY", "TOKEN", "SECRET", "PASSW", "AUTH", "CREDENTIAL", "COOKIE"];
        let secret = |name: &str| {
            let name = name.to_uppercase();
            SECRET.iter().any(|part| name.contains(part))
        };
        let bare = |value: &String| value.strip_prefix("Bearer ").unwrap_or(value).to_owned();
        let mut found: Vec<String> = named
            .into_iter()
            .filter(|(name, value)| secret(name) && value.len() >= 8)
            .map(|(_, value)| bare(value))
            .collect();
        if let Door::Http {
            oauth: Some(OAuth {
                client_secret: Some(secret),
                ..
            }),
            ..
        } = &self.door
        {
            found.push(secret.clone());
        }
        found
    }
}

fn without_query(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

fn door(written: Written) -> Result<Door, String> {
    let transport = written
        .transport
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let verify = match written.ssl_verify {
        None | Some(Value::Null | Value::Bool(true)) => Verify::System,
        Some(Value::Bool(false)) => Verify::Nothing,
        Some(Value::String(path)) => Verify::Bundle(path.into()),
        Some(_) => return Err("ssl_verify must be true, false or the path of certificates".to_owned()),
    };
    match (written.command, written.url) {
        (Some(_), Some(_)) => Err("it has a command and a url; leave one of them out".to_owned()),
        (None, None) => Err("it has neither a command nor a url".to_owned()),
        (Some(command), None) if command.trim().is_empty() => Err("its command is empty".to_owned()),
        (Some(command), None) => Ok(Door::Stdio {
            command,
            args: written.args,
            env: written.env,
            cwd: written.cwd,
        }),
        (None, Some(url)) => {
            let parsed = url::Url::parse(&url).map_err(|error| format!("its url is none: {error}"))?;
            if !matches!(parsed.scheme(), "http" | "https") {
                return Err(format!(
                    "its url begins with {}:, not http: or https:",
                    parsed.scheme()
                ));
            }
            let sse = match transport.as_str() {
                "sse" => true,
                "" | "http" | "streamable-http" | "streamable_http" | "streamablehttp" => false,
                other => return Err(format!("its transport is {other:?}; there are http and sse")),
            };
            let oauth = match written.auth.as_deref() {
                Some("oauth") => Some(written.oauth.unwrap_or_default()),
                None | Some("" | "none" | "header") => written.oauth,
                Some(other) => return Err(format!("its auth is {other:?}; there is oauth")),
            };
            Ok(Door::Http {
                url,
                headers: written.headers,
                sse,
                oauth,
                verify,
            })
        }
    }
}

fn fingerprint(name: &str, written: &Value) -> String {
    let digest = Sha256::digest(format!("{name}\0{written}"));
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Puts variables into every text of `value`.
fn expand(value: &mut Value, lookup: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
    match value {
        Value::String(text) if text.contains("${") => {
            *text = expanded(text, lookup)?;
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| expand(item, lookup)),
        Value::Object(map) => map.values_mut().try_for_each(|item| expand(item, lookup)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn expanded(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            return Err(format!("a ${{ is not closed in {before}${{…"));
        };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let found = lookup(name).or_else(|| otherwise.map(str::to_owned));
        out.push_str(&found.ok_or_else(|| format!("${{{name}}} is not set"))?);
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// A list of texts; numbers and truth values are taken as they are written.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let values = Option::<Vec<Value>>::deserialize(deserializer)?.unwrap_or_default();
    values
        .into_iter()
        .map(|value| text(value).map_err(serde::de::Error::custom))
        .collect()
}

fn named_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let values = Option::<BTreeMap<String, Value>>::deserialize(deserializer)?.unwrap_or_default();
    let read = values
        .into_iter()
        .map(|(name, value)| Ok((name, text(value).map_err(serde::de::Error::custom)?)));
    read.collect()
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Value::Array(items)) => {
            let read = items
                .into_iter()
                .map(|item| text(item).map_err(serde::de::Error::custom));
            read.collect::<Result<_, _>>().map(Some)
        }
        Some(one) => Ok(Some(vec![text(one).map_err(serde::de::Error::custom)?])),
    }
}

fn words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let many = one_or_many(deserializer)?.unwrap_or_default();
    Ok(many
        .iter()
        .flat_map(|text| text.split_whitespace())
        .map(str::to_owned)
        .collect())
}

fn text(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Null => Ok(String::new()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(value) => Ok(value.to_string()),
        Value::Array(_) | Value::Object(_) => Err("expected a text, found a list or a section".to_owned()),
    }
}

#[cfg(test)]
mod tests;
