//! The words around a match, secrets masked.

use super::query::{Leaf, Node};
use crate::mask::mask;

/// Characters shown before and after the beginning of the match.
const BEFORE: usize = 60;
const AFTER: usize = 120;
/// Bytes of a text that are looked at around the match; messages may be megabytes.
const WINDOW: usize = 16 * 1024;

/// What is looked for in a text to show it: the beginnings of what is wanted.
pub(crate) fn needles(query: &Node) -> Vec<String> {
    let mut needles = Vec::new();
    query.leaves(true, &mut |leaf, wanted| {
        if !wanted {
            return;
        }
        match leaf {
            Leaf::Words { words, .. } => needles.extend(words.first().cloned()),
            Leaf::Near { groups, .. } => {
                needles.extend(groups.iter().filter_map(|words| words.first().cloned()));
            }
            Leaf::Run(run) => needles.push(run.clone()),
        }
    });
    needles
}

/// One line of `text` around the first needle in it, or its beginning.
pub(crate) fn around(text: &str, needles: &[String]) -> String {
    let place = find(text, needles).unwrap_or_default();
    // Secrets are masked in a wide window first, so that a cut cannot hide the shape of one.
    let (start, end) = window(text, place);
    let masked = mask(&text[start..end]);
    let place = find(&masked, needles).unwrap_or_default();
    let from = step_back(&masked, place, BEFORE);
    let to = masked[place..]
        .char_indices()
        .nth(AFTER)
        .map_or(masked.len(), |(offset, _)| place + offset);
    let line = masked[from..to].split_whitespace().collect::<Vec<_>>().join(" ");
    let left = if start > 0 || from > 0 { "…" } else { "" };
    let right = if end < text.len() || to < masked.len() {
        "…"
    } else {
        ""
    };
    format!("{left}{line}{right}")
}

fn window(text: &str, place: usize) -> (usize, usize) {
    let mut start = place.saturating_sub(WINDOW / 2);
    let mut end = (place + WINDOW / 2).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    // Whole words only: half a key is not recognised.
    let start = match start {
        0 => 0,
        start => text[start..place]
            .find(char::is_whitespace)
            .map_or(start, |offset| start + offset),
    };
    let end = match end {
        end if end == text.len() => end,
        end => text[place..end]
            .rfind(char::is_whitespace)
            .map_or(end, |offset| place + offset),
    };
    (start, end)
}

fn step_back(text: &str, place: usize, characters: usize) -> usize {
    text[..place]
        .char_indices()
        .rev()
        .take(characters)
        .last()
        .map_or(place, |(start, _)| start)
}

/// Where the first of the needles begins that stands at the beginning of a word, else anywhere.
fn find(text: &str, needles: &[String]) -> Option<usize> {
    needles
        .iter()
        .filter_map(|needle| find_one(text, needle, true))
        .min()
        .or_else(|| {
            needles
                .iter()
                .filter_map(|needle| find_one(text, needle, false))
                .min()
        })
}

fn find_one(text: &str, needle: &str, at_word: bool) -> Option<usize> {
    let first = needle.chars().next()?;
    let mut before = ' ';
    for (place, character) in text.char_indices() {
        let starts = !at_word || !before.is_alphanumeric() || !character.is_ascii();
        before = character;
        if starts && lower(character) == first && begins(&text[place..], needle) {
            return Some(place);
        }
    }
    None
}

fn begins(text: &str, needle: &str) -> bool {
    let mut text = text.chars().flat_map(char::to_lowercase);
    needle.chars().all(|wanted| text.next() == Some(wanted))
}

fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_match_and_is_bounded() {
        let text = format!(
            "{} Needle in the middle {}",
            "hay ".repeat(100),
            "straw ".repeat(100)
        );
        let line = around(&text, &["needle".to_owned()]);
        assert!(line.contains("Needle in the middle"), "{line}");
        assert!(line.starts_with('…') && line.ends_with('…'));
        assert!(line.chars().count() <= BEFORE + AFTER + 2);
    }

    #[test]
    fn a_secret_beside_the_match_is_masked_even_when_it_is_cut() {
        let key = "sk-proj-Zq8vN2mL5xK9wR3tY7uP1aB4cD6eF0gH";
        let text = format!("{key} needle {}{key}", "x".repeat(100));
        let line = around(&text, &["needle".to_owned()]);
        assert!(
            line.contains("needle") && !line.contains("Zq8vN2mL5x") && !line.contains("7uP1aB4cD6eF0gH"),
            "{line}"
        );
    }
}
