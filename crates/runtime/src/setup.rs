//! Turns a configuration into models and tool settings.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use talaria_config::{AuxiliaryConfig, Config, CuratorConfig, FallbackConfig, Loaded, env};
use talaria_providers::{CredentialPool, Endpoint, HttpLog, ProviderRequest, ResolveError, connect, resolve};
use talaria_skills::{CuratorSettings, Roots};
use talaria_tools::{ToolSettings, approval};
use talaria_types::{ModelIdentity, Task, ToolSpec};

use crate::engine::Shared;
use crate::models::Model;
use crate::nudge::Nudges;
use crate::{EngineError, EngineOptions};

/// The models of the configuration: the chosen one, then the fallbacks, and
/// what the person should know about fallbacks that cannot be used.
///
/// # Errors
/// When the chosen one has no provider or no credential.
pub(crate) fn chain(
    loaded: &Loaded,
    base: &ProviderRequest,
) -> Result<(Vec<Arc<Model>>, Vec<String>), EngineError> {
    let lookup = |name: &str| loaded.variable(name).map(str::to_owned);
    let chosen = resolve(&chosen(loaded, base), &lookup).map_err(|error| unresolved(&error))?;
    let mut chain = vec![model(chosen)];
    let mut warnings = Vec::new();
    for entry in &loaded.config.fallback_providers {
        match resolve(&fallback(loaded, base, entry), &lookup) {
            Ok(endpoint) => chain.push(model(endpoint)),
            Err(error) => warnings.push(format!("the fallback {} is left out: {error}", entry.model)),
        }
    }
    Ok((chain, warnings))
}

/// The models of side tasks that are not the chosen one.
pub(crate) fn auxiliary(
    loaded: &Loaded,
    base: &ProviderRequest,
    warnings: &mut Vec<String>,
) -> BTreeMap<Task, Arc<Model>> {
    let lookup = |name: &str| loaded.variable(name).map(str::to_owned);
    let mut models = BTreeMap::new();
    for task in [
        Task::Compression,
        Task::GoalJudge,
        Task::Approval,
        Task::BackgroundReview,
        Task::WebExtract,
        Task::Vision,
        Task::Mcp,
    ] {
        let Some(config) = loaded.config.auxiliary.get(task.as_str()) else {
            continue;
        };
        if !is_elsewhere(config) {
            continue;
        }
        match resolve(&side(loaded, base, config), &lookup) {
            Ok(endpoint) => {
                models.insert(task, model(endpoint));
            }
            Err(error) => warnings.push(format!("auxiliary.{} is not used: {error}", task.as_str())),
        }
    }
    models
}

/// The model of subagents, when it is not the session's own.
pub(crate) fn delegation(
    loaded: &Loaded,
    base: &ProviderRequest,
    warnings: &mut Vec<String>,
) -> Option<Arc<Model>> {
    let config = &loaded.config.delegation;
    let effort = config
        .reasoning_effort
        .as_deref()
        .and_then(|effort| effort.parse().ok());
    let own = AuxiliaryConfig {
        provider: config.provider.clone().unwrap_or_default(),
        model: config.model.clone().unwrap_or_default(),
        base_url: config.base_url.clone(),
        api_key: config.api_key.clone(),
        ..AuxiliaryConfig::default()
    };
    if !is_elsewhere(&own) && effort.is_none() {
        return None;
    }
    let mut request = side(loaded, base, &own);
    request.effort = effort.or(request.effort);
    request.api_mode = config.api_mode.or(request.api_mode);
    let lookup = |name: &str| loaded.variable(name).map(str::to_owned);
    match resolve(&request, &lookup) {
        Ok(endpoint) => Some(model(endpoint)),
        Err(error) => {
            warnings.push(format!("delegation.model is not used: {error}"));
            None
        }
    }
}

/// A side task has a model of its own.
fn is_elsewhere(config: &AuxiliaryConfig) -> bool {
    let same = config.model.is_empty() && config.base_url.is_none();
    !(same && matches!(config.provider.as_str(), "" | "auto" | "main"))
}

/// A side task's model: what it does not say is the chosen model's.
fn side(loaded: &Loaded, base: &ProviderRequest, config: &AuxiliaryConfig) -> ProviderRequest {
    let main = chosen(loaded, base);
    let elsewhere = config.base_url.is_some() || !matches!(config.provider.as_str(), "" | "auto" | "main");
    let mut request = ProviderRequest {
        model: (!config.model.is_empty())
            .then(|| config.model.clone())
            .or(main.model),
        context_length: if config.model.is_empty() {
            main.context_length
        } else {
            None
        },
        ..base.clone()
    };
    if elsewhere {
        request.provider = Some(config.provider.clone())
            .filter(|provider| !matches!(provider.as_str(), "" | "auto" | "main"));
        request.base_url.clone_from(&config.base_url);
        request.api_key = config.api_key.clone();
        complete(loaded, &mut request);
    } else {
        request.provider = main.provider;
        request.base_url = main.base_url;
        request.api_key = config.api_key.clone().or(main.api_key);
        request.key_env = main.key_env;
        request.api_mode = main.api_mode;
    }
    request
}

/// The model a turn would ask, for faces that only want to say so; opens nothing.
///
/// # Errors
/// When there is no provider or no credential for it.
pub fn chosen_model(loaded: &Loaded) -> Result<ModelIdentity, EngineError> {
    let lookup = |name: &str| loaded.variable(name).map(str::to_owned);
    resolve(&chosen(loaded, &common(loaded)), &lookup)
        .map(|endpoint| endpoint.identity)
        .map_err(|error| unresolved(&error))
}

/// Every model the configuration names, by where it is named, for whoever tests them; opens nothing.
pub fn configured_models(loaded: &Loaded) -> Vec<(String, Result<Endpoint, EngineError>)> {
    let lookup = |name: &str| loaded.variable(name).map(str::to_owned);
    let (base, _) = base(loaded);
    let config = &loaded.config;
    let mut requests = vec![("model".to_owned(), chosen(loaded, &base))];
    for (index, entry) in config.fallback_providers.iter().enumerate() {
        requests.push((
            format!("fallback_providers.{index}"),
            fallback(loaded, &base, entry),
        ));
    }
    for (task, entry) in config.auxiliary.iter().filter(|(_, entry)| is_elsewhere(entry)) {
        requests.push((format!("auxiliary.{task}"), side(loaded, &base, entry)));
    }
    let resolved = requests.into_iter().map(|(name, request)| {
        (
            name,
            resolve(&request, &lookup).map_err(|error| unresolved(&error)),
        )
    });
    resolved.collect()
}

fn unresolved(error: &ResolveError) -> EngineError {
    match error {
        ResolveError::NoProvider
        | ResolveError::NoKey { .. }
        | ResolveError::NotLoggedIn { .. }
        | ResolveError::NoCloud { .. } => EngineError::NoProvider(error.to_string()),
        ResolveError::NoAddress { .. }
        | ResolveError::BadAddress { .. }
        | ResolveError::NoModel { .. }
        | ResolveError::UnknownProvider { .. } => EngineError::Usage(error.to_string()),
    }
}

fn model(endpoint: Endpoint) -> Arc<Model> {
    Arc::new(Model {
        catalogue: endpoint.catalogue.clone(),
        max_output: endpoint.max_output_tokens,
        is_free: endpoint.is_free(),
        takes_prefill: endpoint.takes_prefill(),
        provider: connect(endpoint),
    })
}

/// `model`, with what `providers.<id>` says about its provider.
fn chosen(loaded: &Loaded, base: &ProviderRequest) -> ProviderRequest {
    let config = &loaded.config.model;
    let named = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let mut request = ProviderRequest {
        provider: named(&config.provider),
        model: named(&config.default),
        base_url: config.base_url.clone(),
        api_key: config.api_key.clone(),
        key_env: config.key_env.clone(),
        api_mode: config.api_mode,
        context_length: config.context_length,
        max_tokens: config.max_tokens,
        ..base.clone()
    };
    complete(loaded, &mut request);
    request
}

fn fallback(loaded: &Loaded, base: &ProviderRequest, entry: &FallbackConfig) -> ProviderRequest {
    let mut request = ProviderRequest {
        provider: Some(entry.provider.clone()),
        model: Some(entry.model.clone()),
        base_url: entry.base_url.clone(),
        api_key: entry.api_key.clone(),
        key_env: entry.key_env.clone(),
        api_mode: entry.api_mode,
        context_length: entry.context_length,
        ..base.clone()
    };
    complete(loaded, &mut request);
    request
}

/// What holds for every model, catalogue and log included, and what the person should know about these.
pub(crate) fn base(loaded: &Loaded) -> (ProviderRequest, Vec<String>) {
    let (catalogue, mut warnings) =
        talaria_providers::catalogue::update::layered(&loaded.home.fetched_models(), &loaded.home.models());
    let open = |path: &PathBuf| match HttpLog::open(path) {
        Ok(log) => Some(Arc::new(log)),
        Err(error) => {
            warnings.push(format!(
                "--debug-http {}: {error}; nothing is written down",
                path.display()
            ));
            None
        }
    };
    let debug = loaded.debug_http.as_ref().and_then(open);
    let base = ProviderRequest {
        debug,
        catalogue: Some(catalogue),
        ..common(loaded)
    };
    (base, warnings)
}

/// What the configuration says for every model.
fn common(loaded: &Loaded) -> ProviderRequest {
    let config = &loaded.config;
    let ca_bundle = loaded
        .variable(env::HERMES_CA_BUNDLE)
        .or_else(|| loaded.variable(env::SSL_CERT_FILE));
    let stale = loaded
        .variable(env::HERMES_STREAM_STALE_TIMEOUT)
        .and_then(|seconds| seconds.parse().ok());
    let strategies = config.credential_pool_strategies.iter();
    let strategies = strategies.filter_map(|(provider, name)| Some((provider.clone(), name.parse().ok()?)));
    ProviderRequest {
        user_home: std::env::home_dir(),
        auth_file: Some(loaded.home.auth_file()),
        pool_strategies: strategies.collect(),
        effort: config
            .agent
            .reasoning_effort
            .as_deref()
            .and_then(|effort| effort.parse().ok()),
        stale_timeout: stale.map(Duration::from_secs),
        local_stale_timeout: Some(Duration::from_secs(config.agent.local_stream_stale_timeout)),
        long_cache: config.prompt_caching.cache_ttl == "1h",
        window_cache: Some(loaded.home.window_cache()),
        images: loaded.home.images(),
        ca_bundle: ca_bundle.map(PathBuf::from),
        ..ProviderRequest::default()
    }
}

/// Adds what the configuration says about a provider of its own
/// (`providers.<id>`, also written `custom:<id>`).
fn complete(loaded: &Loaded, request: &mut ProviderRequest) {
    let Some(name) = request.provider.clone() else {
        return;
    };
    let id = name.strip_prefix("custom:").unwrap_or(&name);
    let Some(own) = loaded.config.providers.get(id) else {
        return;
    };
    request.base_url = request.base_url.take().or_else(|| own.base_url.clone());
    request.api_key = request.api_key.take().or_else(|| own.api_key.clone());
    request.key_env = request.key_env.take().or_else(|| own.key_env.clone());
    request.api_mode = request.api_mode.or(own.api_mode);
    request.model = request.model.take().or_else(|| own.default_model.clone());
    let model = request.model.as_deref().unwrap_or_default();
    let window = own
        .model_context_lengths
        .get(model)
        .copied()
        .or(own.context_length);
    request.context_length = request.context_length.or(window);
    request.stale_timeout = own
        .stale_timeout_seconds
        .map(Duration::from_secs)
        .or(request.stale_timeout);
}

/// The keys this program was given, to be hidden in what tools give back.
pub fn secrets(loaded: &Loaded) -> Vec<String> {
    use secrecy::ExposeSecret;
    let config = &loaded.config;
    let in_config = [&config.model.api_key].into_iter().flatten();
    let in_config = in_config
        .chain(
            config
                .providers
                .values()
                .filter_map(|provider| provider.api_key.as_ref()),
        )
        .chain(
            config
                .fallback_providers
                .iter()
                .filter_map(|entry| entry.api_key.as_ref()),
        )
        .chain(config.auxiliary.values().filter_map(|side| side.api_key.as_ref()))
        .chain(&config.delegation.api_key);
    let is_key = |name: &str| {
        let named = |provider: &talaria_config::ProviderConfig| provider.key_env.as_deref() == Some(name);
        ["KEY", "TOKEN", "SECRET", "PASSWORD"]
            .iter()
            .any(|end| name.ends_with(end))
            || config.providers.values().any(named)
    };
    let addresses = [&config.model.base_url].into_iter().flatten();
    let addresses = addresses
        .chain(
            config
                .providers
                .values()
                .filter_map(|provider| provider.base_url.as_ref()),
        )
        .chain(
            config
                .fallback_providers
                .iter()
                .filter_map(|entry| entry.base_url.as_ref()),
        )
        .chain(
            config
                .auxiliary
                .values()
                .filter_map(|side| side.base_url.as_ref()),
        );
    let in_addresses = addresses.flat_map(|url| talaria_redact::secrets_of_url(url));
    let in_environment = loaded
        .secrets
        .iter()
        .filter(|(name, _)| is_key(name))
        .map(|(_, value)| value);
    let in_pool = CredentialPool::secrets(loaded.home.auth_file());
    in_config
        .chain(in_environment)
        .chain(&in_pool)
        .map(|value| value.expose_secret().to_owned())
        .chain(in_addresses)
        .chain(crate::mcp::secrets(loaded))
        .collect()
}

/// How the tools of a session are set up.
pub(crate) fn tool_settings(shared: &Shared, session_id: &str, window: u64) -> ToolSettings {
    let config = &shared.loaded.config;
    ToolSettings {
        home: shared.loaded.home.root().to_owned(),
        session_id: session_id.to_owned(),
        cwd: shared.options.cwd.clone(),
        terminal_timeout_s: config.terminal.timeout,
        env_passthrough: config.terminal.env_passthrough.clone(),
        shell_init_files: config.terminal.shell_init_files.clone(),
        auto_source_bashrc: config.terminal.auto_source_bashrc,
        approval_mode: match config.approvals.mode.as_str() {
            "off" => approval::Mode::Off,
            "manual" => approval::Mode::Manual,
            _ => approval::Mode::Smart,
        },
        yolo: shared.options.yolo,
        deny: config.approvals.deny.clone(),
        allowlist: config.command_allowlist.clone(),
        read_max_chars: config.file_read_max_chars,
        hard_stop: config.tool_loop_guardrails.hard_stop_enabled,
        loop_warnings: config.tool_loop_guardrails.warnings_enabled,
        window,
        code: talaria_tools::CodeSettings {
            strict: config.code_execution.mode == "strict",
            timeout_s: config.code_execution.timeout,
            max_calls: config.code_execution.max_tool_calls,
        },
        secret_env: shared.loaded.secrets.keys().cloned().collect(),
    }
}

/// Where skills are looked for.
pub(crate) fn skill_roots(loaded: &Loaded, options: &EngineOptions) -> Roots {
    // What came with a repository is one of its rules.
    let project = (!options.ignore_rules).then(|| options.cwd.clone());
    roots_of_skills(loaded, project)
}

/// The same for a face, which knows its folder.
pub fn roots_of_skills(loaded: &Loaded, project: Option<PathBuf>) -> Roots {
    let environment = env::Environment::of_process();
    let person = environment.get(env::USER_HOME).map(PathBuf::from);
    let home = loaded.home.root();
    let external = loaded.config.skills.external_dirs.iter().map(|folder| {
        // A relative folder is seen from the home.
        home.join(talaria_config::expand_tilde(folder, &environment))
    });
    Roots {
        home: home.to_owned(),
        project,
        person,
        external: external.collect(),
        disabled: loaded.config.skills.disabled.clone(),
    }
}

/// When the curator puts skills away.
pub fn curator_settings(config: &CuratorConfig) -> CuratorSettings {
    CuratorSettings {
        enabled: config.enabled,
        interval_hours: config.interval_hours,
        stale_after_days: config.stale_after_days,
        archive_after_days: config.archive_after_days,
        keep: config.backup_keep,
    }
}

/// The counts of a session with these tools: what it cannot write is not looked for.
pub(crate) fn nudges(config: &Config, tools: &[ToolSpec]) -> Nudges {
    let every = |tool: &str, interval: u32| {
        let has = tools.iter().any(|spec| spec.name == tool);
        if has { interval } else { 0 }
    };
    Nudges::new(
        every("memory", config.memory.nudge_interval),
        every("skill_manage", config.skills.creation_nudge_interval),
    )
}
