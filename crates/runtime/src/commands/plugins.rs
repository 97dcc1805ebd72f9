//! `/plugins`, and the slash commands that plugins bring.

use super::{Command, CommandError};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["plugins"],
    args: "",
    help: "list the plugins that run and the commands they bring",
    run: |session, _| Box::pin(list(session)),
};

async fn list(session: &mut Session) -> Result<String, CommandError> {
    let shared = session.shared.clone();
    let plugins = &shared.extensions().await.plugins;
    if plugins.is_empty() {
        return Ok("no plugin runs; `talaria plugins list` shows which there are".to_owned());
    }
    let mut lines = Vec::new();
    for plugin in plugins {
        let manifest = plugin.manifest();
        lines.push(format!(
            "{} {}  {}",
            manifest.name, manifest.version, manifest.description
        ));
        lines.extend(
            plugin
                .tools()
                .iter()
                .map(|tool| format!("    tool {}", tool.name)),
        );
        lines.extend(plugin.commands().iter().map(|command| {
            format!(
                "    /{} {}  {}",
                command.name, command.args_hint, command.description
            )
        }));
    }
    Ok(lines.join("\n"))
}

/// Runs a command that a plugin brings; nothing when none brings it.
pub(super) async fn brought(
    session: &Session,
    name: &str,
    args: &str,
) -> Option<Result<String, CommandError>> {
    let shared = session.shared.clone();
    let plugins = &shared.extensions().await.plugins;
    let plugin = plugins
        .iter()
        .find(|plugin| plugin.commands().iter().any(|command| command.name == name))?;
    let said = plugin.command(name, args, session.id.as_str()).await;
    Some(said.map_err(CommandError::Refused))
}
