//! Turns a configuration's words into an [`Endpoint`].
//!
//! The same for the chosen model, for every entry of a fallback chain and for
//! side tasks. Nothing is read from the process here: the caller hands in the
//! words of the configuration and a way to look up variables and secrets. Only
//! the pool of keys is a file, because it says which of them are good now.
//!
//! Which provider: the one that is named; else, with an address, a custom one;
//! else the first of the table whose key is there.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use talaria_types::{ApiMode, ModelIdentity};

use crate::address;
use crate::catalogue::Catalogue;
use crate::catalogue::providers::{self, LoginMethod, ProviderRow};
use crate::cloud::Cloud;
use crate::credentials::{CredentialPool, Picked, Strategy};
use crate::debug::HttpLog;
use crate::effort::Effort;
use crate::endpoint::Endpoint;

/// Without a byte for this long a far server's stream is given up.
const STALE: Duration = Duration::from_secs(180);
/// A local server may read a long prompt for minutes before its first word.
const LOCAL_STALE: Duration = Duration::from_secs(900);
/// What some tools write where a local server wants no key.
const NO_KEY: &str = "no-key-required";

/// The words of the configuration about one model.
#[derive(Clone, Debug, Default)]
pub struct ProviderRequest {
    /// `provider`: an id or another name of one; empty or `auto` to find one.
    pub provider: Option<String>,
    /// `default` or `model`.
    pub model: Option<String>,
    /// `base_url`.
    pub base_url: Option<String>,
    /// `api_key`.
    pub api_key: Option<SecretString>,
    /// `key_env`: the variable that holds the key.
    pub key_env: Option<String>,
    /// The person's own folder, in which clouds keep their credentials.
    pub user_home: Option<PathBuf>,
    /// `auth.json`, where several keys of one provider may stand.
    pub auth_file: Option<PathBuf>,
    /// `credential_pool_strategies`, by provider.
    pub pool_strategies: HashMap<String, Strategy>,
    /// `api_mode`.
    pub api_mode: Option<ApiMode>,
    /// `context_length`.
    pub context_length: Option<u64>,
    /// `max_tokens`.
    pub max_tokens: Option<u64>,
    /// How long a stream may be silent, where the user said so for all servers.
    pub stale_timeout: Option<Duration>,
    /// `agent.local_stream_stale_timeout`.
    pub local_stale_timeout: Option<Duration>,
    /// `prompt_caching.cache_ttl` is `1h`.
    pub long_cache: bool,
    /// Where found-out windows are kept.
    pub window_cache: Option<PathBuf>,
    /// Folder of image bytes.
    pub images: PathBuf,
    /// A file of additional root certificates.
    pub ca_bundle: Option<PathBuf>,
    /// `agent.reasoning_effort`.
    pub effort: Option<Effort>,
    /// Where calls are written down, when they are.
    pub debug: Option<Arc<HttpLog>>,
    /// What is known about models; the shipped catalogue when absent.
    pub catalogue: Option<Arc<Catalogue>>,
}

/// Why there is no endpoint. All of these end the program before any request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// Nothing is configured and no key is there.
    #[error(
        "no model provider is configured: set OPENROUTER_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, \
         or model.base_url of a local server in config.yaml"
    )]
    NoProvider,
    /// The provider is known, its key is not there.
    #[error("no key for the provider {provider}: set {variable} in the environment or in .env{also}")]
    NoKey {
        /// Which provider.
        provider: String,
        /// The variable to set.
        variable: String,
        /// What else would do.
        also: &'static str,
    },
    /// One logs in to this provider in the browser.
    #[error("not logged in to the provider {provider}: run `talaria auth add {provider} --oauth`")]
    NotLoggedIn {
        /// Which provider.
        provider: String,
    },
    /// A cloud's own credentials are not there.
    #[error("no credentials for the provider {provider}: set {missing}")]
    NoCloud {
        /// Which provider.
        provider: String,
        /// What is missing.
        missing: &'static str,
    },
    /// The provider has no address of its own.
    #[error("the provider {provider} needs an address: set model.base_url in config.yaml{or_variable}")]
    NoAddress {
        /// Which provider.
        provider: String,
        /// ` or VARIABLE`.
        or_variable: String,
    },
    /// The address is none.
    #[error(
        "{url:?} is no address of a model server: it must begin with http:// or https:// and name a host"
    )]
    BadAddress {
        /// What was given.
        url: String,
    },
    /// No model was chosen.
    #[error(
        "no model is chosen for the provider {provider}: set model.default in config.yaml or pass -m MODEL"
    )]
    NoModel {
        /// Which provider.
        provider: String,
    },
    /// The name is in no table and there is no address.
    #[error(
        "{provider:?} is no known provider; for a server of your own use `provider: custom` and model.base_url"
    )]
    UnknownProvider {
        /// What was given.
        provider: String,
    },
}

/// Looks up a variable of the environment or a stored secret.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Finds the endpoint that a configuration means.
///
/// # Errors
/// When something needed is missing; the text says what to set.
pub fn resolve(request: &ProviderRequest, lookup: Lookup<'_>) -> Result<Endpoint, ResolveError> {
    let lookup = &|name: &str| {
        lookup(name)
            .map(|value| value.trim().to_owned())
            .filter(|value| !value.is_empty())
    };
    let (name, row) = choose(request, lookup)?;
    let pool = pool(request, &name, row, lookup);
    let (key, picked) = find_key(request, pool.as_ref(), row, lookup);
    let pooled_url = picked.as_ref().and_then(|picked| picked.base_url.clone());
    let moved = ProviderRequest {
        base_url: request.base_url.clone().or(pooled_url),
        ..ProviderRequest::default()
    };
    let cloud = cloud(request, &name, lookup)?;
    let mode_there = |cloud: &Cloud| cloud.mode(request.model.as_deref().unwrap_or_default());
    let has_variable = row.is_some_and(|row| lookup(row.url_variable).is_some());
    let moved = match &cloud {
        Some(cloud) if moved.base_url.is_none() && !has_variable => ProviderRequest {
            base_url: Some(cloud.base_url(request.api_mode.unwrap_or_else(|| mode_there(cloud)))),
            ..moved
        },
        Some(_) | None => moved,
    };
    let base_url = find_address(&moved, &name, row, lookup)?;
    let base_url = kimi_address(base_url, row, key.as_deref());
    let is_near = address::is_near(&base_url);
    let wants_key = match row.map(|row| row.login) {
        Some(LoginMethod::Key | LoginMethod::OAuth) => !is_near,
        Some(LoginMethod::OptionalKey | LoginMethod::Cloud) | None => false,
    };
    if key.is_none() && wants_key {
        return Err(missing_key(&name, request, row));
    }
    let model = request.model.clone().filter(|model| !model.trim().is_empty());
    let model = model.ok_or_else(|| ResolveError::NoModel {
        provider: name.clone(),
    })?;
    let told = || {
        cloud
            .as_ref()
            .map_or_else(|| mode(row, &base_url, &model), |cloud| cloud.mode(&model))
    };
    let api_mode = request.api_mode.unwrap_or_else(told);
    let stale_timeout = if is_near {
        request
            .local_stale_timeout
            .or(request.stale_timeout)
            .unwrap_or(LOCAL_STALE)
    } else {
        request.stale_timeout.unwrap_or(STALE)
    };
    Ok(Endpoint {
        identity: ModelIdentity {
            provider: name,
            model,
            base_url,
            api_mode,
        },
        api_key: key.filter(|key| key != NO_KEY).map(SecretString::from),
        pinned_address: request
            .base_url
            .as_deref()
            .is_some_and(|url| !url.trim().is_empty()),
        pool: pool.filter(|_| picked.is_some()),
        pool_entry: picked.map(|picked| picked.id),
        context_length: request.context_length,
        max_output_tokens: request.max_tokens,
        stale_timeout,
        long_cache: request.long_cache,
        window_cache: request.window_cache.clone(),
        images: request.images.clone(),
        ca_bundle: request.ca_bundle.clone(),
        effort: request.effort,
        cloud: cloud.map(Arc::new),
        debug: request.debug.clone(),
        catalogue: request.catalogue.clone().unwrap_or_else(Catalogue::shipped),
    })
}

/// The cloud that serves this provider.
fn cloud(request: &ProviderRequest, name: &str, lookup: Lookup<'_>) -> Result<Option<Cloud>, ResolveError> {
    let found = Cloud::find(
        name,
        lookup,
        request.user_home.as_deref(),
        request.ca_bundle.clone(),
    );
    found.map_err(|missing| ResolveError::NoCloud {
        provider: name.to_owned(),
        missing,
    })
}

type Choice = (String, Option<&'static ProviderRow>);

fn choose(request: &ProviderRequest, lookup: Lookup<'_>) -> Result<Choice, ResolveError> {
    let named = request
        .provider
        .as_deref()
        .map(str::trim)
        .filter(|name| !name.is_empty() && *name != "auto");
    let has_address = request
        .base_url
        .as_deref()
        .is_some_and(|url| !url.trim().is_empty());
    if let Some(name) = named {
        return match providers::row(name) {
            Some(row) => Ok((row.id.to_owned(), Some(row))),
            // A server the user has given a name of its own.
            None if has_address => Ok((name.to_owned(), providers::row("custom"))),
            None => Err(ResolveError::UnknownProvider {
                provider: name.to_owned(),
            }),
        };
    }
    if has_address || lookup("OPENAI_BASE_URL").is_some() {
        return Ok(("custom".to_owned(), providers::row("custom")));
    }
    // A login was made on purpose; a key of another tool that happens to be there was not.
    let keyed = |row: &&ProviderRow| {
        let pool = pool(request, row.id, Some(*row), lookup);
        let in_environment =
            || row.login == LoginMethod::Key && row.keys.iter().any(|key| lookup(key).is_some());
        let pooled = |pool: CredentialPool| match row.login {
            LoginMethod::Key => pool.has_other(""),
            LoginMethod::OAuth => pool.has_login(),
            LoginMethod::OptionalKey | LoginMethod::Cloud => false,
        };
        in_environment() || pool.is_some_and(pooled)
    };
    match providers::PROVIDERS.iter().find(keyed) {
        Some(row) => Ok((row.id.to_owned(), Some(row))),
        None if request.api_key.is_some() => Ok(("openrouter".to_owned(), providers::row("openrouter"))),
        None => Err(ResolveError::NoProvider),
    }
}

/// The pool of a provider; a configured key is meant to be the only one.
fn pool(
    request: &ProviderRequest,
    name: &str,
    row: Option<&ProviderRow>,
    lookup: Lookup<'_>,
) -> Option<CredentialPool> {
    let file = request
        .auth_file
        .as_ref()
        .filter(|_| request.api_key.is_none() && request.key_env.is_none())?;
    let strategy = request.pool_strategies.get(name).copied().unwrap_or_default();
    let variables = row.into_iter().flat_map(|row| row.keys);
    let keys = variables.filter_map(|name| Some(((*name).to_owned(), SecretString::from(lookup(name)?))));
    Some(CredentialPool::new(file, name, strategy).with_environment(keys.collect()))
}

/// The key, and which one of the pool it is.
fn find_key(
    request: &ProviderRequest,
    pool: Option<&CredentialPool>,
    row: Option<&ProviderRow>,
    lookup: Lookup<'_>,
) -> (Option<String>, Option<Picked>) {
    let own = request
        .api_key
        .as_ref()
        .map(|key| key.expose_secret().trim().to_owned());
    let configured = own
        .filter(|key| !key.is_empty())
        .or_else(|| request.key_env.as_deref().and_then(lookup));
    if configured.is_some() {
        return (configured, None);
    }
    if let Some(picked) = pool.and_then(CredentialPool::pick) {
        return (Some(picked.key.expose_secret().to_owned()), Some(picked));
    }
    let variables = row.into_iter().flat_map(|row| row.keys);
    let key = variables.filter(|_| pool.is_none()).find_map(|name| lookup(name));
    (key, None)
}

fn find_address(
    request: &ProviderRequest,
    name: &str,
    row: Option<&ProviderRow>,
    lookup: Lookup<'_>,
) -> Result<String, ResolveError> {
    let configured = request
        .base_url
        .clone()
        .map(|url| url.trim().to_owned())
        .filter(|url| !url.is_empty());
    let variable = row
        .map(|row| row.url_variable)
        .filter(|variable| !variable.is_empty());
    let own = row
        .map(|row| row.base_url.to_owned())
        .filter(|url| !url.is_empty());
    let found = configured.or_else(|| variable.and_then(lookup)).or(own);
    let Some(found) = found else {
        let or_variable = variable
            .map(|variable| format!(" or {variable}"))
            .unwrap_or_default();
        return Err(ResolveError::NoAddress {
            provider: name.to_owned(),
            or_variable,
        });
    };
    let is_address =
        url::Url::parse(&found).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    if !is_address {
        return Err(ResolveError::BadAddress { url: found });
    }
    // People paste the whole path of a request.
    let trimmed = found.trim_end_matches('/');
    let trimmed = ["/chat/completions", "/responses", "/messages"]
        .iter()
        .find_map(|end| trimmed.strip_suffix(end))
        .unwrap_or(trimmed);
    Ok(trimmed.trim_end_matches('/').to_owned())
}

/// Keys of Kimi's coding plan are good at an address of their own only.
fn kimi_address(base_url: String, row: Option<&ProviderRow>, key: Option<&str>) -> String {
    let own = row.is_some_and(|row| row.id == "kimi-coding" && row.base_url == base_url);
    if own && key.is_some_and(|key| key.starts_with("sk-kimi-")) {
        return "https://api.kimi.com/coding".to_owned();
    }
    base_url
}

fn missing_key(name: &str, request: &ProviderRequest, row: Option<&ProviderRow>) -> ResolveError {
    if row.is_some_and(|row| row.login == LoginMethod::OAuth) {
        return ResolveError::NotLoggedIn {
            provider: name.to_owned(),
        };
    }
    let listed = row.and_then(|row| row.keys.first()).map(|key| (*key).to_owned());
    ResolveError::NoKey {
        provider: name.to_owned(),
        variable: request
            .key_env
            .clone()
            .or(listed)
            .unwrap_or_else(|| "its key".to_owned()),
        also: ", or model.api_key in config.yaml",
    }
}

/// The protocol, told by the provider, the address or the model.
fn mode(row: Option<&ProviderRow>, base_url: &str, model: &str) -> ApiMode {
    let by_address = mode_of_address(base_url);
    let by_row = row.and_then(|row| row.api_mode);
    match row.map(|row| row.id) {
        // These serve each model in its maker's protocol.
        Some("opencode-zen" | "opencode-go" | "azure-foundry") => {
            by_address.unwrap_or_else(|| mode_of_model(model))
        }
        // A row's protocol holds for its own address only.
        Some("custom") | None => by_address.unwrap_or_default(),
        Some(_) => by_row.or(by_address).unwrap_or_default(),
    }
}

fn mode_of_address(base_url: &str) -> Option<ApiMode> {
    let host = address::host(base_url);
    if address::is_within(&host, "api.openai.com") || address::is_within(&host, "api.x.ai") {
        return Some(ApiMode::CodexResponses);
    }
    if base_url.ends_with("/anthropic")
        || base_url.contains("api.kimi.com/coding")
        || address::is_within(&host, "api.anthropic.com")
    {
        return Some(ApiMode::AnthropicMessages);
    }
    let is_gemini = address::is_within(&host, "generativelanguage.googleapis.com");
    (is_gemini && !base_url.ends_with("/openai")).then_some(ApiMode::Gemini)
}

fn mode_of_model(model: &str) -> ApiMode {
    let model = model.to_ascii_lowercase();
    if model.contains("claude") {
        ApiMode::AnthropicMessages
    } else if model.contains("gpt-5") || model.contains("codex") {
        ApiMode::CodexResponses
    } else {
        ApiMode::ChatCompletions
    }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
