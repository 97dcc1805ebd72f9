//! The system prompt: built once per session, in three tiers.
//!
//! It is the first thing of every request and its bytes decide what a provider's
//! cache can reuse, so it says nothing that differs from run to run, and little
//! altogether. Order: what never changes (identity, ways of working, tools, where
//! the program runs), what belongs to the folder (caller's text, project files),
//! what belongs to the person and the session (memory, last lines).
//!
//! Not here: reading files, and what a turn recalls (that stays with its user row).

mod files;
mod threats;
mod words;

pub use files::{ProjectFile, choose};
pub use threats::scan;

/// What the prompt is built from; every part was read by the caller.
#[derive(Clone, Debug, Default)]
pub struct PromptParts {
    /// `SOUL.md`, or nothing for the built-in identity.
    pub soul: Option<String>,
    /// Names of the tools of the session.
    pub tools: Vec<String>,
    /// A window below 16 384 tokens: every block in its shortest form.
    pub compact: bool,
    /// `agent.tool_use_enforcement`.
    pub tool_use_enforcement: String,
    /// Blocks of the stable tier that others own, in order (skills index).
    pub stable_blocks: Vec<String>,
    /// The environment block's facts: operating system, home, working folder, date is not among them.
    pub environment: Environment,
    /// The surface's hint (`cli`, `telegram`, …).
    pub platform: String,
    /// Text the caller adds to the context tier.
    pub system_message: Option<String>,
    /// Project context files: path as shown, body; already found, not yet scanned or cut.
    pub project_files: Vec<(String, String)>,
    /// The most characters of one project file.
    pub project_file_max_chars: usize,
    /// Rendered memory blocks, in order.
    pub memory_blocks: Vec<String>,
    /// The lineage's root id.
    pub root_session_id: String,
    /// The lineage's start, as a date in words.
    pub started_on: String,
    /// The model's id.
    pub model: String,
    /// The provider's id.
    pub provider: String,
}

/// Where the program runs.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Operating system and release.
    pub os: String,
    /// The user's home folder.
    pub user_home: String,
    /// The working folder.
    pub cwd: String,
    /// The shell commands run in.
    pub shell: String,
}

/// A prompt and what its building found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompt {
    /// The prompt.
    pub text: String,
    /// What the person should know: a file was cut or blocked.
    pub warnings: Vec<String>,
}

/// Builds the system prompt. The same parts give the same bytes.
pub fn build(parts: &PromptParts) -> Prompt {
    let mut warnings = Vec::new();
    let mut blocks = vec![identity(parts, &mut warnings)];
    blocks.extend(ways_of_working(parts));
    blocks.extend(parts.stable_blocks.iter().cloned());
    blocks.push(environment(parts));
    blocks.push(words::platform_hint(&parts.platform).to_owned());
    blocks.extend(parts.system_message.clone());
    blocks.push(files::section(
        &parts.project_files,
        parts.project_file_max_chars,
        &mut warnings,
    ));
    blocks.extend(parts.memory_blocks.iter().cloned());
    blocks.push(last_lines(parts));
    let said: Vec<&str> = blocks
        .iter()
        .map(|block| block.trim())
        .filter(|block| !block.is_empty())
        .collect();
    Prompt {
        text: said.join("\n\n"),
        warnings,
    }
}

/// Whether a stored prompt was built for this model and provider (its last lines say).
pub fn fits(stored: &str, model: &str, provider: &str) -> bool {
    let last = |label: &str| stored.lines().rev().find_map(|line| line.strip_prefix(label));
    last(MODEL_LABEL).is_some_and(|line| line.trim() == model.trim())
        && last(PROVIDER_LABEL).is_some_and(|line| line.trim() == provider.trim())
}

const MODEL_LABEL: &str = "Model: ";
const PROVIDER_LABEL: &str = "Provider: ";

fn identity(parts: &PromptParts, warnings: &mut Vec<String>) -> String {
    let soul = parts
        .soul
        .as_deref()
        .map(str::trim)
        .filter(|soul| !soul.is_empty());
    match soul {
        Some(soul) => files::safe_body("SOUL.md", soul, parts.project_file_max_chars, warnings),
        None if parts.compact => words::IDENTITY_COMPACT.to_owned(),
        None => words::IDENTITY.to_owned(),
    }
}

fn ways_of_working(parts: &PromptParts) -> Vec<String> {
    if parts.tools.is_empty() {
        return Vec::new();
    }
    if parts.compact {
        return vec![words::WORKING_COMPACT.to_owned()];
    }
    let has = |tool: &str| parts.tools.iter().any(|name| name == tool);
    let guidance: Vec<&str> = words::TOOL_GUIDANCE
        .iter()
        .filter(|(tool, _)| has(tool))
        .map(|(_, text)| *text)
        .collect();
    let mut blocks = vec![words::WORKING.to_owned(), guidance.join(" ")];
    if enforces_tools(&parts.tool_use_enforcement, &parts.model) {
        blocks.push(words::ENFORCEMENT.to_owned());
    }
    blocks
}

/// `auto` knows the families that announce what they will do instead of doing it.
fn enforces_tools(setting: &str, model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let named = |names: &str| {
        names
            .split(',')
            .map(str::trim)
            .any(|name| !name.is_empty() && model.contains(&name.to_ascii_lowercase()))
    };
    match setting.trim() {
        "" | "auto" => named("gpt,codex,gemini,gemma,grok,glm,qwen,deepseek"),
        "true" | "on" | "yes" => true,
        "false" | "off" | "no" => false,
        names => named(names),
    }
}

fn environment(parts: &PromptParts) -> String {
    let Environment {
        os,
        user_home,
        cwd,
        shell,
    } = &parts.environment;
    let facts = [
        ("OS", os),
        ("Home", user_home),
        ("Working folder", cwd),
        ("Shell", shell),
    ];
    let known: Vec<String> = facts
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(label, value)| format!("{label}: {value}"))
        .collect();
    if parts.compact {
        known.join("; ")
    } else {
        known.join("\n")
    }
}

fn last_lines(parts: &PromptParts) -> String {
    format!(
        "Conversation started: {}\nSession ID: {}\n{MODEL_LABEL}{}\n{PROVIDER_LABEL}{}",
        parts.started_on, parts.root_session_id, parts.model, parts.provider
    )
}

#[cfg(test)]
mod tests;
