//! The system prompt: built once per session, in three tiers.

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
pub fn build(_parts: &PromptParts) -> Prompt {
    unimplemented!()
}

/// Whether a stored prompt was built for this model and provider (its last lines say).
pub fn fits(_stored: &str, _model: &str, _provider: &str) -> bool {
    unimplemented!()
}
