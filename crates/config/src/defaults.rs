//! The value of every key that nobody set.

use std::collections::BTreeMap;

use crate::{
    AgentConfig, ApprovalsConfig, CodeExecutionConfig, CompressionConfig, Config, CronConfig, CuratorConfig,
    DelegationConfig, DisplayConfig, GoalsConfig, GuardrailsConfig, LoggingConfig, MemoryConfig,
    PromptCachingConfig, SecurityConfig, SessionResetConfig, SessionsConfig, SkillsConfig, TerminalConfig,
    ToolSearchConfig, WebConfig,
};

impl Default for Config {
    fn default() -> Self {
        Self {
            model: crate::ModelConfig {
                provider: "auto".to_owned(),
                ..Default::default()
            },
            providers: BTreeMap::new(),
            credential_pool_strategies: BTreeMap::new(),
            fallback_providers: Vec::new(),
            auxiliary: BTreeMap::new(),
            agent: AgentConfig::default(),
            compression: CompressionConfig::default(),
            prompt_caching: PromptCachingConfig::default(),
            memory: MemoryConfig::default(),
            skills: SkillsConfig::default(),
            curator: CuratorConfig::default(),
            terminal: TerminalConfig::default(),
            approvals: ApprovalsConfig::default(),
            command_allowlist: Vec::new(),
            tool_loop_guardrails: GuardrailsConfig::default(),
            budget: crate::BudgetConfig::default(),
            display: DisplayConfig::default(),
            security: SecurityConfig::default(),
            web: WebConfig::default(),
            cron: CronConfig::default(),
            sessions: SessionsConfig::default(),
            session_reset: SessionResetConfig::default(),
            goals: GoalsConfig::default(),
            mcp_servers: BTreeMap::new(),
            tool_search: ToolSearchConfig::default(),
            delegation: DelegationConfig::default(),
            code_execution: CodeExecutionConfig::default(),
            logging: LoggingConfig::default(),
            file_read_max_chars: 100_000,
            context_file_max_chars: None,
            timezone: String::new(),
            hooks: BTreeMap::new(),
            hooks_auto_accept: false,
            hooks_files: Vec::new(),
            plugins: crate::PluginsConfig::default(),
            context_engine: "compressor".to_owned(),
            toolsets: Vec::new(),
        }
    }
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            max_turns: 90,
            api_max_retries: 3,
            local_stream_stale_timeout: 900,
            disabled_toolsets: Vec::new(),
            reasoning_effort: None,
            system_prompt: None,
            tool_use_enforcement: "auto".to_owned(),
            clarify_timeout: 3600,
            image_input_mode: "auto".to_owned(),
        }
    }
}

impl Default for CompressionConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            threshold: 0.50,
            target_ratio: 0.20,
            protect_first_n: 3,
            protect_last_n: 20,
            in_place: false,
            min_tokens: 64_000,
            strategy: "auto".to_owned(),
        }
    }
}

impl Default for PromptCachingConfig {
    fn default() -> Self {
        Self {
            cache_ttl: "5m".to_owned(),
        }
    }
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            memory_enabled: true,
            user_profile_enabled: true,
            memory_char_limit: 2_200,
            user_char_limit: 1_375,
            nudge_interval: 10,
            write_approval: false,
            provider: String::new(),
            command: Vec::new(),
            env_passthrough: Vec::new(),
            base_url: String::new(),
            workspace: String::new(),
            user_id: String::new(),
            agent_id: String::new(),
        }
    }
}

impl Default for SkillsConfig {
    fn default() -> Self {
        Self {
            creation_nudge_interval: 10,
            external_dirs: Vec::new(),
            disabled: Vec::new(),
            write_approval: false,
        }
    }
}

impl Default for CuratorConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            interval_hours: 168,
            stale_after_days: 30,
            archive_after_days: 90,
            backup_keep: 5,
        }
    }
}

impl Default for TerminalConfig {
    fn default() -> Self {
        Self {
            backend: "local".to_owned(),
            cwd: ".".to_owned(),
            timeout: 180,
            env_passthrough: Vec::new(),
            shell_init_files: Vec::new(),
            auto_source_bashrc: true,
        }
    }
}

impl Default for ApprovalsConfig {
    fn default() -> Self {
        Self {
            mode: "smart".to_owned(),
            timeout: 60,
            cron_mode: "deny".to_owned(),
            deny: Vec::new(),
        }
    }
}

impl Default for GuardrailsConfig {
    fn default() -> Self {
        Self {
            warnings_enabled: true,
            hard_stop_enabled: false,
        }
    }
}

impl Default for DisplayConfig {
    fn default() -> Self {
        Self {
            streaming: true,
            show_reasoning: false,
            bell_on_complete: false,
        }
    }
}

impl Default for SecurityConfig {
    fn default() -> Self {
        Self {
            redact_secrets: true,
            allow_private_urls: false,
            blocklist_enabled: false,
            blocklist_domains: Vec::new(),
            blocklist_files: Vec::new(),
        }
    }
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            backend: String::new(),
            search_backend: String::new(),
            extract_char_limit: 15_000,
        }
    }
}

impl Default for CronConfig {
    fn default() -> Self {
        Self {
            max_parallel_jobs: None,
            script_timeout_seconds: 120,
            output_retention: 50,
            wrap_response: true,
            deliver_command: String::new(),
        }
    }
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self {
            auto_prune: false,
            retention_days: 90,
        }
    }
}

impl Default for SessionResetConfig {
    fn default() -> Self {
        Self {
            // Who types `-c` wants that conversation; chat platforms are another matter.
            mode: "none".to_owned(),
            at_hour: 4,
            idle_minutes: 1_440,
        }
    }
}

impl Default for ToolSearchConfig {
    fn default() -> Self {
        Self {
            enabled: "auto".to_owned(),
            threshold_pct: 10.0,
        }
    }
}

impl Default for GoalsConfig {
    fn default() -> Self {
        Self { max_turns: 20 }
    }
}

impl Default for DelegationConfig {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            base_url: None,
            api_key: None,
            api_mode: None,
            reasoning_effort: None,
            inherit_mcp_toolsets: true,
            max_iterations: 50,
            child_timeout_seconds: 600,
            max_concurrent_children: 3,
            max_spawn_depth: 1,
            orchestrator_enabled: true,
            subagent_auto_approve: false,
            max_summary_chars: 24_000,
        }
    }
}

impl Default for CodeExecutionConfig {
    fn default() -> Self {
        Self {
            mode: "project".to_owned(),
            timeout: 300,
            max_tool_calls: 50,
        }
    }
}

impl Default for LoggingConfig {
    fn default() -> Self {
        Self {
            level: "INFO".to_owned(),
            max_size_mb: 5,
            backup_count: 3,
        }
    }
}
