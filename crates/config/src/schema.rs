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
    /// `credential_pool_strategies`: which credential of a provider is taken first.
    pub credential_pool_strategies: BTreeMap<String, String>,
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
    /// `command_allowlist`: kinds of dangerous commands that you allowed for good.
    pub command_allowlist: Vec<String>,
    /// `tool_loop_guardrails`.
    pub tool_loop_guardrails: GuardrailsConfig,
    /// `budget`.
    pub budget: BudgetConfig,
    /// `display`.
    pub display: DisplayConfig,
    /// `security`.
    pub security: SecurityConfig,
    /// `web`.
    pub web: WebConfig,
    /// `cron`.
    pub cron: CronConfig,
    /// `sessions`.
    pub sessions: SessionsConfig,
    /// `session_reset`.
    pub session_reset: SessionResetConfig,
    /// `goals`.
    pub goals: GoalsConfig,
    /// `mcp_servers.<name>`, as it is written: each entry is read by whoever speaks with the server.
    pub mcp_servers: BTreeMap<String, serde_json::Value>,
    /// `tools.tool_search`.
    pub tool_search: ToolSearchConfig,
    /// `delegation`.
    pub delegation: DelegationConfig,
    /// `code_execution`.
    pub code_execution: CodeExecutionConfig,
    /// `logging`.
    pub logging: LoggingConfig,
    /// `file_read_max_chars`: the most characters one `read_file` gives.
    pub file_read_max_chars: usize,
    /// `context.context_file_max_chars`: the most characters of AGENTS.md and the like that the prompt holds;
    /// by the window when empty.
    pub context_file_max_chars: Option<usize>,
    /// `timezone`: the zone of the dates that the model reads, such as `Europe/Berlin`; the system's own when
    /// empty.
    pub timezone: String,
    /// `hooks.<event>`: commands that are told of what happens; see docs/hooks.md.
    pub hooks: BTreeMap<String, Vec<HookConfig>>,
    /// `hooks_auto_accept`: take the hooks of this file as allowed without asking (false). Those that come with a
    /// project are asked about all the same.
    pub hooks_auto_accept: bool,
    /// `hooks_files`: hook files of other programs that are read too, such as `~/.claude/settings.json`;
    /// `talaria hooks import` adds to it.
    pub hooks_files: Vec<String>,
    /// `plugins`.
    pub plugins: PluginsConfig,
    /// `context.engine`: what compresses conversations: `compressor`, which is built in, or the name of an enabled
    /// plugin that brings a context engine.
    pub context_engine: String,
    /// `toolsets`: the sets of tools that sessions have; every one when empty. Also read as
    /// `platform_toolsets.cli`.
    pub toolsets: Vec<String>,
}

/// `model`.
#[derive(Clone, Debug, Default)]
pub struct ModelConfig {
    /// `default`: the model's id.
    pub default: String,
    /// `provider`; `auto` finds one that has a credential.
    pub provider: String,
    /// `base_url`: the address of the API; a server of your own, or of the provider when empty.
    pub base_url: Option<String>,
    /// `api_key`: better kept in `.env`, or named by `model.key_env`.
    pub api_key: Option<SecretString>,
    /// `key_env`: the variable that holds the key.
    pub key_env: Option<String>,
    /// `api_mode`: the protocol (`chat_completions`, `anthropic_messages`, `codex_responses` or `gemini`),
    /// where the provider and the address do not tell.
    pub api_mode: Option<ApiMode>,
    /// `context_length`: the window in tokens; asked of the server and looked up when empty.
    pub context_length: Option<u64>,
    /// `max_tokens`: the most output of one answer, in tokens.
    pub max_tokens: Option<u64>,
}

/// `providers.<id>`.
#[derive(Clone, Debug, Default)]
pub struct ProviderConfig {
    /// `base_url`, also written `url` and `api`: the address of the API.
    pub base_url: Option<String>,
    /// `api_key`: its key.
    pub api_key: Option<SecretString>,
    /// `key_env`, also written `api_key_env`: the variable that holds the key.
    pub key_env: Option<String>,
    /// `api_mode`, also written `transport`: the protocol, as in `model.api_mode`.
    pub api_mode: Option<ApiMode>,
    /// `default_model`, also written `model`: what is asked for when no model is chosen.
    pub default_model: Option<String>,
    /// `context_length`: the window of its models in tokens, where `models.<m>.context_length` says nothing
    /// else.
    pub context_length: Option<u64>,
    /// `models.<m>.context_length`: the window of one of its models in tokens.
    pub model_context_lengths: BTreeMap<String, u64>,
    /// `request_timeout_seconds`: how long a request may take to begin its answer, in seconds.
    pub request_timeout_seconds: Option<u64>,
    /// `stale_timeout_seconds`: how long an answer may be silent before it is cut, in seconds.
    pub stale_timeout_seconds: Option<u64>,
}

/// One of `fallback_providers`.
#[derive(Clone, Debug, Default)]
pub struct FallbackConfig {
    /// `provider`: the provider's id.
    pub provider: String,
    /// `model`, also written `default`: the model's id.
    pub model: String,
    /// `base_url`, also written `url`: the address of the API.
    pub base_url: Option<String>,
    /// `api_key`: its key.
    pub api_key: Option<SecretString>,
    /// `key_env`, also written `api_key_env`: the variable that holds the key.
    pub key_env: Option<String>,
    /// `api_mode`, also written `transport`: the protocol, as in `model.api_mode`.
    pub api_mode: Option<ApiMode>,
    /// `context_length`: the window in tokens.
    pub context_length: Option<u64>,
}

/// `auxiliary.<task>`.
#[derive(Clone, Debug, Default)]
pub struct AuxiliaryConfig {
    /// `enabled`: whether the task is done at all (`title_generation` and `web_extract` only).
    pub enabled: Option<bool>,
    /// `provider`; `auto` is the main one.
    pub provider: String,
    /// `model`; empty is the main one.
    pub model: String,
    /// `base_url`: the address of the API.
    pub base_url: Option<String>,
    /// `api_key`: its key.
    pub api_key: Option<SecretString>,
    /// `timeout`: how long the task may take, in seconds.
    pub timeout: Option<u64>,
}

/// One of `hooks.<event>`.
#[derive(Clone, Debug, Default)]
pub struct HookConfig {
    /// `command`: what runs, as words; quotes hold words together, there is no shell.
    pub command: String,
    /// `matcher`: for events of a tool: the tools it is for, as a regular expression of the whole name.
    pub matcher: Option<String>,
    /// `timeout`: how long it may take, in seconds (60); 300 at most.
    pub timeout: Option<u64>,
    /// `on_failure`: `block` when a hook that gives no answer refuses the tool call (`allow`).
    pub on_failure: Option<String>,
}

/// `plugins`.
#[derive(Clone, Debug, Default)]
pub struct PluginsConfig {
    /// `enabled`: the plugins that are started; the others are not.
    pub enabled: Vec<String>,
    /// `disabled`: plugins that are never started, whatever else names them.
    pub disabled: Vec<String>,
}

/// `agent`.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// `max_turns`: model calls of one turn (90).
    pub max_turns: u32,
    /// `api_max_retries`: how often a failed request is tried again (3).
    pub api_max_retries: u32,
    /// `local_stream_stale_timeout`: how long a server on this machine may be silent within an answer, in
    /// seconds (900).
    pub local_stream_stale_timeout: u64,
    /// `disabled_toolsets`: sets of tools that no session gets.
    pub disabled_toolsets: Vec<String>,
    /// `reasoning_effort`: how much a thinking model thinks (`none`, `minimal`, `low`, `medium`, `high`,
    /// `xhigh`, `max`).
    pub reasoning_effort: Option<String>,
    /// `system_prompt`: added to the system prompt; a session keeps the one it began with until it is
    /// compressed.
    pub system_prompt: Option<String>,
    /// `tool_use_enforcement`: whether the prompt insists on tools: `auto` (for models that need it), `true`,
    /// `false`.
    pub tool_use_enforcement: String,
    /// `clarify_timeout`: how long a question of the model waits for you, in seconds (3 600).
    pub clarify_timeout: u64,
    /// `image_input_mode`: `native` sends pictures to the model, `text` has `auxiliary.vision` describe them,
    /// `auto` goes by what is known of the model.
    pub image_input_mode: String,
}

/// `compression`.
#[derive(Clone, Debug)]
pub struct CompressionConfig {
    /// `enabled`: compress by itself before the window is full (true).
    pub enabled: bool,
    /// `threshold`: the share of the window at which it begins (0.50). Also read as
    /// `context.threshold_percent`.
    pub threshold: f64,
    /// `target_ratio`: the share of the threshold that stays word for word at the end (0.20).
    pub target_ratio: f64,
    /// `protect_first_n`: messages after the system prompt that the first compression leaves alone (3).
    pub protect_first_n: usize,
    /// `protect_last_n`: newest messages that are not pruned (20).
    pub protect_last_n: usize,
    /// `in_place`: go on in the same session instead of a new one that continues it (false).
    pub in_place: bool,
    /// `min_tokens`: no compression by itself below this size, in tokens, where the window is larger (64 000).
    pub min_tokens: u64,
    /// `strategy`: what the summariser is sent: the session's own `prefix`, which the provider has cached, the
    /// conversation `serialized`, or `auto`.
    pub strategy: String,
}

/// `prompt_caching`.
#[derive(Clone, Debug)]
pub struct PromptCachingConfig {
    /// `cache_ttl`: how long Anthropic keeps the prompt: `5m` or `1h`.
    pub cache_ttl: String,
}

/// `memory`.
#[derive(Clone, Debug)]
pub struct MemoryConfig {
    /// `memory_enabled`: keep MEMORY.md (true).
    pub memory_enabled: bool,
    /// `user_profile_enabled`: keep USER.md (true).
    pub user_profile_enabled: bool,
    /// `memory_char_limit`: the most characters of MEMORY.md (2 200).
    pub memory_char_limit: usize,
    /// `user_char_limit`: the most characters of USER.md (1 375).
    pub user_char_limit: usize,
    /// `nudge_interval`: turns of yours without a memory after which the conversation is reviewed (10); 0 is
    /// never.
    pub nudge_interval: u32,
    /// `write_approval`: what the model wants to remember waits for your word (false).
    pub write_approval: bool,
    /// `provider`: an external memory beside the two files: local, process, mem0 or honcho.
    pub provider: String,
    /// `command`: the program and its arguments of the provider process.
    pub command: Vec<String>,
    /// `env_passthrough`: variables of yours that this program may see.
    pub env_passthrough: Vec<String>,
    /// `base_url`: another address of mem0 or honcho.
    pub base_url: String,
    /// `workspace`: the workspace at honcho (hermes).
    pub workspace: String,
    /// `user_id`: under which name a service knows you (hermes-user).
    pub user_id: String,
    /// `agent_id`: under which name it knows the agent (hermes).
    pub agent_id: String,
}

/// `skills`.
#[derive(Clone, Debug)]
pub struct SkillsConfig {
    /// `creation_nudge_interval`: model calls without a skill written after which the work is reviewed (10); 0
    /// is never.
    pub creation_nudge_interval: u32,
    /// `external_dirs`: further folders of skills, only read.
    pub external_dirs: Vec<String>,
    /// `disabled`: skills that are not offered.
    pub disabled: Vec<String>,
    /// `write_approval`: what the model wants to write as a skill waits for your word (false).
    pub write_approval: bool,
}

/// `curator`: puts away skills the agent made itself and nobody uses.
#[derive(Clone, Debug)]
pub struct CuratorConfig {
    /// `enabled`: put skills that nobody uses aside, now and then (true).
    pub enabled: bool,
    /// `interval_hours`: how often, in hours (168).
    pub interval_hours: u64,
    /// `stale_after_days`: days without use after which a learnt skill is called stale (30).
    pub stale_after_days: u64,
    /// `archive_after_days`: days without use after which it is archived; `talaria skills restore` brings it back (90).
    pub archive_after_days: u64,
    /// `backup.keep`: copies of all skills that are kept; 0 makes none (5).
    pub backup_keep: usize,
}

/// `terminal`.
#[derive(Clone, Debug)]
pub struct TerminalConfig {
    /// `backend`: where commands run; `local` is the only one (`local`).
    pub backend: String,
    /// `cwd`: the folder that tools begin in; `.` is where the program was started (`.`).
    pub cwd: String,
    /// `timeout`: how long a command may run in the foreground, in seconds (180).
    pub timeout: u64,
    /// `env_passthrough`: variables that commands get although they look like secrets.
    pub env_passthrough: Vec<String>,
    /// `shell_init_files`: files that the shell of commands reads first.
    pub shell_init_files: Vec<String>,
    /// `auto_source_bashrc`: read `~/.bashrc` first when no such file is named (true).
    pub auto_source_bashrc: bool,
}

/// `approvals`.
#[derive(Clone, Debug)]
pub struct ApprovalsConfig {
    /// `mode`: `manual` asks about every dangerous command, `smart` about those that are not plainly harmless,
    /// `off` about none.
    pub mode: String,
    /// `timeout`: how long a question waits before it is a no, in seconds (60).
    pub timeout: u64,
    /// `cron_mode`: what becomes of dangerous commands in scheduled runs, where nobody can be asked: `deny` or
    /// `approve`.
    pub cron_mode: String,
    /// `deny`: globs of commands that never run.
    pub deny: Vec<String>,
}

/// `tool_loop_guardrails`.
#[derive(Clone, Debug)]
pub struct GuardrailsConfig {
    /// `warnings_enabled`: tell the model when it goes in circles (true).
    pub warnings_enabled: bool,
    /// `hard_stop_enabled`: end a turn that goes in circles (false).
    pub hard_stop_enabled: bool,
}

/// `budget`, in US dollars.
#[derive(Clone, Debug, Default)]
pub struct BudgetConfig {
    /// `per_turn_usd`: the most one turn may cost, in US dollars.
    pub per_turn_usd: Option<f64>,
    /// `per_session_usd`: the most one session may cost, with all it continues.
    pub per_session_usd: Option<f64>,
    /// `per_day_usd`: the most one day may cost.
    pub per_day_usd: Option<f64>,
}

/// `display`.
#[derive(Clone, Debug)]
pub struct DisplayConfig {
    /// `streaming`: show the answer while it comes (true).
    pub streaming: bool,
    /// `show_reasoning`: show what the model thinks (false).
    pub show_reasoning: bool,
    /// `bell_on_complete`: ring when a turn ends (false).
    pub bell_on_complete: bool,
}

/// `security`.
#[derive(Clone, Debug)]
pub struct SecurityConfig {
    /// `redact_secrets`: cannot be switched off; here because Hermes has it (true).
    pub redact_secrets: bool,
    /// `allow_private_urls`: tools may read addresses of the local network (false).
    pub allow_private_urls: bool,
    /// `website_blocklist.enabled`: keep tools away from the sites below (false).
    pub blocklist_enabled: bool,
    /// `website_blocklist.domains`: sites that tools do not fetch, with their subdomains.
    pub blocklist_domains: Vec<String>,
    /// `website_blocklist.shared_files`: files with one such site a line; a relative one is seen from the home.
    pub blocklist_files: Vec<String>,
}

/// `web`.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// `backend`: the search service (`tavily`, `exa`, `searxng` or `brave`); the first one with a key when empty.
    pub backend: String,
    /// `search_backend`: the same; wins over `web.backend`.
    pub search_backend: String,
    /// `extract_char_limit`: the most characters of a page that `web_extract` gives where it does not summarise
    /// (15 000).
    pub extract_char_limit: usize,
}

/// `cron`.
#[derive(Clone, Debug)]
pub struct CronConfig {
    /// `max_parallel_jobs`: how many jobs run at the same time; all that are due when empty.
    pub max_parallel_jobs: Option<usize>,
    /// `script_timeout_seconds`: how long a job's script may run, in seconds (120).
    pub script_timeout_seconds: u64,
    /// `output_retention`: reports that are kept of each job; 0 keeps all (50).
    pub output_retention: usize,
    /// `wrap_response`: a report that is delivered names its job (true).
    pub wrap_response: bool,
    /// `deliver_command`: a shell command that gets the reports of jobs with `deliver: command` on standard input.
    pub deliver_command: String,
}

/// `sessions`.
#[derive(Clone, Debug)]
pub struct SessionsConfig {
    /// `auto_prune`: erase ended sessions that nobody used for long, once a day (false).
    pub auto_prune: bool,
    /// `retention_days`: how long is long, in days (90).
    pub retention_days: u64,
}

/// `session_reset`: when `-c` starts another session instead of going on.
#[derive(Clone, Debug)]
pub struct SessionResetConfig {
    /// `mode`: `none` (the default on a terminal), `idle`, `daily` or `both`.
    pub mode: String,
    /// `at_hour`: the hour of the day at which every conversation ends (4).
    pub at_hour: u32,
    /// `idle_minutes`: silence after which one ends (1 440).
    pub idle_minutes: u64,
}

/// `tools.tool_search`.
#[derive(Clone, Debug)]
pub struct ToolSearchConfig {
    /// `enabled`: whether the tools of servers and plugins are looked up instead of sent with every request:
    /// `auto` (when they are many), `true`, `false`.
    pub enabled: String,
    /// `threshold_pct`: how many are many: the part of the window that their schemas may take, in percent (10).
    pub threshold_pct: f64,
}

/// `goals`.
#[derive(Clone, Debug)]
pub struct GoalsConfig {
    /// `max_turns`: turns a standing goal gets before the person is asked (20).
    pub max_turns: u32,
}

/// `delegation`: subagents.
#[derive(Clone, Debug)]
pub struct DelegationConfig {
    /// `provider`: the provider of subagents; the session's own when empty.
    pub provider: Option<String>,
    /// `model`: the model of subagents; the session's own when empty.
    pub model: Option<String>,
    /// `base_url`: the address of the provider of subagents.
    pub base_url: Option<String>,
    /// `api_key`: its key.
    pub api_key: Option<SecretString>,
    /// `api_mode`: the protocol it speaks.
    pub api_mode: Option<ApiMode>,
    /// `reasoning_effort`: how much subagents think; as the session when empty.
    pub reasoning_effort: Option<String>,
    /// `inherit_mcp_toolsets`: a subagent with a list of toolsets has the session's MCP tools too (true).
    pub inherit_mcp_toolsets: bool,
    /// `max_iterations`: model calls of one subagent (50).
    pub max_iterations: u32,
    /// `child_timeout_seconds`: how long one may take, at least 30; 0 is no limit (600).
    pub child_timeout_seconds: u64,
    /// `max_concurrent_children`: how many run at the same time (3).
    pub max_concurrent_children: usize,
    /// `max_spawn_depth`: how deep subagents may start subagents, at most 3 (1: not at all).
    pub max_spawn_depth: u32,
    /// `orchestrator_enabled`: a subagent may be told to start others, as far as the depth allows (true).
    pub orchestrator_enabled: bool,
    /// `subagent_auto_approve`: dangerous commands of subagents run; otherwise they are refused, because a
    /// subagent asks nobody (false).
    pub subagent_auto_approve: bool,
    /// `max_summary_chars`: the most characters of a subagent's answer that its parent reads (24 000).
    pub max_summary_chars: usize,
}

/// `code_execution`: scripts that call tools.
#[derive(Clone, Debug)]
pub struct CodeExecutionConfig {
    /// `mode`: `project` runs scripts in the session's folder with its virtual environment; `strict` in an empty
    /// one, without network where the system can keep it away.
    pub mode: String,
    /// `timeout`: how long a script may run, in seconds (300).
    pub timeout: u64,
    /// `max_tool_calls`: how many tools it may call (50).
    pub max_tool_calls: u32,
}

/// `logging`.
#[derive(Clone, Debug)]
pub struct LoggingConfig {
    /// `level`: `DEBUG`, `INFO`, `WARNING`, `ERROR` or `CRITICAL` (`INFO`).
    pub level: String,
    /// `max_size_mb`: the size at which a log file is put away, in megabytes (5).
    pub max_size_mb: u64,
    /// `backup_count`: how many of those are kept (3).
    pub backup_count: u32,
}
