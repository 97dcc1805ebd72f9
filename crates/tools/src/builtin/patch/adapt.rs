//! Fits the new text to what was found, so that an edit changes only what it is about.

use similar::{DiffOp, TextDiff};

use super::find::{Adapt, Lines, likeness, typed, unescape};

/// What takes the place of `region`, for which `old` was written and `new` is wanted.
pub(super) fn adapt(how: Adapt, region: &str, old: &str, new: &str) -> String {
    match how {
        Adapt::Verbatim => new.to_owned(),
        Adapt::Lines => lines(region, old, new),
        Adapt::Characters => characters(region, old, new),
        Adapt::Unescape => unescape(new),
        Adapt::Trim => trim(old, new),
    }
}

fn lines(region: &str, old: &str, new: &str) -> String {
    let (was, wrote, want) = (
        Lines::new(region).lines,
        Lines::new(old).lines,
        Lines::new(new).lines,
    );
    let indents = Indents::new(&was, &wrote);
    let mut out: Vec<String> = Vec::with_capacity(want.len());
    if was.len() == wrote.len() {
        let diff = TextDiff::from_slices(&wrote, &want);
        for op in diff.ops() {
            match op {
                DiffOp::Equal { old_index, len, .. } => {
                    out.extend(
                        was[*old_index..old_index + len]
                            .iter()
                            .map(|line| (*line).to_owned()),
                    );
                }
                DiffOp::Delete { .. } => {}
                DiffOp::Insert {
                    new_index, new_len, ..
                }
                | DiffOp::Replace {
                    new_index, new_len, ..
                } => {
                    out.extend(
                        want[*new_index..new_index + new_len]
                            .iter()
                            .map(|line| indents.fit(line)),
                    );
                }
            }
        }
    } else {
        out.extend(want.iter().map(|line| indents.fit(line)));
    }
    let mut text = out.join("\n");
    if new.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Whether each line that goes is at least like the line of the region that would go for it.
pub(super) fn is_plausible(region: &str, old: &str, new: &str) -> bool {
    const LIKE: f32 = 0.6;
    let (was, wrote, want) = (
        Lines::new(region).lines,
        Lines::new(old).lines,
        Lines::new(new).lines,
    );
    let alike = |at: usize| {
        was.get(at)
            .is_some_and(|was| likeness(was.trim(), wrote[at].trim()) >= LIKE)
    };
    TextDiff::from_slices(&wrote, &want)
        .ops()
        .iter()
        .all(|op| match op {
            DiffOp::Delete {
                old_index, old_len, ..
            }
            | DiffOp::Replace {
                old_index, old_len, ..
            } => (*old_index..old_index + old_len).all(alike),
            DiffOp::Equal { .. } | DiffOp::Insert { .. } => true,
        })
}

/// The indentation that the model wrote, and what it is in the file.
struct Indents<'t>(Vec<(&'t str, &'t str)>);

impl<'t> Indents<'t> {
    fn new(was: &[&'t str], wrote: &[&'t str]) -> Self {
        let pairs = wrote
            .iter()
            .zip(was)
            .filter(|(wrote, was)| !wrote.trim().is_empty() && !was.trim().is_empty());
        let mut known: Vec<(&str, &str)> = Vec::new();
        for (wrote, was) in pairs {
            let pair = (indent(wrote), indent(was));
            if !known.iter().any(|(wrote, _)| *wrote == pair.0) {
                known.push(pair);
            }
        }
        Self(known)
    }

    /// `line` with the indentation it has in the file.
    fn fit(&self, line: &str) -> String {
        let own = indent(line);
        if line.trim().is_empty() || self.0.is_empty() {
            return line.to_owned();
        }
        let text = &line[own.len()..];
        let below = self
            .0
            .iter()
            .filter(|(wrote, _)| own.starts_with(wrote))
            .max_by_key(|(wrote, _)| wrote.len());
        if let Some((wrote, was)) = below {
            let deeper = &own[wrote.len()..];
            return format!("{was}{}{text}", in_style_of(was, deeper));
        }
        // Less deep than all that was written: step back from the least deep one.
        let Some((wrote, was)) = self.0.iter().min_by_key(|(wrote, _)| wrote.len()) else {
            return line.to_owned();
        };
        let back = wrote.len().saturating_sub(own.len());
        format!("{}{text}", &was[..was.len().saturating_sub(back)])
    }
}

/// Further indentation, in tabs where the file has them.
fn in_style_of(was: &str, deeper: &str) -> String {
    const TAB: usize = 4;
    if was.contains('\t') && deeper.chars().all(|c| c == ' ') {
        return "\t".repeat(deeper.len().div_ceil(TAB));
    }
    deeper.to_owned()
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The region with the same characters changed that change from `old` to `new`.
fn characters(region: &str, old: &str, new: &str) -> String {
    // For each character of the old text as typed: the piece of the region it is, or
    // an empty piece for the second and further ones that stand for one of the file.
    let mut pieces: Vec<String> = Vec::new();
    for c in region.chars() {
        let width = typed(c).map_or(1, str::len);
        pieces.push(c.to_string());
        pieces.extend(std::iter::repeat_n(String::new(), width - 1));
    }
    let plain = |text: &str| -> Vec<String> {
        text.chars()
            .flat_map(|c| {
                typed(c).map_or_else(|| vec![c.to_string()], |t| t.chars().map(String::from).collect())
            })
            .collect()
    };
    let (old, new_plain) = (plain(old), plain(new));
    if old.len() != pieces.len() {
        return new.to_owned();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.iter().map(String::as_str).collect(),
        new_plain.iter().map(String::as_str).collect(),
    );
    let mut out = String::with_capacity(region.len());
    for op in TextDiff::from_slices(&old, &new).ops() {
        match op {
            DiffOp::Equal { old_index, len, .. } => {
                out.extend(pieces[*old_index..old_index + len].iter().cloned());
            }
            DiffOp::Delete { .. } => {}
            DiffOp::Insert {
                new_index, new_len, ..
            }
            | DiffOp::Replace {
                new_index, new_len, ..
            } => {
                out.extend(new[*new_index..new_index + new_len].iter().copied());
            }
        }
    }
    out
}

/// `new` without the blank space that `old` had around it in vain.
fn trim(old: &str, new: &str) -> String {
    let head = &old[..old.len() - old.trim_start().len()];
    let tail = &old[old.trim_end().len()..];
    let new = new.strip_prefix(head).unwrap_or(new);
    new.strip_suffix(tail).unwrap_or(new).to_owned()
}
