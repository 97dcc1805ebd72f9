//! What a command sees of the program's environment.
//!
//! The program's own keys stay out: a command of the model could print them
//! into the conversation. What is left is passed on, with the few settings
//! that keep programs from waiting for a person.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::ToolSettings;

/// Never passed on, whatever the configuration says: keys of model providers.
const PROVIDER_KEYS: &[&str] = &[
    "AI_GATEWAY_API_KEY",
    "ALIBABA_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_TOKEN",
    "ARCEE_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "COHERE_API_KEY",
    "COPILOT_API_KEY",
    "COPILOT_GITHUB_TOKEN",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GEMINI_BASE_URL",
    "GLM_API_KEY",
    "GMI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "HUGGINGFACE_API_KEY",
    "KILOCODE_API_KEY",
    "KIMI_API_KEY",
    "LM_API_KEY",
    "MINIMAX_API_KEY",
    "MINIMAX_CN_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NOUS_API_KEY",
    "NOVITA_API_KEY",
    "NVIDIA_API_KEY",
    "OLLAMA_API_KEY",
    "OPENCODE_GO_API_KEY",
    "OPENCODE_ZEN_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "STEPFUN_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
    "XIAOMI_API_KEY",
    "ZAI_API_KEY",
    "Z_AI_API_KEY",
];

/// Not passed on unless `terminal.env_passthrough` names them: secrets of tools and chat platforms.
const TOOL_SECRETS: &[&str] = &[
    "BROWSERBASE_API_KEY",
    "BROWSER_USE_API_KEY",
    "DAYTONA_API_KEY",
    "DISCORD_BOT_TOKEN",
    "ELEVENLABS_API_KEY",
    "EXA_API_KEY",
    "FAL_KEY",
    "FIRECRAWL_API_KEY",
    "GH_TOKEN",
    "GITHUB_APP_PRIVATE_KEY_PATH",
    "GITHUB_TOKEN",
    "HASS_TOKEN",
    "HONCHO_API_KEY",
    "MATRIX_ACCESS_TOKEN",
    "MATRIX_PASSWORD",
    "MATTERMOST_TOKEN",
    "MEM0_API_KEY",
    "PARALLEL_API_KEY",
    "SLACK_APP_TOKEN",
    "SLACK_BOT_TOKEN",
    "SUDO_PASSWORD",
    "TAVILY_API_KEY",
    "TELEGRAM_BOT_TOKEN",
    "TWILIO_AUTH_TOKEN",
    "VOICE_TOOLS_OPENAI_KEY",
    "WANDB_API_KEY",
];

/// As the two above, by how they begin. `true`: never passed on.
const PREFIXES: &[(&str, bool)] = &[
    ("OPENAI_", true),
    ("MODAL_", false),
    ("VERCEL_", false),
    ("EMAIL_", false),
    ("_HERMES_FORCE_", true),
];

/// A value under `_HERMES_FORCE_NAME` reaches commands as `NAME`, on the person's own word.
const FORCE: &str = "_HERMES_FORCE_";

/// Settings that keep programs from waiting for a person or opening a pager.
const UNATTENDED: &[(&str, &str)] = &[
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("TERM", "dumb"),
];

/// Where programs are looked for when `PATH` does not say or leaves out the usual places.
const SANE_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables of a command.
pub(crate) type Variables = BTreeMap<OsString, OsString>;

/// Whether `name` is kept from commands.
pub(crate) fn is_kept_back(name: &str, settings: &ToolSettings) -> bool {
    let listed = |names: &[&str]| names.contains(&name);
    let prefixed = |always: bool| {
        PREFIXES
            .iter()
            .any(|(prefix, never)| *never == always && name.starts_with(prefix))
    };
    let own = settings.secret_env.iter().any(|secret| secret == name);
    if own || listed(PROVIDER_KEYS) || prefixed(true) {
        return true;
    }
    let passed = settings.env_passthrough.iter().any(|passed| passed == name);
    !passed && (listed(TOOL_SECRETS) || prefixed(false))
}

/// The variables of a program that is started for the person and not for the model: hooks, plugins.
/// The same keys stay out.
pub fn outer_variables(settings: &ToolSettings) -> BTreeMap<OsString, OsString> {
    filtered(std::env::vars_os(), settings, "", false)
}

/// What of `inherited` a command sees; `pty` when it gets a terminal.
pub(crate) fn filtered(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    settings: &ToolSettings,
    session_id: &str,
    pty: bool,
) -> Variables {
    let mut kept = Variables::new();
    let mut forced = Variables::new();
    for (name, value) in inherited {
        let Some(text) = name.to_str() else {
            kept.insert(name, value);
            continue;
        };
        if let Some(real) = text.strip_prefix(FORCE).filter(|real| !real.is_empty()) {
            forced.insert(real.into(), value);
        } else if !is_kept_back(text, settings) {
            kept.insert(name, value);
        }
    }
    for (name, value) in UNATTENDED {
        if pty && *name == "TERM" {
            kept.insert("TERM".into(), "xterm-256color".into());
        } else {
            kept.insert(name.into(), value.into());
        }
    }
    complete_path(&mut kept);
    let own_home = settings.home.join("home");
    if own_home.is_dir() {
        kept.insert("HOME".into(), own_home.into());
    }
    // Both names: scripts written for Hermes look for its own.
    for name in ["TALARIA_SESSION_ID", "HERMES_SESSION_ID"] {
        kept.insert(name.into(), session_id.into());
    }
    kept.extend(forced);
    kept
}

fn complete_path(variables: &mut Variables) {
    let path = variables.get(std::ffi::OsStr::new("PATH"));
    let usual = |path: &OsString| {
        path.as_bytes()
            .split(|byte| *byte == b':')
            .any(|dir| dir == b"/usr/bin")
    };
    match path {
        Some(path) if usual(path) => {}
        Some(path) if !path.is_empty() => {
            let mut longer = path.clone();
            longer.push(":");
            longer.push(SANE_PATH);
            variables.insert("PATH".into(), longer);
        }
        _ => {
            variables.insert("PATH".into(), SANE_PATH.into());
        }
    }
}

/// The shell that runs commands: `bash` where there is one, else `sh`.
pub(crate) fn shell() -> &'static Path {
    static SHELL: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    SHELL.get_or_init(|| find_program("bash").unwrap_or_else(|| "/bin/sh".into()))
}

/// `name` in the program's own `PATH` or the usual places.
pub(crate) fn find_program(name: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(std::env::split_paths(SANE_PATH))
        .map(|folder| folder.join(name))
        .find(|file| file.is_absolute() && file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(inherited: &[(&str, &str)], change: impl FnOnce(&mut ToolSettings)) -> BTreeMap<String, String> {
        let mut settings = ToolSettings::for_folder("/nowhere/home", "/");
        change(&mut settings);
        let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into()));
        filtered(inherited, &settings, "s1", false)
            .into_iter()
            .map(|(name, value)| (name.into_string().unwrap(), value.into_string().unwrap()))
            .collect()
    }

    #[test]
    fn the_programs_own_keys_stay_out_and_the_rest_is_passed_on() {
        let keys = [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "TELEGRAM_BOT_TOKEN",
            "MY_KEY",
        ];
        let mut inherited: Vec<(&str, &str)> = keys.iter().map(|key| (*key, "secret")).collect();
        inherited.push(("PLAIN_VALUE", "keep-me"));
        let seen = seen(&inherited, |settings| settings.secret_env = vec!["MY_KEY".into()]);
        assert!(keys.iter().all(|key| !seen.contains_key(*key)), "{seen:?}");
        assert_eq!(seen["PLAIN_VALUE"], "keep-me");
        assert_eq!(seen["TALARIA_SESSION_ID"], "s1");
        assert_eq!((&*seen["PAGER"], &*seen["TERM"]), ("cat", "dumb"));
    }

    #[test]
    fn a_tool_secret_can_be_passed_on_and_a_provider_key_cannot() {
        let inherited = [
            ("GH_TOKEN", "a"),
            ("OPENAI_API_KEY", "b"),
            ("_HERMES_FORCE_GROQ_API_KEY", "c"),
        ];
        let seen = seen(&inherited, |settings| {
            settings.env_passthrough = vec!["GH_TOKEN".into(), "OPENAI_API_KEY".into()];
        });
        assert_eq!(seen.get("GH_TOKEN").map(String::as_str), Some("a"));
        assert_eq!(seen.get("OPENAI_API_KEY"), None);
        // On the person's explicit word.
        assert_eq!(seen.get("GROQ_API_KEY").map(String::as_str), Some("c"));
    }

    #[test]
    fn programs_are_found_without_a_path() {
        assert_eq!(seen(&[], |_| {})["PATH"], SANE_PATH);
        assert_eq!(
            seen(&[("PATH", "/opt/bin")], |_| {})["PATH"],
            format!("/opt/bin:{SANE_PATH}")
        );
        assert_eq!(
            seen(&[("PATH", "/opt/bin:/usr/bin")], |_| {})["PATH"],
            "/opt/bin:/usr/bin"
        );
    }
}
