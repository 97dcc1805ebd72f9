//! Changes one value of a YAML text and leaves every other byte as it is.
//!
//! Only the bytes of the value (or of the line that is added or taken away) change,
//! so comments, order, quotes and unknown keys stay. It does not trust itself: the
//! caller's [`set`] and [`unset`] read the result back and refuse it unless exactly
//! the asked value differs.

use std::ops::Range;

use layout::{Entry, Place, Shape, layout};

use crate::yaml::{self, Node, Value};

mod layout;

/// Why a text could not be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is no YAML; line and reason.
    Broken(u64, String),
    /// A part of the path is a value, not a section; its line.
    NotASection(u64),
    /// The text is written in a way this editor cannot change safely.
    Unsafe,
}

impl From<yaml::Broken> for Refusal {
    fn from(broken: yaml::Broken) -> Self {
        Self::Broken(broken.line, broken.detail)
    }
}

/// `text` with the value at the dotted `path` written as `written` (a scalar or a flow collection).
pub(crate) fn set(text: &str, path: &str, written: &str) -> Result<String, Refusal> {
    let before = yaml::parse(text)?;
    let value = yaml::parse(written)?.map_or(Value::Null, |node| node.value);
    let changed = match layout(text) {
        Some(root) => place(text, &root, path, written)?,
        None => joined(text, &block(&split(path), written, 0)),
    };
    let mut wanted = before.unwrap_or(Node {
        line: 0,
        value: Value::Map(Vec::new()),
    });
    assign(&mut wanted, path, value);
    checked(changed, Some(wanted))
}

/// `text` without the value at the dotted `path`; nothing when it is not there.
pub(crate) fn unset(text: &str, path: &str) -> Result<Option<String>, Refusal> {
    let Some(mut wanted) = yaml::parse(text)? else {
        return Ok(None);
    };
    if wanted.at(path).is_none() {
        return Ok(None);
    }
    let root = layout(text).ok_or(Refusal::Unsafe)?;
    let range = doomed(text, &root, path).ok_or(Refusal::Unsafe)?;
    let mut changed = text.to_owned();
    changed.replace_range(range, "");
    remove(&mut wanted, path);
    checked(changed, Some(wanted)).map(Some)
}

fn checked(changed: String, wanted: Option<Node>) -> Result<String, Refusal> {
    let got = yaml::parse(&changed).map_err(|_| Refusal::Unsafe)?;
    let is_empty = |node: &Node| match &node.value {
        Value::Map(entries) => entries.is_empty(),
        Value::Null => true,
        Value::Scalar { .. } | Value::List(_) => false,
    };
    let bare = |node: Option<Node>| node.map(stripped).filter(|node| !is_empty(node));
    if bare(got) == bare(wanted) {
        Ok(changed)
    } else {
        Err(Refusal::Unsafe)
    }
}

/// The tree without what a rewrite may change: lines, quotes, and sections left empty.
fn stripped(node: Node) -> Node {
    let value = match node.value {
        Value::Scalar { text, .. } => Value::Scalar { text, plain: true },
        Value::List(items) => Value::List(items.into_iter().map(stripped).collect()),
        Value::Map(entries) => {
            let mut bare: Vec<_> = entries
                .into_iter()
                .map(|(key, inner)| (key, stripped(inner)))
                .collect();
            bare.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Map(bare)
        }
        Value::Null => Value::Null,
    };
    Node { line: 0, value }
}

fn assign(node: &mut Node, path: &str, value: Value) {
    if let Value::Scalar { .. } = node.value {
        let old = std::mem::replace(&mut node.value, Value::Null);
        node.value = Value::Map(vec![("default".to_owned(), Node { line: 0, value: old })]);
    }
    if let Value::Null = node.value {
        node.value = Value::Map(Vec::new());
    }
    let (head, rest) = match &node.value {
        Value::Map(entries) => step(entries.iter().map(|(key, _)| key.as_str()), path),
        Value::List(_) => path
            .split_once('.')
            .map_or((path, None), |(head, rest)| (head, Some(rest))),
        Value::Null | Value::Scalar { .. } => return,
    };
    let inner = match &mut node.value {
        Value::Map(entries) => {
            if !entries.iter().any(|(key, _)| key == head) {
                entries.push((
                    head.to_owned(),
                    Node {
                        line: 0,
                        value: Value::Null,
                    },
                ));
            }
            entries
                .iter_mut()
                .find(|(key, _)| key == head)
                .map(|(_, inner)| inner)
        }
        Value::List(items) => head.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
        Value::Null | Value::Scalar { .. } => None,
    };
    match (inner, rest) {
        (Some(inner), Some(rest)) => assign(inner, rest, value),
        (Some(inner), None) => inner.value = value,
        (None, _) => {}
    }
}

/// Takes the value away, and the sections that held nothing else.
fn remove(node: &mut Node, path: &str) {
    let Value::Map(entries) = &mut node.value else {
        return;
    };
    let (head, rest) = step(entries.iter().map(|(key, _)| key.as_str()), path);
    if let Some(rest) = rest
        && let Some((_, inner)) = entries.iter_mut().find(|(key, _)| key == head)
    {
        remove(inner, rest);
        if !inner.entries().is_empty() {
            return;
        }
    }
    entries.retain(|(key, _)| key != head);
}

/// The first part of `path`: an existing key even if it has dots, else up to the first dot.
fn step(keys: impl Iterator<Item = impl AsRef<str>>, path: &str) -> (&str, Option<&str>) {
    let fits = |key: &str| {
        path.strip_prefix(key)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let longest = keys
        .filter(|key| fits(key.as_ref()))
        .map(|key| key.as_ref().len())
        .max();
    let end = longest.unwrap_or_else(|| path.find('.').unwrap_or(path.len()));
    let (head, rest) = path.split_at(end);
    (head, rest.strip_prefix('.'))
}

fn split(path: &str) -> Vec<&str> {
    path.split('.').collect()
}

/// Writes the value under `at`.
fn place(text: &str, at: &Place, path: &str, written: &str) -> Result<String, Refusal> {
    match &at.shape {
        Shape::Map { flow, entries } => {
            let (head, rest) = step(entries.iter().map(|entry| entry.key.as_str()), path);
            match (entries.iter().rev().find(|entry| entry.key == head), rest) {
                (Some(entry), Some(rest)) => below(text, entry, rest, written),
                (Some(entry), None) => Ok(replaced(text, entry, written)),
                (None, _) if *flow => Ok(in_flow(text, at, entries.is_empty(), path, written)),
                (None, _) => {
                    let column = entries.first().map_or(0, |entry| entry.column);
                    Ok(after_line(
                        text,
                        at.bytes.end,
                        &block(&split(path), written, column),
                    ))
                }
            }
        }
        Shape::List { items, .. } => {
            let (head, rest) = path.split_once('.').ok_or(Refusal::NotASection(at.line))?;
            let index = head.parse::<usize>().map_err(|_| Refusal::NotASection(at.line))?;
            place(
                text,
                items.get(index).ok_or(Refusal::NotASection(at.line))?,
                rest,
                written,
            )
        }
        Shape::Scalar | Shape::Long | Shape::Empty => Err(Refusal::NotASection(at.line)),
    }
}

/// Writes the value somewhere below `entry`.
fn below(text: &str, entry: &Entry, rest: &str, written: &str) -> Result<String, Refusal> {
    let deeper = entry.column + 2;
    match &entry.value.shape {
        Shape::Empty => Ok(after_line(
            text,
            entry.value.bytes.end,
            &block(&split(rest), written, deeper),
        )),
        // `model: NAME` is short for `model: {default: NAME}`.
        Shape::Scalar if entry.key == "model" && entry.column == 0 => {
            let old = text.get(entry.value.bytes.clone()).unwrap_or_default();
            let new = block(&split(rest), written, deeper);
            let new = new.trim_end();
            let lines = if rest == "default" {
                format!("\n{new}")
            } else {
                format!("\n  default: {old}\n{new}")
            };
            let mut changed = text.to_owned();
            let after_colon = entry.value.bytes.start - blanks_before(text, entry.value.bytes.start);
            changed.replace_range(after_colon..entry.value.bytes.end, &lines);
            Ok(changed)
        }
        Shape::Map { flow: true, entries } if entries.is_empty() => {
            let lines = format!("\n{}", block(&split(rest), written, deeper).trim_end());
            let mut changed = text.to_owned();
            let after_colon = entry.value.bytes.start - blanks_before(text, entry.value.bytes.start);
            changed.replace_range(after_colon..entry.value.bytes.end, &lines);
            Ok(changed)
        }
        Shape::Scalar | Shape::Long | Shape::Map { .. } | Shape::List { .. } => {
            place(text, &entry.value, rest, written)
        }
    }
}

fn blanks_before(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.len() - before.trim_end_matches([' ', '\t']).len()
}

fn replaced(text: &str, entry: &Entry, written: &str) -> String {
    let mut changed = text.to_owned();
    let bytes = entry.value.bytes.clone();
    match entry.value.shape {
        Shape::Empty => changed.insert_str(bytes.start, &format!(" {written}")),
        Shape::Scalar | Shape::Map { flow: true, .. } | Shape::List { flow: true, .. } => {
            changed.replace_range(bytes, written);
        }
        Shape::Long | Shape::Map { flow: false, .. } | Shape::List { flow: false, .. } => {
            let colon = text
                .get(entry.key_bytes.end..)
                .and_then(|rest| rest.find(':'))
                .unwrap_or(0);
            changed.replace_range(entry.key_bytes.end + colon + 1..bytes.end, &format!(" {written}"));
        }
    }
    changed
}

fn in_flow(text: &str, at: &Place, empty: bool, path: &str, written: &str) -> String {
    let parts = split(path);
    let mut changed = text.to_owned();
    if empty {
        // `{}` alone on its line: go on in block style.
        changed.replace_range(at.bytes.clone(), block(&parts, written, 0).trim_end());
        return changed;
    }
    let nested = parts.iter().rev().skip(1).fold(
        format!("{}: {written}", parts.last().copied().unwrap_or_default()),
        |inner, part| format!("{part}: {{{inner}}}"),
    );
    let close = at.bytes.end.saturating_sub(1);
    let before = text.get(..close).unwrap_or_default();
    let insert_at = before.trim_end().len();
    let comma = if before.trim_end().ends_with(',') {
        " "
    } else {
        ", "
    };
    changed.insert_str(insert_at, &format!("{comma}{nested}"));
    changed
}

/// Lines of `a:\n  b: written`, indented by `column`.
fn block(parts: &[&str], written: &str, column: usize) -> String {
    let mut lines = String::new();
    for (depth, part) in parts.iter().enumerate() {
        let indent = " ".repeat(column + 2 * depth);
        let value = if depth + 1 == parts.len() {
            format!(" {written}")
        } else {
            String::new()
        };
        lines.push_str(&format!("{indent}{}:{value}\n", scalar(part)));
    }
    lines
}

fn after_line(text: &str, at: usize, lines: &str) -> String {
    let line_end = text
        .get(at..)
        .and_then(|rest| rest.find('\n'))
        .map_or(text.len(), |index| at + index + 1);
    let (before, after) = text.split_at(line_end);
    joined(before, lines) + after
}

fn joined(before: &str, lines: &str) -> String {
    let gap = if before.is_empty() || before.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{before}{gap}{lines}")
}

/// The bytes to take away so that `path` is gone, with sections that held nothing else.
fn doomed(text: &str, at: &Place, path: &str) -> Option<Range<usize>> {
    let Shape::Map { flow, entries } = &at.shape else {
        return None;
    };
    let (head, rest) = step(entries.iter().map(|entry| entry.key.as_str()), path);
    let index = entries.iter().rposition(|entry| entry.key == head)?;
    let entry = entries.get(index)?;
    if let Some(rest) = rest {
        let only = matches!(&entry.value.shape, Shape::Map { entries, .. } if entries.len() == 1);
        let inner = doomed(text, &entry.value, rest)?;
        let leaves_nothing = only && is_last_of(&entry.value, rest);
        if !leaves_nothing {
            return Some(inner);
        }
    }
    if *flow {
        let end = entries.get(index + 1).map(|next| next.key_bytes.start);
        let start = if end.is_none() && index > 0 {
            entries.get(index - 1)?.value.bytes.end
        } else {
            entry.key_bytes.start
        };
        return Some(start..end.unwrap_or(entry.value.bytes.end));
    }
    let line_start = text
        .get(..entry.key_bytes.start)?
        .rfind('\n')
        .map_or(0, |index| index + 1);
    let alone = text.get(line_start..entry.key_bytes.start)?.trim().is_empty();
    let end = entry.value.bytes.end.max(entry.key_bytes.end);
    let line_end = text
        .get(end..)?
        .find('\n')
        .map_or(text.len(), |index| end + index + 1);
    alone.then_some(line_start..line_end)
}

/// Whether taking `path` away leaves `at` empty.
fn is_last_of(at: &Place, path: &str) -> bool {
    let Shape::Map { entries, .. } = &at.shape else {
        return false;
    };
    let (head, rest) = step(entries.iter().map(|entry| entry.key.as_str()), path);
    let [only] = entries.as_slice() else { return false };
    only.key == head && rest.is_none_or(|rest| is_last_of(&only.value, rest))
}

/// A text as a YAML scalar that is read back as this text.
pub(crate) fn scalar(text: &str) -> String {
    let starts_plainly = text.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._~".contains(c));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@+~".contains(c);
    let means_itself = !text.ends_with(':')
        && crate::slot::truth(text).is_none()
        && text.parse::<f64>().is_err()
        && !matches!(text, "~" | "null" | "Null" | "NULL");
    if starts_plainly && text.chars().all(plain) && means_itself {
        return text.to_owned();
    }
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
