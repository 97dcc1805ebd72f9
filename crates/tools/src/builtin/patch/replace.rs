//! Replaces one text by another in a file's text, or says why that cannot be.

use std::ops::Range;

use super::adapt::{adapt, is_plausible};
use super::find::{Adapt, Lines, STRATEGIES, Strategy, likeness};
use crate::files::shown::{self, Numbered};

/// A wanted replacement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    /// Every place where it is, not only one.
    pub(super) all: bool,
}

/// What came of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replaced {
    pub(super) text: String,
    /// What the model should know.
    pub(super) hint: Option<String>,
}

/// Why nothing was replaced, and parts of the file that may have been meant.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) why: String,
    pub(super) nearest: Vec<String>,
}

impl From<String> for Refused {
    fn from(why: String) -> Self {
        Self {
            why,
            nearest: Vec::new(),
        }
    }
}

/// Replaces in `text`.
pub(super) fn replace(text: &str, wanted: Wanted<'_>) -> Result<Replaced, Refused> {
    if wanted.old.is_empty() {
        return Err("old_string is empty; give the text to replace, or use write_file"
            .to_owned()
            .into());
    }
    if wanted.old == wanted.new {
        return Err("old_string and new_string are equal; there is nothing to change"
            .to_owned()
            .into());
    }
    for strategy in STRATEGIES {
        let mut found = (strategy.find)(text, wanted.old);
        if strategy.adapt == Adapt::Lines {
            found.retain(|range| is_plausible(&text[range.clone()], wanted.old, wanted.new));
        }
        if !found.is_empty() {
            return apply(text, wanted, strategy, &found);
        }
    }
    if let Some(replaced) = without_line_numbers(text, wanted) {
        return replaced;
    }
    Err(Refused {
        why: "old_string was not found in the file; read the file and copy the text exactly".to_owned(),
        nearest: nearest(text, wanted.old),
    })
}

fn apply(
    text: &str,
    wanted: Wanted<'_>,
    strategy: &Strategy,
    found: &[Range<usize>],
) -> Result<Replaced, Refused> {
    if found.len() > 1 && !wanted.all {
        return Err(ambiguous(text, found).into());
    }
    let exact = strategy.adapt == Adapt::Verbatim;
    if !exact && let Some(escape) = drifted(text, wanted, found) {
        return Err(format!(
            "escape drift: old_string and new_string contain {escape}, which the file has not at that place; send \
             both without the extra backslash"
        )
        .into());
    }
    if exact && shown::numbers(wanted.new) == Numbered::Padded && shown::numbers(wanted.old) == Numbered::No {
        return Err(
            "every line of new_string begins with a line number prefix as read_file shows it; the numbers \
                    are not part of the file"
                .to_owned()
                .into(),
        );
    }
    let mut out = String::with_capacity(text.len() + wanted.new.len());
    let mut at = 0;
    for range in found {
        out.push_str(&text[at..range.start]);
        out.push_str(&adapt(
            strategy.adapt,
            &text[range.clone()],
            wanted.old,
            wanted.new,
        ));
        at = range.end;
    }
    out.push_str(&text[at..]);
    if out == text {
        return Err("the file already is as wanted; nothing was changed"
            .to_owned()
            .into());
    }
    let hint = (!exact).then(|| {
        format!(
            "matched by {}: old_string was not exactly the text of the file",
            strategy.name
        )
    });
    Ok(Replaced { text: out, hint })
}

/// How often and where.
fn ambiguous(text: &str, found: &[Range<usize>]) -> String {
    const LISTED: usize = 10;
    let line = |range: &Range<usize>| (text[..range.start].matches('\n').count() + 1).to_string();
    let mut lines: Vec<String> = found.iter().take(LISTED).map(line).collect();
    if found.len() > LISTED {
        lines.push("…".to_owned());
    }
    format!(
        "old_string was found {} times (lines {}); add surrounding lines to make it unique, or set replace_all",
        found.len(),
        lines.join(", ")
    )
}

/// An escaped quote that only the model's texts have: it would get into the file.
fn drifted(text: &str, wanted: Wanted<'_>, found: &[Range<usize>]) -> Option<&'static str> {
    [r"\'", r#"\""#].into_iter().find(|escape| {
        let both = wanted.old.contains(escape) && wanted.new.contains(escape);
        both && found.iter().any(|range| !text[range.clone()].contains(escape))
    })
}

/// The same without the line numbers of a view, when the old text has them.
fn without_line_numbers(text: &str, wanted: Wanted<'_>) -> Option<Result<Replaced, Refused>> {
    if shown::numbers(wanted.old) == Numbered::No {
        return None;
    }
    let old = shown::without_numbers(wanted.old);
    let new = match shown::numbers(wanted.new) {
        Numbered::No => wanted.new.to_owned(),
        Numbered::Bare | Numbered::Padded => shown::without_numbers(wanted.new),
    };
    let again = replace(
        text,
        Wanted {
            old: &old,
            new: &new,
            ..wanted
        },
    );
    Some(again.map(|replaced| Replaced {
        hint: Some("line number prefixes were dropped; they are not part of the file".to_owned()),
        ..replaced
    }))
}

/// Up to three parts of the file that are most like `old`, with line numbers.
fn nearest(text: &str, old: &str) -> Vec<String> {
    const SECTIONS: usize = 3;
    const LINES: usize = 5;
    const COMPARED: usize = 5_000;
    let Some(first) = old.lines().find(|line| !line.trim().is_empty()) else {
        return Vec::new();
    };
    let file = Lines::new(text).lines;
    let mut scored: Vec<(f32, usize)> = file
        .iter()
        .take(COMPARED)
        .enumerate()
        .map(|(at, line)| (likeness(line.trim(), first.trim()), at))
        .filter(|(score, _)| *score >= 0.5)
        .collect();
    scored.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.cmp(y)));
    let section = |(_, at): &(f32, usize)| {
        let lines = file[*at..].iter().take(LINES.min(old.lines().count() + 1));
        let numbered: Vec<String> = (1..)
            .skip(*at)
            .zip(lines)
            .map(|(number, line)| shown::numbered(number, line))
            .collect();
        numbered.join("\n")
    };
    scored.iter().take(SECTIONS).map(section).collect()
}

#[cfg(test)]
mod tests;
