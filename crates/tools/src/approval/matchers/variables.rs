//! Variables that make other programs run something.

use super::super::shell::{Call, Scene};
use super::own::OWN_VARIABLES;

/// Their values are code, libraries to load, or commands; `true` for those of which harmless values are usual.
const TELLING: &[(&str, bool)] = &[
    ("LD_PRELOAD", false),
    ("LD_AUDIT", false),
    ("DYLD_INSERT_LIBRARIES", false),
    ("BASH_ENV", false),
    ("ENV", false),
    ("PROMPT_COMMAND", false),
    ("PS4", false),
    ("PERL5OPT", false),
    ("RUBYOPT", false),
    ("PYTHONSTARTUP", false),
    ("LESSOPEN", false),
    ("LESSCLOSE", false),
    ("GIT_SSH", true),
    ("GIT_SSH_COMMAND", true),
    ("GIT_EXTERNAL_DIFF", true),
    ("GIT_EDITOR", true),
    ("GIT_SEQUENCE_EDITOR", true),
    ("GIT_PAGER", true),
    ("GIT_ASKPASS", true),
    ("SSH_ASKPASS", true),
    ("GIT_PROXY_COMMAND", false),
    ("GIT_EXEC_PATH", false),
    ("GIT_TEMPLATE_DIR", false),
    ("GIT_CONFIG_PARAMETERS", false),
    ("GIT_CONFIG_COUNT", false),
    ("GIT_CONFIG_GLOBAL", true),
    ("GIT_CONFIG_SYSTEM", true),
    ("PAGER", true),
    ("MANPAGER", true),
    ("EDITOR", true),
    ("VISUAL", true),
];

/// Programs and files that such a variable may name.
const HARMLESS: &[&str] = &[
    "",
    "true",
    ":",
    "false",
    "cat",
    "less",
    "more",
    "vi",
    "vim",
    "nano",
    "emacs",
    "ssh",
    "/bin/true",
    "/bin/cat",
    "/usr/bin/true",
    "/dev/null",
    "/bin/false",
    "/bin/echo",
    "echo",
];

/// Whether a value of the variable `name` is looked at.
pub(in super::super) fn is_telling(name: &str) -> bool {
    TELLING.iter().any(|(telling, _)| *telling == name) || OWN_VARIABLES.contains(&name)
}

/// Whether `value` is known to be a harmless command.
pub(super) fn is_harmless(value: &str) -> bool {
    HARMLESS.contains(&value)
        || value.starts_with("ssh ")
            && !value.to_lowercase().contains("command")
            && !value.contains(['$', '`', ';', '|', '&'])
}

pub(in super::super) fn telling_variable(call: &Call, _: &Scene) -> bool {
    call.program == "export"
        && call.texts().any(|text| {
            let (name, value) = text.split_once('=').unwrap_or_default();
            TELLING
                .iter()
                .any(|(telling, usual)| *telling == name && !(*usual && is_harmless(value)))
        })
}
