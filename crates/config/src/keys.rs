//! Every key with one fixed name: where its value stands, what it may be, and
//! whether a project's file may set it.
//!
//! A key that is not here is kept in the file and ignored. A new setting is a
//! field of the schema, its default, and one line of [`KEYS`].

use std::sync::LazyLock;

use crate::slot::{Rule, Slot};
use crate::{Config, env};

/// What a project's `.hermes/config.yaml` may do with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Project {
    /// Nothing: it could widen what the agent may do, spend more, or send a key elsewhere.
    Never,
    /// Set it.
    Set,
    /// Set it to less than it was.
    Lower,
    /// Add to the list.
    Add,
}

/// One key.
pub(crate) struct Key {
    /// The dotted name.
    pub(crate) name: &'static str,
    /// Other names it is read under, after its own.
    pub(crate) also: &'static [&'static str],
    /// Where its value stands.
    pub(crate) slot: fn(&mut Config) -> Slot<'_>,
    /// What it may be.
    pub(crate) rule: Rule,
    /// What a project may do with it.
    pub(crate) project: Project,
    /// The variable that sets it.
    pub(crate) variable: Option<&'static str>,
}

const fn key(name: &'static str, slot: fn(&mut Config) -> Slot<'_>) -> Key {
    Key {
        name,
        also: &[],
        slot,
        rule: Rule::Any,
        project: Project::Never,
        variable: None,
    }
}

impl Key {
    const fn also(mut self, names: &'static [&'static str]) -> Self {
        self.also = names;
        self
    }
    const fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }
    const fn least(self, least: u64) -> Self {
        self.rule(Rule::AtLeast(least))
    }
    const fn project(mut self, project: Project) -> Self {
        self.project = project;
        self
    }
    const fn variable(mut self, name: &'static str) -> Self {
        self.variable = Some(name);
        self
    }
}

/// The key of that name, or of that other name.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter()
        .find(|key| key.name == name || key.also.contains(&name))
}

/// Sections whose keys are not fixed; see the records.
pub(crate) const RECORDS: [&str; 8] = [
    "providers",
    "custom_providers",
    "fallback_providers",
    "fallback_model",
    "auxiliary",
    "credential_pool_strategies",
    "hooks",
    "mcp_servers",
];

/// All names and sections this program reads, for telling which ones it does not.
pub(crate) static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let names = KEYS
        .iter()
        .flat_map(|key| key.also.iter().chain(std::iter::once(&key.name)));
    names.copied().chain(RECORDS).collect()
});

const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const LEVELS: &[&str] = &["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];

/// The table.
pub(crate) static KEYS: &[Key] = &[
    key("model.default", |c| Slot::Text(&mut c.model.default))
        .also(&["model.model"])
        .project(Project::Set)
        .variable(env::HERMES_INFERENCE_MODEL),
    key("model.provider", |c| Slot::Text(&mut c.model.provider))
        .also(&["provider"])
        .variable(env::HERMES_INFERENCE_PROVIDER),
    key("model.base_url", |c| Slot::OptText(&mut c.model.base_url)).also(&["base_url"]),
    key("model.api_key", |c| Slot::Secret(&mut c.model.api_key)).also(&["api_key"]),
    key("model.key_env", |c| Slot::OptText(&mut c.model.key_env)).also(&["model.api_key_env"]),
    key("model.api_mode", |c| Slot::Mode(&mut c.model.api_mode)),
    key("model.context_length", |c| {
        Slot::OptU64(&mut c.model.context_length)
    })
    .least(1),
    key("model.max_tokens", |c| Slot::OptU64(&mut c.model.max_tokens)).least(1),
    key("agent.max_turns", |c| Slot::U32(&mut c.agent.max_turns))
        .also(&["max_turns"])
        .least(1)
        .project(Project::Lower)
        .variable(env::HERMES_MAX_ITERATIONS),
    key("agent.api_max_retries", |c| {
        Slot::U32(&mut c.agent.api_max_retries)
    })
    .least(1),
    key("agent.local_stream_stale_timeout", |c| {
        Slot::U64(&mut c.agent.local_stream_stale_timeout)
    })
    .least(1),
    key("agent.disabled_toolsets", |c| {
        Slot::Texts(&mut c.agent.disabled_toolsets)
    })
    .project(Project::Add),
    key("agent.reasoning_effort", |c| {
        Slot::OptText(&mut c.agent.reasoning_effort)
    })
    .rule(Rule::OneOf(EFFORTS))
    .project(Project::Set),
    key("agent.system_prompt", |c| {
        Slot::OptText(&mut c.agent.system_prompt)
    })
    .variable(env::HERMES_EPHEMERAL_SYSTEM_PROMPT),
    key("agent.tool_use_enforcement", |c| {
        Slot::Text(&mut c.agent.tool_use_enforcement)
    }),
    key("agent.clarify_timeout", |c| {
        Slot::U64(&mut c.agent.clarify_timeout)
    })
    .least(1),
    key("agent.image_input_mode", |c| {
        Slot::Text(&mut c.agent.image_input_mode)
    })
    .rule(Rule::OneOf(&["auto", "native", "text"])),
    key("compression.enabled", |c| Slot::Bool(&mut c.compression.enabled)).project(Project::Set),
    key("compression.threshold", |c| {
        Slot::Float(&mut c.compression.threshold)
    })
    .also(&["context.threshold_percent"])
    .rule(Rule::Share)
    .project(Project::Set),
    key("compression.target_ratio", |c| {
        Slot::Float(&mut c.compression.target_ratio)
    })
    .rule(Rule::Share)
    .project(Project::Set),
    key("compression.protect_first_n", |c| {
        Slot::Usize(&mut c.compression.protect_first_n)
    })
    .project(Project::Set),
    key("compression.protect_last_n", |c| {
        Slot::Usize(&mut c.compression.protect_last_n)
    })
    .project(Project::Set),
    key("compression.in_place", |c| {
        Slot::Bool(&mut c.compression.in_place)
    }),
    key("compression.min_tokens", |c| {
        Slot::U64(&mut c.compression.min_tokens)
    })
    .project(Project::Set),
    key("compression.strategy", |c| {
        Slot::Text(&mut c.compression.strategy)
    })
    .rule(Rule::OneOf(&["auto", "prefix", "serialized"])),
    key("prompt_caching.cache_ttl", |c| {
        Slot::Text(&mut c.prompt_caching.cache_ttl)
    })
    .rule(Rule::OneOf(&["5m", "1h"])),
    key("memory.memory_enabled", |c| {
        Slot::Bool(&mut c.memory.memory_enabled)
    }),
    key("memory.user_profile_enabled", |c| {
        Slot::Bool(&mut c.memory.user_profile_enabled)
    }),
    key("memory.memory_char_limit", |c| {
        Slot::Usize(&mut c.memory.memory_char_limit)
    })
    .least(1),
    key("memory.user_char_limit", |c| {
        Slot::Usize(&mut c.memory.user_char_limit)
    })
    .least(1),
    key("memory.nudge_interval", |c| {
        Slot::U32(&mut c.memory.nudge_interval)
    }),
    key("memory.write_approval", |c| {
        Slot::Bool(&mut c.memory.write_approval)
    }),
    key("memory.provider", |c| Slot::Text(&mut c.memory.provider)),
    key("memory.command", |c| Slot::Texts(&mut c.memory.command)),
    key("memory.env_passthrough", |c| {
        Slot::Texts(&mut c.memory.env_passthrough)
    }),
    key("memory.base_url", |c| Slot::Text(&mut c.memory.base_url)),
    key("memory.workspace", |c| Slot::Text(&mut c.memory.workspace)),
    key("memory.user_id", |c| Slot::Text(&mut c.memory.user_id)),
    key("memory.agent_id", |c| Slot::Text(&mut c.memory.agent_id)),
    key("skills.creation_nudge_interval", |c| {
        Slot::U32(&mut c.skills.creation_nudge_interval)
    }),
    key("skills.external_dirs", |c| {
        Slot::Texts(&mut c.skills.external_dirs)
    }),
    key("skills.disabled", |c| Slot::Texts(&mut c.skills.disabled)).project(Project::Add),
    key("skills.write_approval", |c| {
        Slot::Bool(&mut c.skills.write_approval)
    }),
    key("curator.enabled", |c| Slot::Bool(&mut c.curator.enabled)),
    key("curator.interval_hours", |c| {
        Slot::U64(&mut c.curator.interval_hours)
    })
    .least(1),
    key("curator.stale_after_days", |c| {
        Slot::U64(&mut c.curator.stale_after_days)
    })
    .least(1),
    key("curator.archive_after_days", |c| {
        Slot::U64(&mut c.curator.archive_after_days)
    })
    .least(1),
    key("curator.backup.keep", |c| Slot::Usize(&mut c.curator.backup_keep)),
    // A sandbox that is not built must not silently become the person's own machine.
    key("terminal.backend", |c| Slot::Text(&mut c.terminal.backend))
        .rule(Rule::OneOf(&["local"]))
        .variable(env::TERMINAL_ENV),
    key("terminal.cwd", |c| Slot::Text(&mut c.terminal.cwd)).variable(env::TERMINAL_CWD),
    key("terminal.timeout", |c| Slot::U64(&mut c.terminal.timeout))
        .least(1)
        .project(Project::Set)
        .variable(env::TERMINAL_TIMEOUT),
    key("terminal.env_passthrough", |c| {
        Slot::Texts(&mut c.terminal.env_passthrough)
    }),
    key("terminal.shell_init_files", |c| {
        Slot::Texts(&mut c.terminal.shell_init_files)
    }),
    key("terminal.auto_source_bashrc", |c| {
        Slot::Bool(&mut c.terminal.auto_source_bashrc)
    }),
    key("approvals.mode", |c| Slot::Text(&mut c.approvals.mode))
        .rule(Rule::OneOf(&["manual", "smart", "off"])),
    key("approvals.timeout", |c| Slot::U64(&mut c.approvals.timeout)).least(1),
    key("approvals.cron_mode", |c| Slot::Text(&mut c.approvals.cron_mode))
        .rule(Rule::OneOf(&["deny", "approve"])),
    key("approvals.deny", |c| Slot::Texts(&mut c.approvals.deny)).project(Project::Add),
    key("command_allowlist", |c| Slot::Texts(&mut c.command_allowlist)),
    key("tool_loop_guardrails.warnings_enabled", |c| {
        Slot::Bool(&mut c.tool_loop_guardrails.warnings_enabled)
    }),
    key("tool_loop_guardrails.hard_stop_enabled", |c| {
        Slot::Bool(&mut c.tool_loop_guardrails.hard_stop_enabled)
    }),
    key("budget.per_turn_usd", |c| {
        Slot::OptFloat(&mut c.budget.per_turn_usd)
    })
    .rule(Rule::Money),
    key("budget.per_session_usd", |c| {
        Slot::OptFloat(&mut c.budget.per_session_usd)
    })
    .rule(Rule::Money),
    key("budget.per_day_usd", |c| {
        Slot::OptFloat(&mut c.budget.per_day_usd)
    })
    .rule(Rule::Money),
    key("display.streaming", |c| Slot::Bool(&mut c.display.streaming)).project(Project::Set),
    key("display.show_reasoning", |c| {
        Slot::Bool(&mut c.display.show_reasoning)
    })
    .project(Project::Set),
    key("display.bell_on_complete", |c| {
        Slot::Bool(&mut c.display.bell_on_complete)
    })
    .project(Project::Set),
    key("security.redact_secrets", |c| {
        Slot::Bool(&mut c.security.redact_secrets)
    })
    .variable(env::HERMES_REDACT_SECRETS),
    key("security.allow_private_urls", |c| {
        Slot::Bool(&mut c.security.allow_private_urls)
    })
    .variable(env::HERMES_ALLOW_PRIVATE_URLS),
    key("security.website_blocklist.enabled", |c| {
        Slot::Bool(&mut c.security.blocklist_enabled)
    }),
    key("security.website_blocklist.domains", |c| {
        Slot::Texts(&mut c.security.blocklist_domains)
    })
    .project(Project::Add),
    key("security.website_blocklist.shared_files", |c| {
        Slot::Texts(&mut c.security.blocklist_files)
    }),
    key("web.backend", |c| Slot::Text(&mut c.web.backend)),
    key("web.search_backend", |c| Slot::Text(&mut c.web.search_backend)),
    key("web.extract_char_limit", |c| {
        Slot::Usize(&mut c.web.extract_char_limit)
    })
    .least(2_000),
    key("cron.max_parallel_jobs", |c| {
        Slot::OptUsize(&mut c.cron.max_parallel_jobs)
    })
    .least(1),
    key("cron.script_timeout_seconds", |c| {
        Slot::U64(&mut c.cron.script_timeout_seconds)
    })
    .least(1),
    key("cron.output_retention", |c| {
        Slot::Usize(&mut c.cron.output_retention)
    }),
    key("cron.wrap_response", |c| Slot::Bool(&mut c.cron.wrap_response)),
    key("cron.deliver_command", |c| {
        Slot::Text(&mut c.cron.deliver_command)
    }),
    key("sessions.auto_prune", |c| Slot::Bool(&mut c.sessions.auto_prune)),
    key("sessions.retention_days", |c| {
        Slot::U64(&mut c.sessions.retention_days)
    })
    .least(1),
    key("session_reset.mode", |c| Slot::Text(&mut c.session_reset.mode))
        .rule(Rule::OneOf(&["none", "idle", "daily", "both"])),
    key("session_reset.at_hour", |c| {
        Slot::U32(&mut c.session_reset.at_hour)
    })
    .rule(Rule::AtMost(23)),
    key("session_reset.idle_minutes", |c| {
        Slot::U64(&mut c.session_reset.idle_minutes)
    })
    .least(1),
    key("tools.tool_search.enabled", |c| {
        Slot::Text(&mut c.tool_search.enabled)
    })
    .rule(Rule::OneOf(&["auto", "true", "false"])),
    key("tools.tool_search.threshold_pct", |c| {
        Slot::Float(&mut c.tool_search.threshold_pct)
    }),
    key("goals.max_turns", |c| Slot::U32(&mut c.goals.max_turns)).least(1),
    key("delegation.provider", |c| {
        Slot::OptText(&mut c.delegation.provider)
    }),
    key("delegation.model", |c| Slot::OptText(&mut c.delegation.model)),
    key("delegation.base_url", |c| {
        Slot::OptText(&mut c.delegation.base_url)
    }),
    key("delegation.api_key", |c| Slot::Secret(&mut c.delegation.api_key)),
    key("delegation.api_mode", |c| Slot::Mode(&mut c.delegation.api_mode)),
    key("delegation.reasoning_effort", |c| {
        Slot::OptText(&mut c.delegation.reasoning_effort)
    }),
    key("delegation.inherit_mcp_toolsets", |c| {
        Slot::Bool(&mut c.delegation.inherit_mcp_toolsets)
    }),
    key("delegation.max_iterations", |c| {
        Slot::U32(&mut c.delegation.max_iterations)
    })
    .least(1)
    .project(Project::Lower),
    key("delegation.child_timeout_seconds", |c| {
        Slot::U64(&mut c.delegation.child_timeout_seconds)
    }),
    key("delegation.max_concurrent_children", |c| {
        Slot::Usize(&mut c.delegation.max_concurrent_children)
    })
    .least(1)
    .project(Project::Lower),
    key("delegation.max_spawn_depth", |c| {
        Slot::U32(&mut c.delegation.max_spawn_depth)
    })
    .rule(Rule::AtMost(3)),
    key("delegation.orchestrator_enabled", |c| {
        Slot::Bool(&mut c.delegation.orchestrator_enabled)
    }),
    key("delegation.subagent_auto_approve", |c| {
        Slot::Bool(&mut c.delegation.subagent_auto_approve)
    }),
    key("delegation.max_summary_chars", |c| {
        Slot::Usize(&mut c.delegation.max_summary_chars)
    })
    .least(200),
    key("code_execution.mode", |c| Slot::Text(&mut c.code_execution.mode))
        .rule(Rule::OneOf(&["project", "strict"])),
    key("code_execution.timeout", |c| {
        Slot::U64(&mut c.code_execution.timeout)
    })
    .least(1),
    key("code_execution.max_tool_calls", |c| {
        Slot::U32(&mut c.code_execution.max_tool_calls)
    })
    .least(1),
    key("logging.level", |c| Slot::Text(&mut c.logging.level)).rule(Rule::OneOf(LEVELS)),
    key("logging.max_size_mb", |c| Slot::U64(&mut c.logging.max_size_mb)).least(1),
    key("logging.backup_count", |c| Slot::U32(&mut c.logging.backup_count)),
    key("file_read_max_chars", |c| Slot::Usize(&mut c.file_read_max_chars))
        .least(1)
        .project(Project::Set),
    key("context.context_file_max_chars", |c| {
        Slot::OptUsize(&mut c.context_file_max_chars)
    })
    .least(1)
    .project(Project::Set),
    key("timezone", |c| Slot::Text(&mut c.timezone))
        .rule(Rule::Zone)
        .project(Project::Set)
        .variable(env::HERMES_TIMEZONE),
    key("hooks_auto_accept", |c| Slot::Bool(&mut c.hooks_auto_accept)).variable(env::HERMES_ACCEPT_HOOKS),
    key("hooks_files", |c| Slot::Texts(&mut c.hooks_files)),
    key("plugins.enabled", |c| Slot::Texts(&mut c.plugins.enabled)),
    key("plugins.disabled", |c| Slot::Texts(&mut c.plugins.disabled)).project(Project::Add),
    key("context.engine", |c| Slot::Text(&mut c.context_engine)),
    key("toolsets", |c| Slot::Texts(&mut c.toolsets)).also(&["platform_toolsets.cli"]),
];
