//! `mcp add`, `remove`, `enable`, `disable` and `trust`: what is written about servers.

use clap::Args;
use serde_json::json;
use talaria_mcp::{ProjectFile, ServerSettings, Source};

use super::{find, load, unknown};
use crate::exit::{DONE, Failure, Outcome};
use crate::output;
use crate::place::Place;

/// What `add` takes.
#[derive(Args, Debug)]
pub(super) struct Add {
    /// Its name: letters, digits, - and _.
    name: String,
    /// The address of a server over HTTP.
    #[arg(long)]
    url: Option<String>,
    /// How it is spoken with at that address: http or sse.
    #[arg(long, value_parser = ["http", "sse"])]
    transport: Option<String>,
    /// oauth for a server with logins.
    #[arg(long, value_parser = ["oauth", "header"])]
    auth: Option<String>,
    /// A header to send, as NAME=VALUE; ${VARIABLE} keeps the value out of the file.
    #[arg(long)]
    header: Vec<String>,
    /// A variable for the program, as NAME=VALUE; ${VARIABLE} keeps the value out of the file.
    #[arg(long)]
    env: Vec<String>,
    /// The program of a server on this machine.
    #[arg(long)]
    command: Option<String>,
    /// One argument of the program, as often as needed; or put all of it after --.
    #[arg(long, allow_hyphen_values = true)]
    args: Vec<String>,
    /// The program and its arguments.
    #[arg(last = true)]
    words: Vec<String>,
}

pub(super) fn add(place: &Place, add: &Add, json: bool) -> Outcome {
    let name = add.name.as_str();
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || !name.chars().all(fits) {
        return Err(
            Failure::usage(format!("{name:?} is no name of a server")).hint("take letters, digits, - and _")
        );
    }
    if load(place)?.config.mcp_servers.contains_key(name) {
        return Err(Failure::usage(format!("there is an MCP server {name} already"))
            .hint(format!("`talaria mcp remove {name}` takes it away")));
    }
    let written = written(add)?;
    // What cannot be read back is not written.
    let lookup = |_: &str| Some("x".to_owned());
    let settings = ServerSettings::read(name, &written, Source::Config, &lookup)?;
    let key = |key: &str| format!("mcp_servers.{name}.{key}");
    for (member, value) in written.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(map) => {
                for (inner, value) in map {
                    talaria_config::set(&place.home, &key(&format!("{member}.{inner}")), &flow(value))?;
                }
            }
            None => talaria_config::set(&place.home, &key(member), &flow(value))?,
        }
    }
    if json {
        output::json(&json!({"name": name, "added": true}));
    } else {
        output::note(&format!("{name} is added: {}", settings.shown()));
        output::note(&if settings.wants_login() {
            format!("log in with: talaria mcp login {name}")
        } else {
            format!("try it with: talaria mcp test {name}")
        });
    }
    Ok(DONE)
}

/// A value as settings are written: a text as it is, a list as YAML flow, which is JSON.
fn flow(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn written(add: &Add) -> Result<serde_json::Value, Failure> {
    let mut written = serde_json::Map::new();
    let mut words = add.words.clone();
    let command = add
        .command
        .clone()
        .or_else(|| (!words.is_empty()).then(|| words.remove(0)));
    if let Some(command) = command {
        written.insert("command".to_owned(), json!(command));
        let args: Vec<String> = add.args.iter().cloned().chain(words).collect();
        if !args.is_empty() {
            written.insert("args".to_owned(), json!(args));
        }
    }
    for (key, value) in [("url", &add.url), ("transport", &add.transport)] {
        if let Some(value) = value {
            written.insert(key.to_owned(), json!(value));
        }
    }
    if add.auth.as_deref() == Some("oauth") {
        written.insert("auth".to_owned(), json!("oauth"));
    }
    for (key, pairs) in [("env", &add.env), ("headers", &add.header)] {
        let mut map = serde_json::Map::new();
        for pair in pairs {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("--{key} {pair:?} is not NAME=VALUE")))?;
            map.insert(name.trim().to_owned(), json!(value.trim()));
        }
        if !map.is_empty() {
            written.insert(key.to_owned(), json!(map));
        }
    }
    Ok(json!(written))
}

pub(super) fn remove(place: &Place, name: &str, json: bool) -> Outcome {
    let removed = talaria_config::unset(&place.home, &format!("mcp_servers.{name}"))?;
    if !removed {
        let known: Vec<String> = load(place)?.config.mcp_servers.keys().cloned().collect();
        return Err(unknown(name, &known));
    }
    talaria_mcp::forget(place.home.root(), name)?;
    if json {
        output::json(&json!({"name": name, "removed": true}));
    } else {
        output::note(&format!("{name} is removed"));
    }
    Ok(DONE)
}

pub(super) fn enable(place: &Place, name: &str, on: bool, json: bool) -> Outcome {
    if find(place, name)?.source == Source::Project {
        return Err(
            Failure::usage(format!("{name} stands in the project's .mcp.json"))
                .hint("talaria mcp trust --no leaves all of its servers out"),
        );
    }
    talaria_config::set(
        &place.home,
        &format!("mcp_servers.{name}.enabled"),
        &on.to_string(),
    )?;
    if json {
        output::json(&json!({"name": name, "enabled": on}));
    } else {
        output::note(&format!("{name} is {}", if on { "enabled" } else { "disabled" }));
    }
    Ok(DONE)
}

pub(super) fn trust(place: &Place, trusted: bool, json: bool) -> Outcome {
    let cwd = place.cwd(None)?;
    let Some(file) = ProjectFile::find(&cwd)? else {
        return Err(Failure::usage("this project has no .mcp.json"));
    };
    place.home.ensure()?;
    file.decide(place.home.root(), trusted)?;
    let names: Vec<&String> = file.servers().keys().collect();
    if json {
        output::json(&json!({"path": file.path, "trusted": trusted, "servers": names}));
        return Ok(DONE);
    }
    output::note(&format!(
        "the servers of {} are {}",
        file.path.display(),
        if trusted { "trusted" } else { "not used" }
    ));
    for (name, written) in file.servers() {
        output::note(&format!(
            "  {name}: {}",
            talaria_redact::redact(&written.to_string())
        ));
    }
    Ok(DONE)
}
