//! Repairs of JSON text whose meaning is certain.

use serde_json::{Deserializer, Value};

/// The first of several equal objects in a row, or one object before stray closing brackets.
pub(super) fn first_of_equal(text: &str) -> Option<Value> {
    let mut values = Deserializer::from_str(text).into_iter::<Value>();
    let first = values.next()?.ok()?;
    if !first.is_object() {
        return None;
    }
    let end = values.byte_offset();
    if text[end..]
        .chars()
        .all(|c| c.is_whitespace() || matches!(c, '}' | ']'))
    {
        return Some(first);
    }
    values
        .all(|value| value.is_ok_and(|value| value == first))
        .then_some(first)
}

/// `text` after all repairs that cannot change its meaning, when that makes it JSON.
pub(super) fn rewrite(text: &str) -> Option<Value> {
    let text = unwrap(text);
    serde_json::from_str(&clean(text)).ok()
}

/// Without a code fence, or bare quotes around an object.
fn unwrap(text: &str) -> &str {
    let text = text.trim();
    let fenced = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"));
    if let Some(inner) = fenced {
        return inner.trim();
    }
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match quoted.map(str::trim) {
        Some(inner) if inner.starts_with('{') && inner.ends_with('}') => inner,
        _ => text,
    }
}

/// Escapes raw control characters and lone surrogates in strings, drops trailing
/// commas, and writes Python's constants as JSON's.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '"' => string(rest, &mut out),
            ',' if rest[1..].trim_start().starts_with(['}', ']']) => 1,
            _ => match constant(rest, out.chars().next_back()) {
                Some((python, json)) => {
                    out.push_str(json);
                    python.len()
                }
                None => {
                    out.push(c);
                    c.len_utf8()
                }
            },
        };
        rest = &rest[taken..];
    }
    out
}

fn constant(rest: &str, before: Option<char>) -> Option<(&'static str, &'static str)> {
    const CONSTANTS: [(&str, &str); 3] = [("True", "true"), ("False", "false"), ("None", "null")];
    if before.is_some_and(char::is_alphanumeric) {
        return None;
    }
    CONSTANTS.into_iter().find(|(python, _)| {
        rest.strip_prefix(python)
            .is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    })
}

/// Copies the string at the start of `rest` and tells how many bytes it took.
fn string(rest: &str, out: &mut String) -> usize {
    out.push('"');
    let bytes = rest.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                out.push('"');
                return at + 1;
            }
            b'\\' => at += escape(&rest[at..], out),
            control @ 0..=0x1f => {
                match control {
                    b'\n' => out.push_str("\\n"),
                    b'\r' => out.push_str("\\r"),
                    b'\t' => out.push_str("\\t"),
                    other => out.push_str(&format!("\\u{other:04x}")),
                }
                at += 1;
            }
            _ => {
                let c = rest[at..].chars().next().unwrap_or_default();
                out.push(c);
                at += c.len_utf8().max(1);
            }
        }
    }
    at
}

/// Copies the escape at the start of `rest`; a surrogate without its pair becomes U+FFFD.
fn escape(rest: &str, out: &mut String) -> usize {
    let Some(kind) = rest[1..].chars().next() else {
        out.push('\\');
        return 1;
    };
    if kind == '\'' {
        out.push('\'');
        return 2;
    }
    let Some(unit) = unicode_escape(rest) else {
        out.push('\\');
        out.push(kind);
        return 1 + kind.len_utf8();
    };
    let pair = matches!(unit, 0xd800..=0xdbff)
        && rest
            .get(6..)
            .and_then(unicode_escape)
            .is_some_and(|low| matches!(low, 0xdc00..=0xdfff));
    match unit {
        _ if pair => {
            out.push_str(&rest[..12]);
            12
        }
        0xd800..=0xdfff => {
            out.push_str("\\ufffd");
            6
        }
        _ => {
            out.push_str(&rest[..6]);
            6
        }
    }
}

fn unicode_escape(rest: &str) -> Option<u32> {
    let digits = rest.strip_prefix("\\u")?.get(..4)?;
    digits
        .chars()
        .all(|c| c.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

/// The character at which `error` was noticed, from 1.
pub(super) fn offset(text: &str, error: &serde_json::Error) -> usize {
    let byte = byte_offset(text, error);
    text.char_indices().take_while(|(at, _)| *at < byte).count()
}

/// A few characters around the error.
pub(super) fn near(text: &str, error: &serde_json::Error) -> String {
    const AROUND: usize = 16;
    let at = offset(text, error);
    text.chars()
        .skip(at.saturating_sub(AROUND))
        .take(2 * AROUND)
        .collect()
}

fn byte_offset(text: &str, error: &serde_json::Error) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    (before + error.column()).min(text.len())
}
