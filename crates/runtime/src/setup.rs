//! Turns a configuration into models and tool settings.

use std::sync::Arc;

use talaria_config::Loaded;
use talaria_tools::{ToolSettings, approval};

use crate::EngineError;
use crate::engine::Shared;
use crate::models::Model;

/// The models of the configuration: the chosen one, then the fallbacks.
///
/// # Errors
/// When the chosen one has no provider or no credential. A fallback without a
/// credential is left out.
pub(crate) fn chain(_loaded: &Loaded) -> Result<Vec<Arc<Model>>, EngineError> {
    unimplemented!()
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
        window,
        secret_env: shared.loaded.secrets.keys().cloned().collect(),
    }
}
