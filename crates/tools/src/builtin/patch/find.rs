//! Where in a file the text to be replaced is, if it is not quite as the model wrote it.
//!
//! The strategies are tried in order, and the first that finds anything decides:
//! one that is laxer never overrules one that is stricter. Each looks past one
//! kind of slip that models make. (Hermes' `indentation_flexible` finds nothing
//! that `line_trimmed` before it does not.)

use std::ops::Range;

use similar::TextDiff;

/// One way to find a text.
pub(super) struct Strategy {
    pub(super) name: &'static str,
    /// Byte ranges of `text` that `old` means.
    pub(super) find: fn(text: &str, old: &str) -> Vec<Range<usize>>,
    /// How what is found is changed.
    pub(super) adapt: Adapt,
}

/// How the replacement is fitted to what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adapt {
    /// Just as it is.
    Verbatim,
    /// Lines that do not change are left as they are in the file; the others get its indentation.
    Lines,
    /// Characters that do not change are left as they are in the file.
    Characters,
    /// Escapes that were escaped twice are undone.
    Unescape,
    /// Blank space around it is dropped, as it was around the old text.
    Trim,
}

/// The strategies, strictest first.
pub(super) const STRATEGIES: &[Strategy] = &[
    Strategy {
        name: "exact",
        find: exact,
        adapt: Adapt::Verbatim,
    },
    Strategy {
        name: "line_trimmed",
        find: line_trimmed,
        adapt: Adapt::Lines,
    },
    Strategy {
        name: "whitespace_normalized",
        find: whitespace_normalized,
        adapt: Adapt::Lines,
    },
    Strategy {
        name: "escape_normalized",
        find: escape_normalized,
        adapt: Adapt::Unescape,
    },
    Strategy {
        name: "trimmed_boundary",
        find: trimmed_boundary,
        adapt: Adapt::Trim,
    },
    Strategy {
        name: "unicode_normalized",
        find: unicode_normalized,
        adapt: Adapt::Characters,
    },
    Strategy {
        name: "block_anchor",
        find: block_anchor,
        adapt: Adapt::Lines,
    },
    Strategy {
        name: "context_aware",
        find: context_aware,
        adapt: Adapt::Lines,
    },
];

/// Comparisons of lines that the last two strategies may make; beyond, they find nothing.
const COMPARISONS: usize = 60_000;

fn exact(text: &str, old: &str) -> Vec<Range<usize>> {
    text.match_indices(old)
        .map(|(at, found)| at..at + found.len())
        .collect()
}

/// A text cut into lines, with the byte at which each begins.
pub(super) struct Lines<'t> {
    pub(super) lines: Vec<&'t str>,
    starts: Vec<usize>,
    end: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut starts = Vec::new();
        let mut lines = Vec::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            starts.push(at);
            lines.push(line.strip_suffix('\n').unwrap_or(line));
            at += line.len();
        }
        Self {
            lines,
            starts,
            end: text.len(),
        }
    }

    /// The bytes of `count` lines from `first`, the last line break included when asked for.
    pub(super) fn bytes(&self, first: usize, count: usize, with_break: bool) -> Range<usize> {
        let start = self.starts.get(first).copied().unwrap_or(self.end);
        if count == 0 {
            return start..start;
        }
        let last = first + count - 1;
        let next = self.starts.get(last + 1).copied().unwrap_or(self.end);
        let end = if with_break {
            next
        } else {
            self.starts[last] + self.lines[last].len()
        };
        start..end
    }
}

/// Runs of whole lines for which `same` holds line by line; they do not overlap.
pub(super) fn windows(lines: &[&str], old: &[&str], same: impl Fn(&str, &str) -> bool) -> Vec<usize> {
    let mut found = Vec::new();
    if old.is_empty() || old.iter().all(|line| line.trim().is_empty()) {
        return found;
    }
    let mut at = 0;
    while at + old.len() <= lines.len() {
        if lines[at..at + old.len()]
            .iter()
            .zip(old)
            .all(|(line, old)| same(line, old))
        {
            found.push(at);
            at += old.len();
        } else {
            at += 1;
        }
    }
    found
}

fn by_lines(text: &str, old: &str, same: impl Fn(&str, &str) -> bool) -> Vec<Range<usize>> {
    let (file, wanted) = (Lines::new(text), Lines::new(old));
    let found = windows(&file.lines, &wanted.lines, same);
    found
        .into_iter()
        .map(|at| file.bytes(at, wanted.lines.len(), old.ends_with('\n')))
        .collect()
}

fn line_trimmed(text: &str, old: &str) -> Vec<Range<usize>> {
    by_lines(text, old, |line, old| line.trim() == old.trim())
}

/// `text` after a change of characters, with the byte of `text` that each byte stands for.
struct Mapped {
    text: String,
    origin: Vec<usize>,
}

impl Mapped {
    fn new() -> Self {
        Self {
            text: String::new(),
            origin: Vec::new(),
        }
    }

    fn push(&mut self, piece: &str, origin: usize) {
        self.text.push_str(piece);
        self.origin.extend(std::iter::repeat_n(origin, piece.len()));
    }

    /// Where in the original `old` is, which was changed in the same way.
    fn find(&self, old: &str, end: usize) -> Vec<Range<usize>> {
        if old.trim().is_empty() {
            return Vec::new();
        }
        let byte = |at: usize| self.origin.get(at).copied().unwrap_or(end);
        self.text
            .match_indices(old)
            .map(|(at, found)| byte(at)..byte(at + found.len()))
            .collect()
    }
}

fn one_space(text: &str) -> Mapped {
    let mut mapped = Mapped::new();
    let mut blank = false;
    for (at, c) in text.char_indices() {
        let space = matches!(c, ' ' | '\t');
        if !space {
            mapped.push(c.encode_utf8(&mut [0; 4]), at);
        } else if !blank {
            mapped.push(" ", at);
        }
        blank = space;
    }
    mapped
}

fn whitespace_normalized(text: &str, old: &str) -> Vec<Range<usize>> {
    one_space(text).find(&one_space(old).text, text.len())
}

/// `text` with the escapes of a string literal undone.
pub(super) fn unescape(text: &str) -> String {
    text.replace("\\r\\n", "\n")
        .replace("\\n", "\n")
        .replace("\\t", "\t")
        .replace("\\r", "\r")
}

fn escape_normalized(text: &str, old: &str) -> Vec<Range<usize>> {
    let meant = unescape(old);
    if meant == old {
        Vec::new()
    } else {
        exact(text, &meant)
    }
}

fn trimmed_boundary(text: &str, old: &str) -> Vec<Range<usize>> {
    let meant = old.trim();
    // A word or two could be anywhere.
    if meant.len() < 8 || meant == old {
        Vec::new()
    } else {
        exact(text, meant)
    }
}

/// What a character that keyboards do not have is typed as.
pub(super) fn typed(c: char) -> Option<&'static str> {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' => Some("'"),
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' => Some("\""),
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some("-"),
        '\u{2026}' => Some("..."),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(" "),
        _ => None,
    }
}

fn as_typed(text: &str) -> Mapped {
    let mut mapped = Mapped::new();
    for (at, c) in text.char_indices() {
        mapped.push(typed(c).unwrap_or(c.encode_utf8(&mut [0; 4])), at);
    }
    mapped
}

fn unicode_normalized(text: &str, old: &str) -> Vec<Range<usize>> {
    let file = as_typed(text);
    let found = file.find(&as_typed(old).text, text.len());
    // A match that begins or ends within one character of the file is none.
    found
        .into_iter()
        .filter(|range| as_typed(&text[range.clone()]).text == as_typed(old).text)
        .collect()
}

/// 1 for equal texts, 0 for texts without a common character.
pub(super) fn likeness(a: &str, b: &str) -> f32 {
    if a == b {
        return 1.0;
    }
    // The ratio cannot be better than what the lengths allow.
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    if short * 3 < long {
        return 0.0;
    }
    TextDiff::from_chars(a, b).ratio()
}

/// First and last line as they were given, and between them something like it.
fn block_anchor(text: &str, old: &str) -> Vec<Range<usize>> {
    let (file, wanted) = (Lines::new(text), Lines::new(old));
    let count = wanted.lines.len();
    let (Some(first), Some(last)) = (wanted.lines.first(), wanted.lines.last()) else {
        return Vec::new();
    };
    if count < 3 || first.trim().is_empty() || last.trim().is_empty() {
        return Vec::new();
    }
    let anchored: Vec<usize> = (0..(file.lines.len() + 1).saturating_sub(count))
        .filter(|at| {
            file.lines[*at].trim() == first.trim() && file.lines[at + count - 1].trim() == last.trim()
        })
        .collect();
    if anchored.len() * count > COMPARISONS {
        return Vec::new();
    }
    let least = if anchored.len() == 1 { 0.5 } else { 0.7 };
    let middle = |lines: &[&str]| {
        lines[1..count - 1]
            .iter()
            .map(|line| line.trim())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let meant = middle(&wanted.lines);
    let near = |at: &usize| likeness(&middle(&file.lines[*at..at + count]), &meant) >= least;
    anchored
        .into_iter()
        .filter(near)
        .map(|at| file.bytes(at, count, old.ends_with('\n')))
        .collect()
}

/// Half of the lines nearly as they were given, among them the first; blank ones do not count.
fn context_aware(text: &str, old: &str) -> Vec<Range<usize>> {
    const NEAR: f32 = 0.8;
    let (file, wanted) = (Lines::new(text), Lines::new(old));
    let count = wanted.lines.len();
    let said = wanted.lines.iter().filter(|line| !line.trim().is_empty()).count();
    if said < 3 || wanted.lines[0].trim().is_empty() || file.lines.len() * count > COMPARISONS {
        return Vec::new();
    }
    let near = |line: &str, old: &str| likeness(line.trim(), old.trim()) >= NEAR;
    let mut found = Vec::new();
    for at in 0..(file.lines.len() + 1).saturating_sub(count) {
        let window = &file.lines[at..at + count];
        if !near(window[0], wanted.lines[0]) {
            continue;
        }
        let pairs = window
            .iter()
            .zip(&wanted.lines)
            .filter(|(_, old)| !old.trim().is_empty());
        if pairs.filter(|(line, old)| near(line, old)).count() * 2 >= said {
            found.push(file.bytes(at, count, old.ends_with('\n')));
        }
    }
    found
}
