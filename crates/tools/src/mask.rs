//! Masks secrets in what tools give back, before it is stored or sent.
//!
//! What a tool was asked to write is never touched: a masked secret in a file is
//! a destroyed secret. Files of source code keep their names and values readable; other files and
//! output are masked by names as well, and what prints the environment whatever it looks like.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{LazyLock, PoisonError, RwLock};

use regex::Regex;
use serde_json::Value;
use talaria_redact::{KnownSecrets, redact, redact_code, redact_output};
use talaria_types::{Content, Part};

use crate::ToolOutput;

/// How much is masked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What is secret by its own shape; code stays readable.
    Code,
    /// What is secret by its name too, unless it may as well be code.
    Output,
    /// What is secret by its name, whatever it looks like.
    Everything,
}

/// The masking of one session.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    known: RwLock<KnownSecrets>,
}

/// Names of files that hold little but secrets.
const SECRET_FILES: &[&str] = &[
    ".env",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    "credentials",
    "auth.json",
    "secrets.json",
    "secrets.yaml",
];

/// Endings of files of source code, where a value behind a name is part of the program.
const SOURCE: &[&str] = &[
    "rs", "py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "svelte", "go", "java", "kt", "kts",
    "scala", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "cs", "m", "mm", "swift", "rb", "php", "pl", "pm",
    "lua", "r", "jl", "ex", "exs", "erl", "hs", "ml", "clj", "dart", "zig", "nim", "html", "css", "scss",
    "sql", "md", "rst", "diff", "patch",
];

/// Commands whose output is variables and their values.
static ENVIRONMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let command = "env|printenv|set|export|declare|docker[ \\t]+inspect";
    Regex::new(&format!(
        r"(?:^|[ \t\n;&|(`])(?:{command})(?:$|[ \t\n;&|)`])|[.]env(?:$|[^0-9A-Za-z_])|/environ(?:$|[^0-9A-Za-z_])"
    ))
    .ok()
});

impl Mask {
    /// Hides `values` wherever they turn up, besides what looks secret.
    pub(crate) fn hide(&self, values: impl IntoIterator<Item = String>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = KnownSecrets::new(values);
    }

    /// `text` with secrets masked.
    pub(crate) fn text<'t>(&self, text: &'t str, mode: Mode) -> Cow<'t, str> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let shaped = |text: &str| match mode {
            Mode::Code => redact_code(text).into_owned(),
            Mode::Output => redact_output(text).into_owned(),
            Mode::Everything => redact(text).into_owned(),
        };
        match (known.mask(text), mode) {
            (Cow::Owned(text), _) => shaped(&text).into(),
            (Cow::Borrowed(text), Mode::Code) => redact_code(text),
            (Cow::Borrowed(text), Mode::Output) => redact_output(text),
            (Cow::Borrowed(text), Mode::Everything) => redact(text),
        }
    }

    /// The text of the file at `path`.
    pub(crate) fn file(&self, path: &Path, content: &str) -> String {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase())
            .unwrap_or_default();
        let secret =
            SECRET_FILES.contains(&name.as_str()) || name.starts_with(".env.") || name.ends_with(".env");
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let mode = match secret {
            true => Mode::Everything,
            false if SOURCE.contains(&extension.as_str()) => Mode::Code,
            false => Mode::Output,
        };
        self.text(content, mode).into_owned()
    }

    /// The lines of the file at `path`: as many as before, so that their numbers stay
    /// right also where a secret took several of them.
    pub(crate) fn lines(&self, path: &Path, lines: &[&str]) -> Vec<String> {
        let masked = self.file(path, &lines.join("\n"));
        let mut after: Vec<String> = masked.split('\n').map(str::to_owned).collect();
        if lines.is_empty() {
            after.clear();
        }
        if after.len() < lines.len() {
            let same = |(real, masked): &(&&str, &String)| **real == masked.as_str();
            let below = lines
                .iter()
                .rev()
                .zip(after.iter().rev())
                .take_while(same)
                .count();
            let at = after.len() - below;
            let missing = lines.len() - after.len();
            after.splice(at..at, std::iter::repeat_n(String::new(), missing));
        }
        after.truncate(lines.len());
        after
    }

    /// Arguments for showing.
    pub(crate) fn arguments(&self, args: &Value) -> Value {
        let mut args = args.clone();
        self.leaves(&mut args, Mode::Everything);
        args
    }

    /// The output of a call with `args`.
    pub(crate) fn output(&self, mut output: ToolOutput, args: &Value) -> ToolOutput {
        let command = args["command"].as_str().unwrap_or_default();
        let environment =
            !command.is_empty() && ENVIRONMENT.as_ref().is_some_and(|words| words.is_match(command));
        let mode = if environment {
            Mode::Everything
        } else {
            Mode::Output
        };
        match &mut output.content {
            Content::Text(text) => *text = self.result(text, mode),
            Content::Parts(parts) => {
                for part in parts {
                    if let Part::Text { text } = part {
                        *text = self.result(text, mode);
                    }
                }
            }
        }
        output
    }

    /// A result that may be JSON, with words behind it: secrets are looked for in its
    /// strings, not in their escaped form, where a line break is a letter.
    fn result(&self, raw: &str, mode: Mode) -> String {
        if raw.starts_with(['{', '[']) {
            let mut values = serde_json::Deserializer::from_str(raw).into_iter::<Value>();
            if let Some(Ok(mut value)) = values.next() {
                let end = values.byte_offset();
                let changed = self.leaves(&mut value, mode);
                let json = if changed {
                    value.to_string()
                } else {
                    raw[..end].to_owned()
                };
                return json + &self.text(&raw[end..], mode);
            }
        }
        self.text(raw, mode).into_owned()
    }

    /// Masks every string in `value`; whether there was anything to mask.
    fn leaves(&self, value: &mut Value, mode: Mode) -> bool {
        match value {
            Value::String(leaf) => match self.text(leaf, mode) {
                Cow::Owned(masked) if masked != *leaf => {
                    *leaf = masked;
                    true
                }
                Cow::Owned(_) | Cow::Borrowed(_) => false,
            },
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |changed, item| self.leaves(item, mode) | changed),
            Value::Object(map) => map.iter_mut().fold(false, |changed, (name, item)| {
                self.leaves(item, mode) | hide_named(name, item, mode) | changed
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

/// Masks a string that is secret by the name it has in its object.
fn hide_named(name: &str, value: &mut Value, mode: Mode) -> bool {
    let Value::String(leaf) = value else { return false };
    let plain = !leaf.is_empty() && !leaf.contains(['"', '\\', '\n']);
    let (true, false) = (plain, mode == Mode::Code) else {
        return false;
    };
    let pair = format!("\"{name}\": \"{leaf}\"");
    let masked = match mode {
        Mode::Everything => redact(&pair),
        Mode::Output | Mode::Code => redact_output(&pair),
    };
    let bare = masked
        .strip_prefix(&format!("\"{name}\": \""))
        .and_then(|rest| rest.strip_suffix('"'));
    match bare {
        Some(bare) if bare != leaf => {
            *leaf = bare.to_owned();
            true
        }
        Some(_) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH";

    fn output(mask: &Mask, text: &str, command: &str) -> String {
        let output = ToolOutput {
            content: text.into(),
            brief: String::new(),
            ok: true,
        };
        mask.output(output, &json!({ "command": command }))
            .content
            .text()
            .into_owned()
    }

    #[test]
    fn a_result_stays_json_when_its_strings_are_masked() {
        let mask = Mask::default();
        let text = json!({"output": format!("a\nKEY={KEY}\nnext line"), "exit_code": 0}).to_string();
        let masked = output(&mask, &format!("{text}\n\n[note {KEY}]"), "cat x");
        assert!(!masked.contains(KEY), "{masked}");
        let value: Value = serde_json::Deserializer::from_str(&masked)
            .into_iter()
            .next()
            .unwrap()
            .unwrap();
        assert!(value["output"].as_str().unwrap().ends_with("\nnext line"));
    }

    #[test]
    fn code_stays_readable_unless_the_environment_is_printed() {
        let mask = Mask::default();
        let code = json!({"output": "db_password = \"hunter2hunter2\""}).to_string();
        assert_eq!(output(&mask, &code, "cat notes.py"), code);
        for command in ["env | sort", "printenv", "cd x && export -p", "cat .env"] {
            assert!(!output(&mask, &code, command).contains("hunter2"), "{command}");
        }
        assert_eq!(output(&mask, &code, "cat environment.md"), code);
    }

    #[test]
    fn a_password_that_one_tool_masks_is_masked_by_every_other() {
        let mask = Mask::default();
        for text in [
            "password=hunter2",
            "password: hunter2",
            "DB_PASS=hunter2",
            "curl -u bob:hunter2 h",
        ] {
            let result = json!({ "output": text }).to_string();
            assert!(
                !output(&mask, &result, "cat notes.txt").contains("hunter2"),
                "{text}"
            );
            assert!(!output(&mask, text, "").contains("hunter2"), "{text}");
            assert!(
                !mask.file(Path::new("a.yaml"), text).contains("hunter2"),
                "{text}"
            );
        }
        let named = json!({"api_key": "abc123", "token": "string", "n": 1}).to_string();
        assert_eq!(
            output(&mask, &named, ""),
            json!({"api_key": "***", "token": "string", "n": 1}).to_string()
        );
        assert_eq!(
            mask.file(Path::new("a.py"), "password=hunter2"),
            "password=hunter2"
        );
    }

    #[test]
    fn the_programs_own_secrets_are_masked_whatever_they_look_like() {
        let mask = Mask::default();
        mask.hide(["local-word-000".to_owned()]);
        assert!(!output(&mask, "the key is local-word-000", "x").contains("local-word-000"));
        assert_eq!(
            mask.arguments(&json!({"a": ["local-word-000"]})),
            json!({"a": ["***"]})
        );
    }

    #[test]
    fn line_numbers_stay_right_below_a_private_key() {
        let mask = Mask::default();
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----";
        let text = format!("above\n{key}\nbelow");
        let lines: Vec<&str> = text.lines().collect();
        let masked = mask.lines(Path::new("x.txt"), &lines);
        assert_eq!(masked.len(), lines.len());
        assert_eq!((masked[0].as_str(), masked[5].as_str()), ("above", "below"));
        assert!(!masked.concat().contains("MIIE"));
        assert!(mask.lines(Path::new("x"), &[]).is_empty());
    }
}
