//! Applies the hunks of one file to its text. Only whole lines match, and a place
//! that is not certain is refused.

use super::adapt::adapt;
use super::find::{Adapt, Lines, typed, windows};
use super::v4a::Hunk;

/// How lines may differ and still be the same, strictest first.
const SAME: &[fn(&str, &str) -> bool] = &[
    |line, old| line == old,
    |line, old| line.trim_end() == old.trim_end(),
    |line, old| line.trim() == old.trim(),
    |line, old| collapsed(line) == collapsed(old),
    |line, old| collapsed(&as_typed(line)) == collapsed(&as_typed(old)),
];

fn collapsed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn as_typed(line: &str) -> String {
    line.chars()
        .fold(String::with_capacity(line.len()), |mut out, c| {
            match typed(c) {
                Some(typed) => out.push_str(typed),
                None => out.push(c),
            }
            out
        })
}

/// `text` after `hunks`, in order.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let mut text = text.to_owned();
    let mut below = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let place = Place::of(&text, hunk, below)
            .map_err(|why| format!("change {} of {}: {why}", index + 1, hunks.len()))?;
        let file = Lines::new(&text);
        let range = file.bytes(place.line, hunk.old.len(), true);
        let region = &text[range.clone()];
        let (old, new) = (block(&hunk.old), block(&hunk.new));
        let mut lines = if hunk.old.is_empty() {
            new
        } else {
            adapt(Adapt::Lines, region, &old, &new)
        };
        // The last line of a file may have no line break; then it gets none.
        if range.end == text.len() && !text.ends_with('\n') && !region.is_empty() {
            lines.truncate(lines.trim_end_matches('\n').len());
        }
        let open = range.start == text.len() && !text.is_empty() && !text.ends_with('\n');
        let joint = if open { "\n" } else { "" };
        text = format!("{}{joint}{lines}{}", &text[..range.start], &text[range.end..]);
        below = place.line + hunk.new.len();
    }
    Ok(text)
}

fn block(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect()
}

struct Place {
    /// From 0.
    line: usize,
}

impl Place {
    /// Where `hunk` belongs; changes go downwards, so places above `below` come second.
    fn of(text: &str, hunk: &Hunk, below: usize) -> Result<Self, String> {
        let lines = Lines::new(text).lines;
        let hint = hunk.hint.as_deref().map_or(Ok(None), |hint| hinted(&lines, hint));
        if hunk.old.is_empty() {
            return match (hint?, &hunk.hint) {
                (Some(line), _) => Ok(Self { line: line + 1 }),
                (None, Some(hint)) => Err(format!("no line contains the hint {hint:?}")),
                (None, None) => Ok(Self { line: lines.len() }),
            };
        }
        let old: Vec<&str> = hunk.old.iter().map(String::as_str).collect();
        let found = SAME
            .iter()
            .map(|same| windows(&lines, &old, same))
            .find(|found| !found.is_empty());
        let Some(found) = found else {
            return Err(not_found(&old));
        };
        let hint = hint.ok().flatten();
        let from = hint.unwrap_or(below);
        let after: Vec<usize> = found.iter().copied().filter(|line| *line >= from).collect();
        match (found.as_slice(), after.as_slice()) {
            ([line], _) | (_, [line]) => Ok(Self { line: *line }),
            // The hint names the place: the first one below it.
            (_, [line, ..]) if hint.is_some() => Ok(Self { line: *line }),
            _ => Err(ambiguous(&found)),
        }
    }
}

/// The only line that contains the hint; nothing when none does.
fn hinted(lines: &[&str], hint: &str) -> Result<Option<usize>, String> {
    let exact: Vec<usize> = numbers(lines, |line| line.trim() == hint.trim());
    let found = if exact.is_empty() {
        numbers(lines, |line| line.contains(hint.trim()))
    } else {
        exact
    };
    match found.as_slice() {
        [] => Ok(None),
        [line] => Ok(Some(*line)),
        _ => Err(format!(
            "the hint {hint:?} fits {} lines; give one that fits only one",
            found.len()
        )),
    }
}

fn numbers(lines: &[&str], fits: impl Fn(&str) -> bool) -> Vec<usize> {
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| fits(line))
        .map(|(at, _)| at)
        .collect()
}

fn not_found(old: &[&str]) -> String {
    const SHOWN: usize = 5;
    let lines: Vec<&str> = old.iter().take(SHOWN).copied().collect();
    format!("these lines were not found in the file:\n{}", lines.join("\n"))
}

fn ambiguous(found: &[usize]) -> String {
    let lines: Vec<String> = found.iter().take(10).map(|line| (line + 1).to_string()).collect();
    format!(
        "the lines fit {} places (lines {}); add context or a hint",
        found.len(),
        lines.join(", ")
    )
}
