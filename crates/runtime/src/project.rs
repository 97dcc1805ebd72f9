//! Reads what the system prompt is built from.

use std::path::{Path, PathBuf};

use talaria_context::prompt::{Environment, PromptParts};
use talaria_types::ModelIdentity;

use crate::clock;
use crate::session::Session;
use crate::skill_turns;

/// A window below this gets every block in its shortest form.
const COMPACT_WINDOW: u64 = 16_384;

/// The parts of a session's prompt.
pub(crate) fn prompt_parts(session: &Session, identity: &ModelIdentity, window: u64) -> PromptParts {
    let options = &session.shared.options;
    let home = session.shared.loaded.home.root();
    PromptParts {
        soul: readable(&home.join("SOUL.md")),
        tools: session.tools.iter().map(|tool| tool.name.clone()).collect(),
        compact: window < COMPACT_WINDOW,
        tool_use_enforcement: session.config().agent.tool_use_enforcement.clone(),
        stable_blocks: skill_index(session, window),
        environment: environment(&options.cwd),
        platform: options.source.clone(),
        system_message: system_message(session),
        project_files: if options.ignore_rules {
            Vec::new()
        } else {
            project_files(&options.cwd)
        },
        project_file_max_chars: project_file_max_chars(session, window),
        memory_blocks: memory_blocks(session)
            .into_iter()
            .chain(provider_block(session))
            .collect(),
        root_session_id: session.root.to_string(),
        started_on: clock::date_in_words(session.started_at, &session.shared.zone),
        model: identity.model.clone(),
        provider: identity.provider.clone(),
    }
}

/// The index of skills, for a session that can read them.
fn skill_index(session: &Session, window: u64) -> Vec<String> {
    let has = |name: &str| session.tools.iter().any(|tool| tool.name == name);
    if !has("skill_view") {
        return Vec::new();
    }
    let block = session.shared.library.block(&has, window < COMPACT_WINDOW);
    (!block.is_empty()).then_some(block).into_iter().collect()
}

/// The person's own text and the skills they loaded for the session.
fn system_message(session: &Session) -> Option<String> {
    let own = session.config().agent.system_prompt.clone();
    let texts: Vec<String> = own.into_iter().chain(session.preloaded_skills()).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

impl Session {
    /// The skills that were asked for with `-s`, as the prompt holds them.
    pub(crate) fn preloaded_skills(&self) -> Option<String> {
        let names = &self.shared.options.skills;
        skill_turns::preloaded(&self.shared.library, names, self.root.as_str())
            .ok()
            .flatten()
    }
}

/// What is remembered, as the files say now.
fn memory_blocks(session: &Session) -> Vec<String> {
    let curated = session.shared.curated.as_ref();
    let Some(curated) = curated.filter(|_| !session.shared.options.ignore_rules) else {
        return Vec::new();
    };
    let (blocks, warnings) = curated.blocks();
    warnings.into_iter().for_each(|text| session.sink.warn(text));
    blocks
}

/// What the memory provider says about itself.
fn provider_block(session: &Session) -> Option<String> {
    session.external.as_ref().and_then(|external| external.block())
}

fn environment(cwd: &Path) -> Environment {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Environment {
        os: format!("{} {}", std::env::consts::OS, release.trim())
            .trim_end()
            .to_owned(),
        user_home: user_home(),
        cwd: cwd.display().to_string(),
        shell: "bash".to_owned(),
    }
}

fn user_home() -> String {
    let environment = talaria_config::env::Environment::of_process();
    environment
        .get(talaria_config::env::USER_HOME)
        .unwrap_or_default()
        .to_owned()
}

/// Six per cent of the window at four characters a token, between 20 000 and 500 000.
fn project_file_max_chars(session: &Session, window: u64) -> usize {
    let by_window = (window as usize).saturating_mul(4) * 6 / 100;
    session
        .config()
        .context_file_max_chars
        .unwrap_or_else(|| by_window.clamp(20_000, 500_000))
}

/// The project's context files: exactly one kind, the first that is there.
fn project_files(cwd: &Path) -> Vec<(String, String)> {
    own_file(cwd)
        .or_else(|| first_of(cwd, &["AGENTS.md", "agents.md"]))
        .or_else(|| first_of(cwd, &["CLAUDE.md", "claude.md"]))
        .map_or_else(|| cursor_rules(cwd), |file| vec![file])
}

/// `.hermes.md` or `HERMES.md`, from the folder up to the root of its repository.
fn own_file(cwd: &Path) -> Option<(String, String)> {
    for folder in cwd.ancestors() {
        if let Some(found) = first_of(folder, &[".hermes.md", "HERMES.md"]) {
            return Some(found);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

fn first_of(folder: &Path, names: &[&str]) -> Option<(String, String)> {
    names
        .iter()
        .find_map(|name| readable(&folder.join(name)).map(|text| ((*name).to_owned(), text)))
}

fn cursor_rules(cwd: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = first_of(cwd, &[".cursorrules"]).into_iter().collect();
    let folder = cwd.join(".cursor/rules");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut rules: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    rules.retain(|path| path.extension().is_some_and(|extension| extension == "mdc"));
    // Folder order differs from machine to machine; the prompt must not.
    rules.sort();
    for path in rules {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        files.extend(readable(&path).map(|text| (format!(".cursor/rules/{name}"), text)));
    }
    files
}

/// A file's text; nothing when it is missing, blank or no text.
fn readable(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    (!text.trim().is_empty()).then_some(text)
}
