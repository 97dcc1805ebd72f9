//! Hook files of other programs: where they stand and what they say.
//!
//! Claude Code keeps hooks in its settings, Codex in `hooks.json`, goose in the plugins of
//! `.agents/plugins`. The shape is one: an event, rules with a matcher, commands. A project
//! may also have `.hermes/hooks.json`, with either names of events.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::spec::{HookSpec, Origin, Written};
use crate::{Dialect, Event};

/// A hook file is not longer, in bytes.
const LONGEST: u64 = 1024 * 1024;

/// The hook files of the project in which `cwd` lies.
pub fn of_project(cwd: &Path, user_home: &Path) -> Vec<PathBuf> {
    let root = cwd.ancestors().find(|folder| folder.join(".git").exists());
    let mut folders: Vec<&Path> = root.into_iter().chain([cwd]).collect();
    folders.dedup();
    // The person's own folder is no project: what stands there is theirs, and read when they say so.
    folders.retain(|folder| *folder != user_home);
    let named = [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".codex/hooks.json",
        ".hermes/hooks.json",
    ];
    let mut files = Vec::new();
    for folder in folders {
        files.extend(
            named
                .iter()
                .map(|name| folder.join(name))
                .filter(|file| file.is_file()),
        );
        files.extend(of_goose(folder));
    }
    files
}

/// The hook files of the person's own that are known by a short name.
pub fn of_person(program: &str, user_home: &Path) -> Vec<PathBuf> {
    let files = match program {
        "claude" => vec![user_home.join(".claude/settings.json")],
        "codex" => vec![user_home.join(".codex/hooks.json")],
        "goose" => of_goose(user_home),
        _ => Vec::new(),
    };
    files.into_iter().filter(|file| file.is_file()).collect()
}

fn of_goose(folder: &Path) -> Vec<PathBuf> {
    let plugins = std::fs::read_dir(folder.join(".agents/plugins"))
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<PathBuf> = plugins
        .map(|plugin| plugin.path().join("hooks/hooks.json"))
        .collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}

/// The hooks of a file, and what the person should know about it.
pub fn read(path: &Path, is_project: bool) -> (Vec<HookSpec>, Vec<String>) {
    let told = |why: String| (Vec::new(), vec![format!("{}: {why}", path.display())]);
    match std::fs::metadata(path) {
        Ok(facts) if facts.len() > LONGEST => return told("too long for a hook file".to_owned()),
        Ok(_) => {}
        Err(error) => return told(error.to_string()),
    }
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return told(error.to_string()),
    };
    let origin = if is_project {
        Origin::Project(path.to_owned())
    } else {
        Origin::Imported(path.to_owned())
    };
    match serde_json::from_str(&text) {
        Ok(value) => parse(&value, path, &origin),
        Err(error) => told(format!("no JSON: {error}")),
    }
}

/// The folder that a file's commands belong to.
fn root(path: &Path) -> PathBuf {
    let up = path.parent().and_then(Path::parent);
    up.unwrap_or_else(|| Path::new("/")).to_owned()
}

fn parse(file: &Value, path: &Path, origin: &Origin) -> (Vec<HookSpec>, Vec<String>) {
    let (mut specs, mut warnings) = (Vec::new(), Vec::new());
    if file["disableAllHooks"] == Value::Bool(true) {
        return (specs, warnings);
    }
    let is_goose = path.ends_with("hooks/hooks.json") && !path.ends_with(".codex/hooks/hooks.json");
    let events = file.get("hooks").and_then(Value::as_object).into_iter().flatten();
    for (event, rules) in events {
        let dialect = match Event::named(event) {
            Some(_) => Dialect::Hermes,
            None if is_goose => Dialect::Goose,
            None => Dialect::Claude,
        };
        for rule in rules.as_array().into_iter().flatten() {
            for action in actions(rule) {
                match written(action, rule) {
                    Ok(written) => {
                        match HookSpec::new(event, dialect, written, origin.clone(), &root(path)) {
                            Ok(spec) => specs.push(spec),
                            Err(why) => warnings.push(format!("{}: {why}", path.display())),
                        }
                    }
                    Err(why) => warnings.push(format!("{}: {event}: {why}", path.display())),
                }
            }
        }
    }
    warnings.dedup();
    (specs, warnings)
}

/// The commands of a rule; a rule that is itself a command is one.
fn actions(rule: &Value) -> Vec<&Value> {
    match rule.get("hooks").and_then(Value::as_array) {
        Some(actions) => actions.iter().collect(),
        None => vec![rule],
    }
}

fn written(action: &Value, rule: &Value) -> Result<Written, String> {
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    if let Some(kind) = text(action, "type").filter(|kind| kind != "command") {
        return Err(format!("hooks of the type {kind:?} are not run here"));
    }
    Ok(Written {
        command: text(action, "command").unwrap_or_default(),
        matcher: text(rule, "matcher"),
        timeout: action["timeout"].as_f64().map(|seconds| seconds.ceil() as u64),
        on_failure: text(action, "on_failure"),
        condition: text(action, "if"),
        detached: action["async"] == Value::Bool(true),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A settings file as Claude Code's documentation and users write them.
    const SETTINGS: &str = r#"{
        "$schema": "https://json.schemastore.org/claude-code-settings.json",
        "permissions": {"allow": ["Bash(npm run test:*)"], "deny": ["Read(./.env)"]},
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [
                    {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/check-bash.sh", "timeout": 30},
                    {"type": "prompt", "prompt": "Is this safe? $ARGUMENTS"}
                ]},
                {"matcher": "Edit|MultiEdit|Write", "hooks": [{"type": "command", "command": "jq -r .tool_input.file_path"}]}
            ],
            "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "npx prettier --write .", "async": true}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "notify-send done"}]}],
            "WorktreeCreate": [{"hooks": [{"type": "command", "command": "true"}]}]
        }
    }"#;

    fn written_to(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn a_settings_file_of_claude_code_gives_its_hooks_and_says_what_it_has_besides() {
        let folder = tempfile::tempdir().unwrap();
        let path = written_to(folder.path(), ".claude/settings.json", SETTINGS);
        written_to(folder.path(), ".claude/hooks/check-bash.sh", "exit 2");
        let (specs, warnings) = read(&path, true);
        let told: Vec<(&str, &str, u64, bool)> = specs
            .iter()
            .map(|spec| {
                (
                    spec.event.name(),
                    spec.matcher.as_deref().unwrap_or(""),
                    spec.timeout_s,
                    spec.detached,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("pre_tool_call", "Bash", 30, false),
                ("pre_tool_call", "Edit|MultiEdit|Write", 60, false),
                ("post_tool_call", "Edit|Write", 60, true),
                ("pre_verify", "", 60, false),
            ]
        );
        assert_eq!(
            specs[0].files(Path::new("/nobody")),
            [folder.path().join(".claude/hooks/check-bash.sh")]
        );
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("\"prompt\"") && warnings[1].contains("WorktreeCreate"));
    }

    #[test]
    fn goose_and_our_own_files_are_read_by_where_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let goose = r#"{"hooks": {"AfterFileEdit": [{"matcher": "\\.rs$", "hooks": [{"command": "${PLUGIN_ROOT}/fmt.sh"}]}],
            "PreToolUse": [{"hooks": [{"command": "x", "on_failure": "block"}]}]}}"#;
        let own = r#"{"hooks": {"pre_tool_call": [{"matcher": "terminal", "command": "./check"}]}}"#;
        written_to(folder.path(), ".agents/plugins/fmt/hooks/hooks.json", goose);
        written_to(folder.path(), ".hermes/hooks.json", own);
        written_to(
            folder.path(),
            ".claude/settings.json",
            r#"{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}"#,
        );
        let files = of_project(folder.path(), Path::new("/nobody"));
        assert_eq!(files.len(), 3);
        let specs: Vec<HookSpec> = files.iter().flat_map(|file| read(file, true).0).collect();
        let told: Vec<(Dialect, &str, bool)> = specs
            .iter()
            .map(|spec| (spec.dialect, spec.event_name(), spec.fail_closed))
            .collect();
        assert_eq!(
            told,
            [
                (Dialect::Hermes, "pre_tool_call", false),
                (Dialect::Goose, "AfterFileEdit", false),
                (Dialect::Goose, "PreToolUse", true),
            ]
        );
        assert_eq!(of_project(folder.path(), folder.path()), [] as [PathBuf; 0]);
    }

    #[test]
    fn a_broken_file_is_told_and_harms_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = written_to(folder.path(), ".claude/settings.json", "{,");
        let (specs, warnings) = read(&path, true);
        assert!(specs.is_empty() && warnings[0].contains("no JSON"));
        let odd = written_to(
            folder.path(),
            "x/hooks.json",
            r#"{"hooks": {"PreToolUse": {"not": "a list"}, "Stop": ["text", 1, null]}}"#,
        );
        assert!(read(&odd, false).0.is_empty());
    }
}
