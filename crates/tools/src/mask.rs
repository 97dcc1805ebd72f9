//! Masks secrets in what tools give back, before it is stored or sent.
//!
//! What a tool was asked to write is never touched: a masked secret in a file is
//! a destroyed secret.

use serde_json::Value;
use talaria_redact::{redact, redact_code};
use talaria_types::{Content, Part};

use crate::ToolOutput;

/// `text` with secrets masked.
pub(crate) fn text(text: &str) -> String {
    redact(text).into_owned()
}

/// Source code with secrets masked: assignments and JSON members that only look
/// like secrets stay readable.
pub(crate) fn code(text: &str) -> String {
    redact_code(text).into_owned()
}

/// Arguments for showing.
pub(crate) fn arguments(args: &Value) -> Value {
    let mut args = args.clone();
    leaves(&mut args);
    args
}

/// A tool's output.
pub(crate) fn output(mut output: ToolOutput) -> ToolOutput {
    match &mut output.content {
        Content::Text(text) => *text = result(text),
        Content::Parts(parts) => {
            for part in parts {
                if let Part::Text { text } = part {
                    *text = result(text);
                }
            }
        }
    }
    output
}

/// A result that may be JSON, with words behind it: secrets are looked for in its
/// strings, not in their escaped form, where a line break is a letter.
fn result(raw: &str) -> String {
    if raw.starts_with(['{', '[']) {
        let mut values = serde_json::Deserializer::from_str(raw).into_iter::<Value>();
        if let Some(Ok(mut value)) = values.next() {
            let rest = &raw[values.byte_offset()..];
            let json = if leaves(&mut value) {
                value.to_string()
            } else {
                raw[..values.byte_offset()].to_owned()
            };
            return json + &text(rest);
        }
    }
    text(raw)
}

/// Masks every string in `value`; whether there was anything to mask.
fn leaves(value: &mut Value) -> bool {
    match value {
        Value::String(leaf) => match redact(leaf) {
            std::borrow::Cow::Owned(masked) if masked != *leaf => {
                *leaf = masked;
                true
            }
            _ => false,
        },
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |changed, item| leaves(item) | changed),
        Value::Object(map) => map
            .values_mut()
            .fold(false, |changed, item| leaves(item) | changed),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Extensions of source code, where an assignment to `token` is code and not a secret.
const CODE: &[&str] = &[
    "c", "cc", "clj", "cpp", "cs", "css", "cxx", "dart", "ex", "exs", "go", "h", "hpp", "hs", "html", "java",
    "jl", "js", "jsx", "kt", "kts", "lua", "m", "md", "ml", "mjs", "php", "pl", "proto", "py", "pyi", "r",
    "rb", "rs", "scala", "sql", "svelte", "swift", "ts", "tsx", "vue", "zig",
];

/// The text of the file at `path` with secrets masked.
pub(crate) fn file(path: &std::path::Path, content: &str) -> String {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase);
    if extension.is_some_and(|extension| CODE.contains(&extension.as_str())) {
        code(content)
    } else {
        text(content)
    }
}

/// The lines of the file at `path` with secrets masked: as many lines as before, so
/// that their numbers stay right also where a secret took several of them.
pub(crate) fn lines(path: &std::path::Path, lines: &[&str]) -> Vec<String> {
    let masked = file(path, &lines.join("\n"));
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
