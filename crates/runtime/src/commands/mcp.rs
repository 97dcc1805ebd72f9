//! `/mcp`

use talaria_mcp::ServerState;

use super::{Command, CommandError};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["mcp"],
    args: "",
    help: "list the MCP servers and their tools",
    run: |session, _| Box::pin(std::future::ready(list(session))),
};

fn list(session: &Session) -> Result<String, CommandError> {
    let extensions = session.shared.known_extensions();
    let states = extensions
        .map(|extensions| extensions.mcp_states())
        .unwrap_or_default();
    if states.is_empty() {
        return Ok("no MCP server is configured; talaria mcp add does it".to_owned());
    }
    let lines: Vec<String> = states.iter().map(line).collect();
    Ok(lines.join("\n"))
}

fn line(state: &ServerState) -> String {
    let settings = &state.settings;
    let (name, transport) = (&settings.name, settings.transport());
    let now = match (state.connected, &state.offer) {
        (true, _) => "connected",
        (false, Some(_)) => "started when it is called",
        (false, None) if settings.wants_login() && !state.logged_in => "wants a login",
        (false, None) => "not there",
    };
    let tools: Vec<&str> = state
        .offer
        .iter()
        .flat_map(|offer| offer.tools.iter().map(|tool| tool.name.as_str()))
        .collect();
    format!("{name} ({transport}, {now}): {}", tools.join(", "))
}
