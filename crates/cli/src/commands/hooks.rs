//! `hooks`: the commands that are told what happens: which there are, whether they may run, what they say.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgMatches, Args, Subcommand};
use serde_json::{Value, json};
use talaria_config::{Loaded, Overrides};
use talaria_plugins::hooks::files;
use talaria_plugins::{Event, Fired, Hooks, Payload, ShellHook, Standing};
use talaria_runtime::{FoundHooks, found_hooks};

use super::Row;
use crate::args;
use crate::exit::{DONE, FAILED, Failure, Outcome};
use crate::output;
use crate::place::Place;
use crate::text;

pub(super) const ROW: Row = Row {
    name: "hooks",
    about: "List, test, allow and import the commands that are told what happens",
    define: HooksArgs::augment_args,
    run: |place, _, matches| run(place, matches),
};

#[derive(Args, Debug)]
struct HooksArgs {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print one JSON object.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the hooks, where they come from and whether they may run.
    #[command(alias = "ls")]
    List,
    /// List the events there are.
    Events,
    /// Tell an event to the hooks that hear it and are allowed, and show what they say.
    Test {
        /// The event, such as pre_tool_call.
        event: String,
        /// The tool, for events of one.
        #[arg(long, value_name = "TOOL", default_value = "terminal")]
        for_tool: String,
        /// What is told: a file with a JSON object of the shape of docs/hooks.md.
        #[arg(long, value_name = "FILE")]
        payload_file: Option<PathBuf>,
    },
    /// Let hooks run, as they are now.
    Enable {
        /// Ids from the list, or commands.
        #[arg(required_unless_present = "all")]
        hooks: Vec<String>,
        /// Every hook of the list.
        #[arg(long)]
        all: bool,
    },
    /// Let hooks run no more.
    #[command(aliases = ["revoke", "remove", "rm"])]
    Disable {
        /// Ids from the list, or commands.
        #[arg(required = true)]
        hooks: Vec<String>,
    },
    /// Look for what is wrong: exit code 1 when a hook cannot do its work.
    Doctor,
    /// Read the hooks of another program too: claude, codex, goose, or a file of theirs.
    Import {
        /// claude, codex, goose or a path.
        from: String,
    },
}

fn run(place: &Place, matches: &ArgMatches) -> Outcome {
    let asked: HooksArgs = args::read(matches)?;
    let cwd = place.cwd(None)?;
    let loaded = place.config(&cwd, &Overrides::default())?;
    let found = found_hooks(&loaded, Some(&cwd));
    let json = asked.json;
    match asked.action.unwrap_or(Action::List) {
        Action::List => list(&found, json),
        Action::Events => events(json),
        Action::Test {
            event,
            for_tool,
            payload_file,
        } => {
            let payload = payload(&event, &for_tool, payload_file.as_deref(), &cwd)?;
            test(found, &payload, json)
        }
        Action::Enable { hooks, all } => {
            let chosen = if all { found.hooks } else { chosen(&found, &hooks)? };
            decide(&chosen, true, json)
        }
        Action::Disable { hooks } => decide(&chosen(&found, &hooks)?, false, json),
        Action::Doctor => doctor(&found, json),
        Action::Import { from } => import(place, &loaded, &from, json),
    }
}

fn record(hook: &ShellHook) -> Value {
    let spec = hook.spec();
    json!({
        "id": &hook.sha256()[..8], "event": spec.event.name(), "written_as": spec.event_name(),
        "command": spec.command, "matcher": spec.matcher, "timeout": spec.timeout_s,
        "on_failure": if spec.fail_closed { "block" } else { "allow" }, "dialect": spec.dialect.as_str(),
        "origin": spec.origin.told(), "project": spec.origin.is_project(), "standing": hook.standing().as_str(),
    })
}

fn list(found: &FoundHooks, json: bool) -> Outcome {
    if json {
        let hooks: Vec<Value> = found.hooks.iter().map(|hook| record(hook)).collect();
        output::json(&json!({"hooks": hooks, "warnings": found.warnings}));
        return Ok(DONE);
    }
    for hook in &found.hooks {
        let spec = hook.spec();
        let matcher = spec
            .matcher
            .as_deref()
            .map(|matcher| format!(" for {matcher}"))
            .unwrap_or_default();
        let closed = if spec.fail_closed {
            ", refuses when it fails"
        } else {
            ""
        };
        output::line(&format!(
            "{}  {}  {}{matcher}",
            &hook.sha256()[..8],
            hook.standing().as_str(),
            hook.told()
        ));
        output::line(&format!(
            "          {}, {} s{closed}",
            spec.origin.told(),
            spec.timeout_s
        ));
    }
    if found.hooks.is_empty() {
        output::note("there are no hooks; `talaria hooks import claude` reads those of Claude Code");
    }
    found
        .warnings
        .iter()
        .for_each(|text| output::note(&format!("warning: {text}")));
    Ok(DONE)
}

fn events(json: bool) -> Outcome {
    if json {
        let events: Vec<Value> = Event::all()
            .map(|event| json!({"name": event.name(), "about": event.about()}))
            .collect();
        output::json(&json!({"events": events}));
        return Ok(DONE);
    }
    for event in Event::all() {
        output::line(&format!("{:<26} {}", event.name(), event.about()));
    }
    Ok(DONE)
}

/// The hooks that were named, by the beginning of an id or by their command.
fn chosen(found: &FoundHooks, names: &[String]) -> Result<Vec<Arc<ShellHook>>, Failure> {
    let mut chosen = Vec::new();
    for name in names {
        let is_it = |hook: &&Arc<ShellHook>| {
            hook.spec().command == *name || (name.len() >= 4 && hook.sha256().starts_with(name.as_str()))
        };
        let before = chosen.len();
        chosen.extend(found.hooks.iter().filter(is_it).cloned());
        if chosen.len() == before {
            return Err(Failure::usage(format!("there is no hook {name:?}"))
                .hint("`talaria hooks list` shows ids and commands"));
        }
    }
    Ok(chosen)
}

fn decide(hooks: &[Arc<ShellHook>], allowed: bool, json: bool) -> Outcome {
    for hook in hooks {
        hook.decide(allowed)
            .map_err(|error| Failure::failed(error.to_string()))?;
        if !json {
            output::line(&format!(
                "{}  {}  {}",
                &hook.sha256()[..8],
                hook.standing().as_str(),
                hook.told()
            ));
        }
    }
    if json {
        output::json(&json!({"hooks": hooks.iter().map(|hook| record(hook)).collect::<Vec<_>>()}));
    }
    Ok(DONE)
}

/// What a test tells: a file's words, or an example.
fn payload(
    name: &str,
    tool: &str,
    file: Option<&std::path::Path>,
    cwd: &std::path::Path,
) -> Result<Payload, Failure> {
    let event = Event::named(name).ok_or_else(|| {
        Failure::usage(format!("there is no event {name:?}")).hint("`talaria hooks events` lists them")
    })?;
    let told: Value = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
            serde_json::from_str(&text)
                .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?
        }
        None => json!({
            "tool_input": {"command": "echo hello", "path": "example.txt"},
            "extra": {
                "user_message": "hello", "response_text": "done", "result": "{\"output\":\"hello\",\"exit_code\":0}",
                "ok": true, "source": "startup", "reason": "exit", "trigger": "auto", "command": "echo hello",
                "output": "hello", "returncode": 0,
            },
        }),
    };
    let session = told["session_id"].as_str().unwrap_or("test");
    let mut payload = Payload::new(event, session, cwd);
    if name.contains("tool") || told["tool_name"].is_string() {
        payload = payload.of_tool(
            told["tool_name"].as_str().unwrap_or(tool),
            &told["tool_input"],
            "test",
        );
    }
    for (fact, value) in told["extra"].as_object().into_iter().flatten() {
        payload = payload.with(fact, value.clone());
    }
    Ok(payload)
}

fn test(found: FoundHooks, payload: &Payload, json: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let hooks = Hooks::new(found.hooks, &[]);
    let fired: Fired = runtime.block_on(hooks.fire(payload));
    let notes = hooks.take_notes();
    if json {
        let replies: Vec<Value> = fired
            .replies
            .iter()
            .map(|reply| {
                json!({
                    "from": reply.from, "block": reply.block, "ask": reply.ask, "args": reply.args,
                    "context": reply.context, "replacement": reply.replacement,
                })
            })
            .collect();
        output::json(&json!({"event": payload.event.name(), "replies": replies, "notes": notes}));
        return Ok(DONE);
    }
    for reply in &fired.replies {
        output::line(&reply.from);
        let args = reply.args.as_ref().map(Value::to_string);
        let said = [
            ("refuses", reply.block.as_ref()),
            ("asks the person", reply.ask.as_ref()),
            ("changes the arguments", args.as_ref()),
            ("adds", reply.context.as_ref()),
            ("replaces with", reply.replacement.as_ref()),
        ];
        let mut silent = true;
        for (what, text) in said {
            if let Some(text) = text {
                silent = false;
                output::line(&format!("  {what}: {text}"));
            }
        }
        if silent {
            output::line("  says nothing");
        }
    }
    notes.iter().for_each(|note| output::note(note));
    if fired.replies.is_empty() && notes.is_empty() {
        output::note("no hook hears this");
    }
    Ok(DONE)
}

fn doctor(found: &FoundHooks, json: bool) -> Outcome {
    let mut problems: Vec<String> = found.warnings.clone();
    for hook in &found.hooks {
        match hook.standing() {
            Standing::Open => problems.push(format!(
                "{} is not allowed yet: `talaria hooks enable {}`",
                hook.told(),
                &hook.sha256()[..8]
            )),
            Standing::Allowed | Standing::Refused => {}
        }
        problems.extend(hook.missing().map(|what| format!("{}: {what}", hook.told())));
    }
    if json {
        output::json(&json!({"hooks": found.hooks.len(), "problems": problems}));
    } else {
        problems.iter().for_each(|problem| output::line(problem));
        output::note(&format!(
            "{}, {}",
            text::count(found.hooks.len() as u64, "hook"),
            text::count(problems.len() as u64, "problem")
        ));
    }
    Ok(if problems.is_empty() { DONE } else { FAILED })
}

fn import(place: &Place, loaded: &Loaded, from: &str, json: bool) -> Outcome {
    let user_home = std::env::home_dir().unwrap_or_default();
    let named = matches!(from, "claude" | "codex" | "goose");
    let files = if named {
        files::of_person(from, &user_home)
    } else {
        let path = talaria_config::expand_tilde(from, &place.environment);
        vec![
            path.canonicalize()
                .map_err(|error| Failure::usage(format!("{from}: {error}")))?,
        ]
    };
    if files.is_empty() {
        return Err(Failure::usage(format!("{from} has no hooks in your home folder"))
            .hint("give the path of a file"));
    }
    let mut list = loaded.config.hooks_files.clone();
    let (mut hooks, mut warnings) = (0, Vec::new());
    for file in &files {
        let (specs, told) = files::read(file, false);
        hooks += specs.len();
        warnings.extend(told);
        let name = file.display().to_string();
        if !list.contains(&name) {
            list.push(name);
        }
    }
    if hooks == 0 {
        return Err(Failure::usage(format!(
            "no hook of {from} can be run here: {}",
            warnings.join("; ")
        )));
    }
    place.home.ensure()?;
    let value = serde_json::to_string(&list).unwrap_or_default();
    talaria_config::set(&place.home, "hooks_files", &value)?;
    if json {
        output::json(&json!({"files": files, "hooks": hooks, "warnings": warnings}));
        return Ok(DONE);
    }
    output::line(&format!("{} read from now on", text::count(hooks as u64, "hook")));
    warnings
        .iter()
        .for_each(|text| output::note(&format!("warning: {text}")));
    output::note("they run once you allow them: in the next session, or `talaria hooks enable --all`");
    Ok(DONE)
}
