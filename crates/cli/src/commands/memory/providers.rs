//! `memory providers`, `memory setup` and `memory status`: what remembers beside the two files.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

use serde_json::{Value, json};
use talaria_config::{Loaded, Overrides};
use talaria_memory::providers::table::{self, Row, Setting};
use talaria_memory::providers::{Bounds, External};

use super::super::auth;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;

/// The provider the configuration names, when it names one.
pub(in crate::commands) fn configured(loaded: &Loaded) -> Option<&str> {
    let name = loaded.config.memory.provider.trim();
    (!name.is_empty() && name != "builtin").then_some(name)
}

/// Lists the providers there are.
pub(super) fn list(place: &Place, json: bool) -> Outcome {
    let loaded = loaded(place)?;
    let chosen = configured(&loaded).and_then(table::row).map(|row| row.name);
    if json {
        let rows: Vec<Value> = table::ROWS.iter().map(|row| described(row, chosen)).collect();
        output::json(&json!({"providers": rows, "configured": configured(&loaded)}));
        return Ok(DONE);
    }
    for row in table::ROWS {
        let mark = if chosen == Some(row.name) { "*" } else { " " };
        output::line(&format!("{mark} {:<8} {}", row.name, row.about));
    }
    output::note("`talaria memory setup NAME` chooses one, `talaria memory setup none` none");
    Ok(DONE)
}

fn described(row: &Row, chosen: Option<&str>) -> Value {
    let setting = |setting: &Setting| {
        json!({
            "key": setting.key, "description": setting.description, "secret": setting.secret,
            "required": setting.required, "default": setting.default, "url": setting.url,
        })
    };
    json!({
        "name": row.name, "about": row.about, "configured": chosen == Some(row.name),
        "settings": row.settings.iter().map(setting).collect::<Vec<_>>(),
    })
}

/// Writes down what a provider needs, and that it is the one; `given` are `KEY=VALUE`.
pub(super) fn set_up(place: &Place, name: &str, given: &[String]) -> Outcome {
    place.home.ensure()?;
    if matches!(name, "none" | "off" | "builtin") {
        talaria_config::unset(&place.home, "memory.provider")?;
        output::note("no memory provider; MEMORY.md and USER.md stay");
        return Ok(DONE);
    }
    let row = row(name)?;
    let before = loaded(place)?;
    for setting in row.settings {
        if let Some(value) = value(&before, row, setting, given)? {
            talaria_config::set(&place.home, setting.key, &value)?;
        }
    }
    talaria_config::set(&place.home, "memory.provider", row.name)?;
    status(place, false)
}

/// A setting's new value; nothing when it stays what it is.
fn value(loaded: &Loaded, row: &Row, setting: &Setting, given: &[String]) -> Result<Option<String>, Failure> {
    let short = setting.key.rsplit('.').next().unwrap_or(setting.key);
    let named = given.iter().find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key == setting.key || key == short).then_some(value)
    });
    if let Some(value) = named {
        return Ok(Some(value.to_owned()));
    }
    let known = match setting.secret {
        true => loaded.variable(setting.key).is_some(),
        false => setting.key == "memory.command" && !loaded.config.memory.command.is_empty(),
    };
    if known {
        return Ok(None);
    }
    if !setting.required {
        return Ok(None);
    }
    if setting.secret {
        if !setting.url.is_empty() && std::io::stdin().is_terminal() {
            output::note(&format!("{}: {}", setting.description, setting.url));
        }
        let key = auth::typed(row.name)?.trim().to_owned();
        return match key.is_empty() {
            true => Err(Failure::usage(format!("{} is needed", setting.key))),
            false => Ok(Some(key)),
        };
    }
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::usage(format!("{} needs {}: {}", row.name, short, setting.description))
                .hint(format!("add {short}=VALUE")),
        );
    }
    output::notes(&format!("{} ({}): ", short, setting.description));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|error| Failure::failed(format!("the terminal cannot be read: {error}")))?;
    Ok(Some(line.trim().to_owned()))
}

/// Says whether the configured provider is there, and what it offers.
pub(super) fn status(place: &Place, json: bool) -> Outcome {
    let loaded = loaded(place)?;
    let Some(name) = configured(&loaded) else {
        if json {
            output::json(&json!({"provider": null}));
        } else {
            output::note("no memory provider: `talaria memory providers` lists them");
        }
        return Ok(DONE);
    };
    let found = ready(&loaded, name);
    let ready = found.is_ok();
    if json {
        let (tools, error) = match &found {
            Ok(tools) => (tools.clone(), None),
            Err(why) => (Vec::new(), Some(why)),
        };
        output::json(&json!({"provider": name, "ready": ready, "tools": tools, "error": error}));
    } else {
        match &found {
            Ok(tools) => output::line(&format!("{name}: ready; tools: {}", shown(tools))),
            Err(why) => output::note(&format!("error: {why}")),
        }
    }
    Ok(if ready { DONE } else { FAILED })
}

fn shown(tools: &[String]) -> String {
    if tools.is_empty() {
        return "none".to_owned();
    }
    tools.join(", ")
}

/// Connects the provider and lets it go again.
fn ready(loaded: &Loaded, name: &str) -> Result<Vec<String>, String> {
    let row = row(name).map_err(|failure| failure.message)?;
    let provider = row
        .build(&talaria_runtime::memory_place(loaded, "cli"))
        .map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let found = runtime.block_on(async {
        let external = External::connect(Arc::clone(&provider), Bounds::default()).await?;
        let tools = external.tools().into_iter().map(|tool| tool.name).collect();
        let _ = tokio::time::timeout(std::time::Duration::from_secs(2), provider.shutdown()).await;
        Ok(tools)
    });
    runtime.shutdown_background();
    found
}

fn row(name: &str) -> Result<&'static Row, Failure> {
    table::row(name).ok_or_else(|| {
        let known: Vec<&str> = table::ROWS.iter().map(|row| row.name).collect();
        Failure::usage(format!("there is no memory provider {name:?}"))
            .hint(format!("there are {}", known.join(", ")))
    })
}

fn loaded(place: &Place) -> Result<Loaded, Failure> {
    let cwd = place.cwd(None)?;
    place.config(&cwd, &Overrides::default())
}
