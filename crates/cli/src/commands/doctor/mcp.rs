//! The MCP servers: what is written makes sense, their programs are there, logins exist. Starts none of them.

use std::path::Path;

use talaria_config::Overrides;
use talaria_mcp::ServerSettings;

use super::Finding;
use crate::place::Place;

const NAME: &str = "mcp";

pub(super) fn servers(place: &Place) -> Vec<Finding> {
    let loaded = place
        .cwd(None)
        .and_then(|cwd| Ok((place.config(&cwd, &Overrides::default())?, cwd)));
    // What is wrong with the configuration is told by its own check.
    let Ok((loaded, cwd)) = loaded else {
        return Vec::new();
    };
    let (servers, warnings) = talaria_runtime::mcp_servers(&loaded, &cwd);
    let wrong = warnings
        .into_iter()
        .map(|warning| Finding::warning(NAME, warning));
    let enabled = servers.iter().filter(|server| server.enabled);
    wrong
        .chain(enabled.map(|settings| server(place.home.root(), settings)))
        .collect()
}

fn server(home: &Path, settings: &ServerSettings) -> Finding {
    let name = &settings.name;
    if let Some(program) = settings.program().filter(|program| !is_there(program)) {
        return Finding::warning(NAME, format!("{name}: {program} is not found"))
            .hint(format!("install it, or talaria mcp disable {name}"));
    }
    let state = talaria_mcp::known(home, settings);
    if settings.wants_login() && !state.logged_in {
        return Finding::warning(NAME, format!("{name} wants a login"))
            .hint(format!("talaria mcp login {name}"));
    }
    match state.offer {
        Some(offer) => Finding::ok(
            NAME,
            format!("{name}: {}", crate::text::count(offer.tools.len(), "tool")),
        ),
        None => Finding::ok(NAME, format!("{name}: not started yet (talaria mcp test {name})")),
    }
}

fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return program.starts_with('~') || Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
