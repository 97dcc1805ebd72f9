//! The schema: sections, keys, types and defaults.

use std::collections::BTreeMap;

use secrecy::SecretString;
use talaria_types::ApiMode;

/// Everything that can be set.
#[derive(Clone, Debug)]
pub struct Config {
    /// `model`.
    pub model: ModelConfig,
    /// `providers.<id>` and the legacy `custom_providers`.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// `fallback_providers`.
    pub fallback_providers: Vec<FallbackConfig>,
    /// `auxiliary.<task>`.
    pub auxiliary: BTreeMap<String, AuxiliaryConfig>,
    /// `agent`.
    pub agent: AgentConfig,
    /// `compression`.
    pub compression: CompressionConfig,
    /// `prompt_caching`.
    pub prompt_caching: PromptCachingConfig,
    /// `memory`.
    pub memory: MemoryConfig,
    /// `skills`.
    pub skills: SkillsConfig,
    /// `curator`.
    pub curator: CuratorConfig,
    /// `terminal`.
    pub terminal: TerminalConfig,
    /// `approvals`.
    pub approvals: ApprovalsConfig,
    /// `command_allowlist`.
    pub command_allowlist: Vec<String>,
    /// `tool_loop_guardrails`.
    pub tool_loop_guardrails: GuardrailsConfig,
    /// `budget`.
    pub budget: BudgetConfig,
    /// `display`.
    pub display: DisplayConfig,
    /// `security`.
    pub security: SecurityConfig,
    /// `sessions`.
    pub sessions: SessionsConfig,
    /// `logging`.
    pub logging: LoggingConfig,
    /// `file_read_max_chars`.
    pub file_read_max_chars: usize,
    /// `context.context_file_max_chars`.
    pub context_file_max_chars: Option<usize>,
    /// `timezone`; the system's own when empty.
    pub timezone: String,
    /// `toolsets`, or those of `platform_toolsets.cli`.
    pub toolsets: Vec<String>,
}

/// `model`.
#[derive(Clone, Debug, Default)]
pub struct ModelConfig {
    /// `default`: the model's id.
    pub default: String,
    /// `provider`; `auto` finds one that has a credential.
    pub provider: String,
    /// `base_url`.
    pub base_url: Option<String>,
    /// `api_key`.
    pub api_key: Option<SecretString>,
    /// `key_env`: the variable that holds the key.
    pub key_env: Option<String>,
    /// `api_mode`.
    pub api_mode: Option<ApiMode>,
    /// `context_length`, tokens.
    pub context_length: Option<u64>,
    /// `max_tokens`: the most output of one answer.
    pub max_tokens: Option<u64>,
}

/// `providers.<id>`.
#[derive(Clone, Debug, Default)]
pub struct ProviderConfig {
    /// `base_url`, also written `url` and `api`.
    pub base_url: Option<String>,
    /// `api_key`.
    pub api_key: Option<SecretString>,
    /// `key_env`, also written `api_key_env`.
    pub key_env: Option<String>,
    /// `api_mode`, also written `transport`.
    pub api_mode: Option<ApiMode>,
    /// `default_model`, also written `model`.
    pub default_model: Option<String>,
    /// `context_length` of the provider or of `models.<m>`.
    pub context_length: Option<u64>,
    /// `models.<m>.context_length`.
    pub model_context_lengths: BTreeMap<String, u64>,
    /// `request_timeout_seconds`.
    pub request_timeout_seconds: Option<u64>,
    /// `stale_timeout_seconds`.
    pub stale_timeout_seconds: Option<u64>,
}

/// One of `fallback_providers`.
#[derive(Clone, Debug, Default)]
pub struct FallbackConfig {
    /// `provider`.
    pub provider: String,
    /// `model`.
    pub model: String,
    /// `base_url`.
    pub base_url: Option<String>,
    /// `api_key`.
    pub api_key: Option<SecretString>,
    /// `key_env`.
    pub key_env: Option<String>,
    /// `api_mode`.
    pub api_mode: Option<ApiMode>,
    /// `context_length`.
    pub context_length: Option<u64>,
}

/// `auxiliary.<task>`.
#[derive(Clone, Debug, Default)]
pub struct AuxiliaryConfig {
    /// `enabled` (of `title_generation`).
    pub enabled: Option<bool>,
    /// `provider`; `auto` is the main one.
    pub provider: String,
    /// `model`; empty is the main one.
    pub model: String,
    /// `base_url`.
    pub base_url: Option<String>,
    /// `api_key`.
    pub api_key: Option<SecretString>,
    /// `timeout`, seconds.
    pub timeout: Option<u64>,
}

/// `agent`.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// `max_turns`: model calls of one turn (90).
    pub max_turns: u32,
    /// `api_max_retries` (3).
    pub api_max_retries: u32,
    /// `local_stream_stale_timeout`, seconds (900).
    pub local_stream_stale_timeout: u64,
    /// `disabled_toolsets`.
    pub disabled_toolsets: Vec<String>,
    /// `reasoning_effort`.
    pub reasoning_effort: Option<String>,
    /// `system_prompt`: added to the request, never to the stored prompt.
    pub system_prompt: Option<String>,
    /// `tool_use_enforcement`.
    pub tool_use_enforcement: String,
    /// `clarify_timeout`, seconds.
    pub clarify_timeout: u64,
}

/// `compression`.
#[derive(Clone, Debug)]
pub struct CompressionConfig {
    /// `enabled` (true).
    pub enabled: bool,
    /// `threshold`, a share of the window (0.50); also `context.threshold_percent`.
    pub threshold: f64,
    /// `target_ratio`, the tail's share of the threshold (0.20).
    pub target_ratio: f64,
    /// `protect_first_n` (3).
    pub protect_first_n: usize,
    /// `protect_last_n` (20).
    pub protect_last_n: usize,
    /// `in_place` (false here: a compression starts a new session).
    pub in_place: bool,
    /// `min_tokens` (64 000).
    pub min_tokens: u64,
    /// `strategy`: `auto`, `prefix` or `serialized`.
    pub strategy: String,
}

/// `prompt_caching`.
#[derive(Clone, Debug)]
pub struct PromptCachingConfig {
    /// `cache_ttl`: `5m` or `1h`.
    pub cache_ttl: String,
}

/// `memory`.
#[derive(Clone, Debug)]
pub struct MemoryConfig {
    /// `memory_enabled` (true).
    pub memory_enabled: bool,
    /// `user_profile_enabled` (true).
    pub user_profile_enabled: bool,
    /// `memory_char_limit` (2 200).
    pub memory_char_limit: usize,
    /// `user_char_limit` (1 375).
    pub user_char_limit: usize,
    /// `nudge_interval` (10); 0 is never.
    pub nudge_interval: u32,
    /// `write_approval` (false).
    pub write_approval: bool,
    /// `provider`.
    pub provider: String,
}

/// `skills`.
#[derive(Clone, Debug)]
pub struct SkillsConfig {
    /// `creation_nudge_interval` (10); 0 is never.
    pub creation_nudge_interval: u32,
    /// `external_dirs`.
    pub external_dirs: Vec<String>,
    /// `disabled`.
    pub disabled: Vec<String>,
    /// `write_approval` (false).
    pub write_approval: bool,
}

/// `curator`: puts away skills the agent made itself and nobody uses.
#[derive(Clone, Debug)]
pub struct CuratorConfig {
    /// `enabled` (true).
    pub enabled: bool,
    /// `interval_hours` (168).
    pub interval_hours: u64,
    /// `stale_after_days` (30).
    pub stale_after_days: u64,
    /// `archive_after_days` (90).
    pub archive_after_days: u64,
    /// `backup.keep` (5): copies of all skills that are kept; 0 makes none.
    pub backup_keep: usize,
}

/// `terminal`.
#[derive(Clone, Debug)]
pub struct TerminalConfig {
    /// `backend` (`local`).
    pub backend: String,
    /// `cwd` (`.`).
    pub cwd: String,
    /// `timeout`, seconds (180).
    pub timeout: u64,
    /// `env_passthrough`.
    pub env_passthrough: Vec<String>,
    /// `shell_init_files`.
    pub shell_init_files: Vec<String>,
    /// `auto_source_bashrc` (true).
    pub auto_source_bashrc: bool,
}

/// `approvals`.
#[derive(Clone, Debug)]
pub struct ApprovalsConfig {
    /// `mode`: `manual`, `smart` or `off`.
    pub mode: String,
    /// `timeout`, seconds (60).
    pub timeout: u64,
    /// `deny`: globs of commands that never run.
    pub deny: Vec<String>,
}

/// `tool_loop_guardrails`.
#[derive(Clone, Debug)]
pub struct GuardrailsConfig {
    /// `warnings_enabled` (true).
    pub warnings_enabled: bool,
    /// `hard_stop_enabled` (false).
    pub hard_stop_enabled: bool,
}

/// `budget`, in US dollars.
#[derive(Clone, Debug, Default)]
pub struct BudgetConfig {
    /// `per_turn_usd`.
    pub per_turn_usd: Option<f64>,
    /// `per_session_usd`.
    pub per_session_usd: Option<f64>,
    /// `per_day_usd`.
    pub per_day_usd: Option<f64>,
}

/// `display`.
#[derive(Clone, Debug)]
pub struct DisplayConfig {
    /// `streaming` (true).
    pub streaming: bool,
    /// `show_reasoning` (false).
    pub show_reasoning: bool,
    /// `bell_on_complete` (false).
    pub bell_on_complete: bool,
}

/// `security`.
#[derive(Clone, Debug)]
pub struct SecurityConfig {
    /// `redact_secrets` (true).
    pub redact_secrets: bool,
    /// `allow_private_urls` (false).
    pub allow_private_urls: bool,
}

/// `sessions`.
#[derive(Clone, Debug)]
pub struct SessionsConfig {
    /// `auto_prune` (false).
    pub auto_prune: bool,
    /// `retention_days` (90).
    pub retention_days: u64,
}

/// `logging`.
#[derive(Clone, Debug)]
pub struct LoggingConfig {
    /// `level` (`INFO`).
    pub level: String,
    /// `max_size_mb` (5).
    pub max_size_mb: u64,
    /// `backup_count` (3).
    pub backup_count: u32,
}
