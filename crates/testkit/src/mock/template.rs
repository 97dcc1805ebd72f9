//! `{i}`, `{payload:N}`, `{last_user}` and the others in the texts of a scenario.
//!
//! Only the exact forms are replaced: other braces are code or JSON and stay as they are.

use serde_json::Value;
use std::fmt::Write as _;

/// What the templates of one answer stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// `{i}`, `{i:03d}`
    pub(crate) number: usize,
    /// `{n_req}`
    pub(crate) request: usize,
    /// `{echo}`, and cut to 200 characters `{last_user}`
    pub(crate) last_user: String,
    /// `{grep}`
    pub(crate) grep: String,
}

impl Terms {
    /// The text with its templates filled in.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            out.push_str(&rest[..open]);
            rest = &rest[open..];
            let known = rest
                .find('}')
                .and_then(|close| Some((close, self.term(&rest[1..close])?)));
            if let Some((close, value)) = known {
                out.push_str(&value);
                rest = &rest[close + 1..];
            } else {
                out.push('{');
                rest = &rest[1..];
            }
        }
        out.push_str(rest);
        out
    }

    /// The value with the templates of all its strings filled in.
    pub(crate) fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(list) => list.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(map) => map
                .iter()
                .map(|(key, item)| (key.clone(), self.fill_value(item)))
                .collect(),
            other => other.clone(),
        }
    }

    fn term(&self, name: &str) -> Option<String> {
        match name {
            "i" => Some(self.number.to_string()),
            "n_req" => Some(self.request.to_string()),
            "echo" => Some(self.last_user.clone()),
            "last_user" => Some(self.last_user.chars().take(200).collect()),
            "grep" => Some(self.grep.clone()),
            _ => match name.split_once(':')? {
                ("payload", length) => length.parse().ok().map(filler),
                ("i", format) => padded(self.number, format.strip_suffix('d')?),
                _ => None,
            },
        }
    }
}

fn padded(number: usize, width: &str) -> Option<String> {
    let mut out = String::new();
    if width.is_empty() {
        return Some(number.to_string());
    }
    let wide: usize = width.parse().ok()?;
    let written = if width.starts_with('0') {
        write!(out, "{number:0wide$}")
    } else {
        write!(out, "{number:wide$}")
    };
    written.ok().map(|()| out)
}

/// So many bytes of plain text.
fn filler(length: usize) -> String {
    const LINE: &str = "The quick brown fox jumps over the lazy dog; 0123456789 lines of plain filler text, none of it secret. ";
    let mut text = String::with_capacity(length + LINE.len());
    while text.len() < length {
        for _ in 0..12 {
            text.push_str(LINE);
        }
        text.push('\n');
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_known_forms_are_replaced() {
        let terms = Terms {
            number: 7,
            request: 2,
            last_user: "hi".into(),
            grep: "a\nb".into(),
        };
        let text = "f{i:03d}.txt {i} {i:4d}| {n_req} {echo} {grep} {payload:3} {other} { {\"a\": 1} {i:x}";
        assert_eq!(
            terms.fill(text),
            "f007.txt 7    7| 2 hi a\nb The {other} { {\"a\": 1} {i:x}"
        );
    }
}
