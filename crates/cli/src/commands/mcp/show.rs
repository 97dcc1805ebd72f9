//! `mcp list` and `mcp test`.

use serde_json::{Value, json};
use talaria_mcp::{Offer, ServerSettings, ServerState, Servers, Source, Surroundings};

use super::{find, runtime, servers};
use crate::exit::{DONE, FAILED, Outcome};
use crate::output;
use crate::place::Place;

pub(super) fn list(place: &Place, json: bool) -> Outcome {
    let home = place.home.root();
    let all = servers(place)?;
    let states: Vec<ServerState> = all
        .iter()
        .map(|settings| talaria_mcp::known(home, settings))
        .collect();
    if json {
        let servers: Vec<Value> = states.iter().map(told).collect();
        output::json(&json!({"servers": servers}));
        return Ok(DONE);
    }
    if states.is_empty() {
        output::note("no MCP server is configured; `talaria mcp add NAME -- COMMAND ARGS` does it");
    }
    for state in states {
        let settings = &state.settings;
        let mark = if settings.enabled { "" } else { "  (disabled)" };
        let login = if settings.wants_login() && !state.logged_in {
            format!("  (wants a login: talaria mcp login {})", settings.name)
        } else {
            String::new()
        };
        let tools = match &state.offer {
            Some(offer) => crate::text::count(offer.tools.len(), "tool"),
            None => "not started yet".to_owned(),
        };
        output::line(&format!(
            "{:<16} {:<6} {tools:<16} {}{mark}{login}",
            settings.name,
            settings.transport(),
            settings.shown()
        ));
    }
    Ok(DONE)
}

fn told(state: &ServerState) -> Value {
    let settings = &state.settings;
    json!({
        "name": settings.name,
        "transport": settings.transport(),
        "target": settings.shown(),
        "enabled": settings.enabled,
        "source": if settings.source == Source::Config { "config" } else { "project" },
        "wants_login": settings.wants_login(),
        "logged_in": state.logged_in,
        "server": state.offer.as_ref().map(|offer| offer.server.clone()),
        "tools": state.offer.as_ref().map(tools),
    })
}

fn tools(offer: &Offer) -> Vec<Value> {
    offer
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description}))
        .collect()
}

pub(super) fn test(place: &Place, name: Option<&str>, json: bool) -> Outcome {
    let tested: Vec<ServerSettings> = match name {
        Some(name) => vec![find(place, name)?],
        None => servers(place)?
            .into_iter()
            .filter(|server| server.enabled)
            .collect(),
    };
    let around = Surroundings {
        home: place.home.root().to_owned(),
        cwd: place.cwd(None)?,
        sampler: None,
    };
    let runtime = runtime()?;
    let mut failed = false;
    let mut report = Vec::new();
    for mut settings in tested {
        settings.enabled = true;
        let (name, shown) = (settings.name.clone(), settings.shown());
        let began = std::time::Instant::now();
        let result = runtime.block_on(async {
            let servers = Servers::new(vec![settings], &around);
            let result = servers.test(&name).await;
            servers.close().await;
            result
        });
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        failed |= result.is_err();
        match (&result, json) {
            (Ok(offer), true) => report
                .push(json!({"name": name, "ok": true, "ms": ms, "server": offer.server,
                "tools": tools(offer), "resources": offer.resources, "prompts": offer.prompts})),
            (Err(error), true) => {
                report.push(json!({"name": name, "ok": false, "ms": ms, "error": error.to_string()}))
            }
            (Ok(offer), false) => {
                output::line(&format!("✓ {name}: {} ({shown}), {ms} ms", offer.server));
                for tool in &offer.tools {
                    let said = tool.description.lines().next().unwrap_or_default();
                    output::line(&format!("    {:<32} {said}", tool.name));
                }
            }
            (Err(error), false) => output::line(&format!("✗ {name}: {error}")),
        }
    }
    if json {
        output::json(&json!({"servers": report}));
    }
    Ok(if failed { FAILED } else { DONE })
}
