//! How lines are shown to the model, and how text is recognised that was copied
//! from such a view instead of from the file.

use std::sync::LazyLock;

use regex::Regex;

/// A longer line is cut in a view.
pub(crate) const LINE_CHARS: usize = 2_000;

/// `line` with its number, cut when it is very long.
pub(crate) fn numbered(number: u64, line: &str) -> String {
    match cut(line) {
        Some((head, rest)) => format!("{number:>6}|{head}{}", mark(rest)),
        None => format!("{number:>6}|{line}"),
    }
}

/// The shown part of a line that is too long, and how many characters are left.
fn cut(line: &str) -> Option<(&str, usize)> {
    if line.len() <= LINE_CHARS {
        return None;
    }
    let (at, _) = line.char_indices().nth(LINE_CHARS)?;
    Some((&line[..at], line[at..].chars().count()))
}

/// What stands where a line was cut; no file has it by chance.
fn mark(rest: usize) -> String {
    format!(" ⟪line cut by read_file, {rest} more characters⟫")
}

static MARK: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r" ⟪line cut by read_file, [0-9]+ more characters⟫").ok());

fn has_mark(text: &str) -> bool {
    MARK.as_ref().is_some_and(|mark| mark.is_match(text))
}

/// Why `new` must not take the place of `old`: it was copied from a view of the
/// file that does not show all of it.
pub(crate) fn copied_cut(old: &str, new: &str) -> Option<String> {
    if has_mark(new) && !has_mark(old) {
        return Some(
            "the text contains a marker of read_file (\"⟪line cut by read_file, …⟫\"), which is not part of any \
             file: that line was shown only in part. Nothing was changed. Edit with a shorter old_string that \
             stays clear of the cut"
                .to_owned(),
        );
    }
    let heads: Vec<(usize, &str)> = old
        .lines()
        .enumerate()
        .filter_map(|(index, line)| cut(line).map(|(head, _)| (index + 1, head)))
        .collect();
    let lost = heads
        .into_iter()
        .find(|(_, head)| new.lines().any(|line| line.trim_end() == head.trim_end()))?;
    Some(format!(
        "line {} of the file is longer than {LINE_CHARS} characters and was shown cut; the new text would end it \
         at the cut and lose the rest. Nothing was changed. Use patch for the lines that change",
        lost.0
    ))
}

/// Whether every line of `text` carries the number of a view, and whether padded as there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbered {
    No,
    /// `1|text`, which a file may really contain.
    Bare,
    /// `     1|text`, just as read_file shows it.
    Padded,
}

/// Whether `text` looks copied from a view, with its line numbers.
pub(crate) fn numbers(text: &str) -> Numbered {
    let mut expected = None;
    let mut padded = true;
    let mut lines = 0;
    for line in text.lines() {
        let Some((number, width)) = prefix(line) else {
            return Numbered::No;
        };
        if expected.is_some_and(|expected| expected != number) {
            return Numbered::No;
        }
        expected = Some(number + 1);
        padded &= width >= 6 && line.starts_with(' ');
        lines += 1;
    }
    match (lines, padded) {
        (0, _) | (1, false) => Numbered::No,
        (_, true) => Numbered::Padded,
        (_, false) => Numbered::Bare,
    }
}

fn prefix(line: &str) -> Option<(u64, usize)> {
    let (number, _) = line.split_once('|')?;
    let digits = number.trim_start_matches(' ');
    Some((digits.parse().ok()?, number.len()))
}

/// `text` without the numbers.
pub(crate) fn without_numbers(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| line.split_once('|').map_or(line, |(_, rest)| rest))
        .collect()
}

/// Lines of `old` that hold a secret, whose masked form is about to be written.
pub(crate) fn copied_mask(old: &str, new: &str, mask: impl Fn(&str) -> String) -> Option<usize> {
    let masked = mask(old);
    if masked == old {
        return None;
    }
    let new_lines: std::collections::HashSet<&str> = new.lines().map(str::trim).collect();
    let hidden = old.lines().zip(masked.lines()).enumerate();
    hidden
        .filter(|(_, (real, masked))| real != masked)
        .find(|(_, (_, masked))| new_lines.contains(masked.trim()))
        .map(|(index, _)| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_line_is_recognised_with_and_without_its_marker() {
        let long = format!("start-{}-finish", "ab".repeat(1_600));
        let old = format!("one\n{long}\nthree\n");
        let shown = numbered(2, &long);
        let shown = shown.strip_prefix("     2|").unwrap();
        assert!(copied_cut(&old, &format!("one\n{shown}\n")).is_some());
        let head: String = long.chars().take(LINE_CHARS).collect();
        assert!(copied_cut(&old, &format!("one\n{head}\nthree\n")).is_some());
        assert_eq!(copied_cut(&old, &old.replace("one", "two")), None);
        assert_eq!(copied_cut(&old, "start over\n"), None);
    }

    #[test]
    fn line_numbers_of_a_view_are_told_from_a_file_with_bars() {
        assert_eq!(numbers("     1|fn main() {\n     2|}\n"), Numbered::Padded);
        assert_eq!(numbers("     2|    foo();"), Numbered::Padded);
        assert_eq!(numbers("1|fn main() {\n2|}\n"), Numbered::Bare);
        assert_eq!(numbers("1|a\n7|b\n2|c\n"), Numbered::No);
        assert_eq!(numbers("1|a"), Numbered::No);
        assert_eq!(numbers("plain\n"), Numbered::No);
        assert_eq!(without_numbers("     1|a|b\n     2|c\n"), "a|b\nc\n");
    }
}
