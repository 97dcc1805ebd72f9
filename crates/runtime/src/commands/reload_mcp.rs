//! `/reload-mcp`

use talaria_config::Overrides;

use super::{Command, CommandError};
use crate::session::Session;

pub(super) const COMMAND: Command = Command {
    names: &["reload-mcp"],
    args: "[yes]",
    help: "read the settings of MCP servers again and start them anew",
    run: |session, args| Box::pin(reload(session, args)),
};

async fn reload(session: &mut Session, args: &str) -> Result<String, CommandError> {
    if !session.history.is_empty() && args != "yes" {
        return Err(CommandError::Refused(
            "the tools of this conversation may change, so that the provider reads all of it anew; \
             /reload-mcp yes does it"
                .to_owned(),
        ));
    }
    let shared = session.shared.clone();
    let loaded = talaria_config::load(
        shared.loaded.home.clone(),
        &shared.options.cwd,
        &Overrides::default(),
    )
    .map_err(|error| CommandError::Refused(error.to_string()))?;
    let warnings = shared.extensions().await.reload_mcp(&shared, &loaded).await;
    for warning in warnings {
        session.sink.warn(warning);
    }
    let window = session.models.current().provider.context_window().await.tokens;
    session.renew_tools(window);
    let servers = shared.extensions().await.mcp_states().len();
    Ok(format!(
        "{servers} MCP servers; this conversation has {} tools now",
        session.tools.len()
    ))
}
