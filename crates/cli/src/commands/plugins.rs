//! `plugins`: programs that extend this one: which there are, what they bring, whether they are started.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Value, json};
use talaria_config::{Loaded, Overrides};
use talaria_plugins::{FoundPlugin, Plugin, manifest};
use talaria_runtime::{found_plugins, start_plugin};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;

pub(super) const ROW: Row = Row {
    name: "plugins",
    about: "List, install, enable, test and remove plugins",
    define: PluginsArgs::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct PluginsArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the plugins and whether they are started.
    #[command(alias = "ls")]
    List,
    /// Start a plugin with every session from now on.
    Enable {
        /// Its name.
        name: String,
    },
    /// Start it no more.
    Disable {
        /// Its name.
        name: String,
    },
    /// Put a plugin into the home: from a folder or a git repository. It is not started before it is enabled.
    Install {
        /// Path or address.
        source: String,
    },
    /// Delete a plugin from the home.
    #[command(alias = "rm")]
    Remove {
        /// Its name.
        name: String,
    },
    /// Start a plugin, show what it brings and end it; with a tool, call that too.
    Test {
        /// Its name.
        name: String,
        /// One of its tools.
        #[arg(long)]
        tool: Option<String>,
        /// The tool's arguments, a JSON object.
        #[arg(long, default_value = "{}")]
        args: String,
    },
    /// Start every enabled plugin: exit code 1 when one does not answer.
    Doctor,
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: PluginsArgs = args::read(matches)?;
    let cwd = place.cwd(None)?;
    let loaded = place.config(&cwd, &Overrides::default())?;
    let found = found_plugins(&loaded, &cwd);
    let json = asked.json;
    match asked.action.unwrap_or(Action::List) {
        Action::List => Ok(list(&loaded, &found, json)),
        Action::Enable { name } => enable(place, &loaded, named(&found, &name)?, json),
        Action::Disable { name } => {
            named(&found, &name)?;
            switch(place, &loaded, &name, false)?;
            told(json, &name, "disabled")
        }
        Action::Install { source } => install(place, &source, json),
        Action::Remove { name } => remove(place, &loaded, named(&found, &name)?, json),
        Action::Test { name, tool, args } => {
            let args: Value =
                serde_json::from_str(&args).map_err(|error| Failure::usage(format!("--args: {error}")))?;
            test(
                &loaded,
                &cwd,
                named(&found, &name)?,
                (tool.as_deref(), &args),
                json,
            )
        }
        Action::Doctor => doctor(&loaded, &cwd, &found, json),
    }
}

fn named<'a>(found: &'a [FoundPlugin], name: &str) -> Result<&'a FoundPlugin, Failure> {
    found.iter().find(|plugin| plugin.name == name).ok_or_else(|| {
        let all: Vec<&str> = found.iter().map(|plugin| plugin.name.as_str()).collect();
        let hint = if all.is_empty() {
            "there is none; `talaria plugins install PATH` brings one".to_owned()
        } else {
            format!("there is: {}", all.join(", "))
        };
        Failure::usage(format!("there is no plugin {name:?}")).hint(hint)
    })
}

/// Whether it is started, in one word.
fn state(loaded: &Loaded, plugin: &FoundPlugin) -> &'static str {
    let config = &loaded.config.plugins;
    if plugin.manifest.is_err() {
        "broken"
    } else if config.disabled.contains(&plugin.name) {
        "disabled"
    } else if !config.enabled.contains(&plugin.name) {
        "not enabled"
    } else if plugin.of_project && !manifest::is_trusted(loaded.home.root(), plugin) {
        "changed"
    } else {
        "enabled"
    }
}

fn list(loaded: &Loaded, found: &[FoundPlugin], json: bool) -> u8 {
    if json {
        let plugins: Vec<Value> = found
            .iter()
            .map(|plugin| {
                let manifest = plugin.manifest.as_ref().ok();
                json!({
                    "name": plugin.name, "state": state(loaded, plugin), "path": plugin.folder,
                    "project": plugin.of_project, "error": plugin.manifest.as_ref().err(),
                    "version": manifest.map(|manifest| &manifest.version),
                    "description": manifest.map(|manifest| &manifest.description),
                    "command": manifest.map(|manifest| &manifest.command),
                    "provides": manifest.map(|manifest| &manifest.provides),
                    "env": manifest.map(|manifest| &manifest.env),
                })
            })
            .collect();
        output::json(&json!({"plugins": plugins}));
        return DONE;
    }
    for plugin in found {
        let (version, about) = match &plugin.manifest {
            Ok(manifest) => (manifest.version.as_str(), manifest.description.as_str()),
            Err(why) => ("", why.as_str()),
        };
        output::line(&format!(
            "{:<20} {:<12} {version}  {about}",
            plugin.name,
            state(loaded, plugin)
        ));
    }
    if found.is_empty() {
        output::note("there are no plugins; docs/plugins.md says how to write one");
    }
    DONE
}

fn enable(place: &Place, loaded: &Loaded, plugin: &FoundPlugin, json: bool) -> Outcome {
    let manifest = plugin
        .manifest
        .as_ref()
        .map_err(|why| Failure::usage(format!("{} cannot be enabled: {why}", plugin.name)))?;
    if plugin.of_project {
        manifest::trust(place.home.root(), plugin).map_err(|error| Failure::failed(error.to_string()))?;
    }
    switch(place, loaded, &plugin.name, true)?;
    if !manifest.env.is_empty() && !json {
        output::note(&format!(
            "it is given these variables: {}",
            manifest.env.join(", ")
        ));
    }
    told(json, &plugin.name, "enabled")
}

fn told(json: bool, name: &str, state: &str) -> Outcome {
    if json {
        output::json(&json!({"name": name, "state": state}));
    } else {
        output::line(&format!("{name} is {state}; running sessions stay as they are"));
    }
    Ok(DONE)
}

/// Writes both lists of the configuration.
fn switch(place: &Place, loaded: &Loaded, name: &str, on: bool) -> Result<(), Failure> {
    let config = &loaded.config.plugins;
    let write = |key: &str, list: &[String], has: bool| {
        let mut new: Vec<String> = list.iter().filter(|known| *known != name).cloned().collect();
        if has {
            new.push(name.to_owned());
        }
        if new == list {
            return Ok(());
        }
        let value = serde_json::to_string(&new).unwrap_or_default();
        talaria_config::set(&place.home, key, &value)
    };
    place.home.ensure()?;
    write("plugins.enabled", &config.enabled, on)?;
    // Only what was disabled by name needs to be taken off that list.
    write("plugins.disabled", &config.disabled, false)?;
    Ok(())
}

fn install(place: &Place, source: &str, json: bool) -> Outcome {
    place.home.ensure()?;
    let plugins = place.home.root().join("plugins");
    let failed =
        |error: std::io::Error| Failure::failed(format!("the plugin could not be installed: {error}"));
    std::fs::create_dir_all(&plugins).map_err(failed)?;
    let work = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(&plugins)
        .map_err(failed)?;
    let local = talaria_config::expand_tilde(source, &place.environment);
    let folder = if local.is_dir() {
        let copy = work.path().join("plugin");
        copied(&local, &copy).map_err(failed)?;
        copy
    } else {
        cloned(source, work.path())?
    };
    let name = local
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let found = manifest::read(&folder, false)
        .ok_or_else(|| Failure::usage(format!("{source} has no plugin.yaml")))?;
    let manifest = found.manifest.map_err(Failure::usage)?;
    // A manifest without a name is called by its folder, which is ours here.
    let name = if manifest.name == "plugin" {
        name
    } else {
        manifest.name
    };
    let place_of_it = plugins.join(&name);
    if place_of_it.exists() {
        return Err(Failure::usage(format!("there is a plugin {name} already"))
            .hint(format!("`talaria plugins remove {name}` first")));
    }
    std::fs::rename(&folder, &place_of_it).map_err(failed)?;
    if json {
        output::json(&json!({"name": name, "path": place_of_it, "state": "not enabled"}));
        return Ok(DONE);
    }
    output::line(&format!("{name} is installed in {}", place_of_it.display()));
    output::note(&format!(
        "it runs `{}` with your rights once you say `talaria plugins enable {name}`",
        manifest.command.join(" ")
    ));
    Ok(DONE)
}

/// A repository as a folder, without its history.
fn cloned(source: &str, work: &Path) -> Result<PathBuf, Failure> {
    if source.starts_with('-') {
        return Err(Failure::usage(format!("{source} is no path and no address")));
    }
    let folder = work.join("plugin");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--depth", "1", "--"])
        .arg(source)
        .arg(&folder)
        .env("GIT_TERMINAL_PROMPT", "0");
    let ran = git
        .output()
        .map_err(|error| Failure::failed(format!("git could not be started: {error}")))?;
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr);
        let line = said.lines().last().unwrap_or_default();
        return Err(Failure::failed(format!("{source} could not be cloned: {line}")));
    }
    let _ = std::fs::remove_dir_all(folder.join(".git"));
    Ok(folder)
}

/// Copies files and folders; links would lead out of the plugin and are left out.
fn copied(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() && entry.file_name() != ".git" {
            copied(&entry.path(), &target)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn remove(place: &Place, loaded: &Loaded, plugin: &FoundPlugin, json: bool) -> Outcome {
    if plugin.of_project {
        return Err(Failure::usage(format!(
            "{} belongs to the project; it is not ours to delete",
            plugin.name
        )));
    }
    std::fs::remove_dir_all(&plugin.folder)
        .map_err(|error| Failure::failed(format!("{}: {error}", plugin.folder.display())))?;
    switch(place, loaded, &plugin.name, false)?;
    told(json, &plugin.name, "removed")
}

fn test(
    loaded: &Loaded,
    cwd: &Path,
    plugin: &FoundPlugin,
    (tool, args): (Option<&str>, &Value),
    json: bool,
) -> Outcome {
    let runtime = runtime()?;
    runtime.block_on(async {
        let started = start_plugin(loaded, cwd, plugin).await;
        let started = started.map_err(|why| Failure::failed(format!("{}: {why}", plugin.name)))?;
        let said = match tool {
            Some(tool) => Some(started.tool(tool, args, ("test", "test"), cwd).await),
            None => None,
        };
        started.stop().await;
        if json {
            let mut told = brings(&started);
            if let Some(said) = &said {
                told["result"] = json!(said.as_ref().ok());
                told["error"] = json!(said.as_ref().err());
            }
            output::json(&told);
        } else {
            for tool in started.tools() {
                output::line(&format!("tool     {}  {}", tool.name, tool.description));
            }
            for event in started.events() {
                output::line(&format!("hook     {event}"));
            }
            for command in started.commands() {
                output::line(&format!(
                    "command  /{} {}  {}",
                    command.name, command.args_hint, command.description
                ));
            }
            if started.has_engine() {
                output::line("context engine");
            }
            match &said {
                Some(Ok(text)) => output::line(text),
                Some(Err(why)) => output::note(&format!("error: {why}")),
                None => {}
            }
        }
        Ok(if matches!(said, Some(Err(_))) {
            FAILED
        } else {
            DONE
        })
    })
}

fn brings(plugin: &Plugin) -> Value {
    let names = |tools: &[talaria_plugins::PluginTool]| {
        tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    json!({
        "name": plugin.name(), "tools": names(plugin.tools()),
        "hooks": plugin.events().iter().map(|event| event.name()).collect::<Vec<_>>(),
        "commands": plugin.commands().iter().map(|command| command.name.clone()).collect::<Vec<_>>(),
        "context_engine": plugin.has_engine(),
    })
}

fn doctor(loaded: &Loaded, cwd: &Path, found: &[FoundPlugin], json: bool) -> Outcome {
    let runtime = runtime()?;
    let mut problems = Vec::new();
    for name in &loaded.config.plugins.enabled {
        if !found.iter().any(|plugin| plugin.name == *name) {
            problems.push(format!("{name} is enabled and not there"));
        }
    }
    for plugin in found {
        match (state(loaded, plugin), &plugin.manifest) {
            (_, Err(why)) => problems.push(format!("{}: {why}", plugin.name)),
            ("changed", _) => problems.push(format!(
                "{} has changed; `talaria plugins enable {0}` allows it again",
                plugin.name
            )),
            ("enabled", _) => {
                let started = runtime.block_on(async {
                    let plugin = start_plugin(loaded, cwd, plugin).await?;
                    plugin.stop().await;
                    Ok::<(), String>(())
                });
                problems.extend(started.err().map(|why| format!("{}: {why}", plugin.name)));
            }
            _ => {}
        }
    }
    if json {
        output::json(&json!({"plugins": found.len(), "problems": problems}));
    } else {
        problems.iter().for_each(|problem| output::line(problem));
        if problems.is_empty() {
            output::line("every enabled plugin answers");
        }
    }
    Ok(if problems.is_empty() { DONE } else { FAILED })
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(error.to_string()))
}
