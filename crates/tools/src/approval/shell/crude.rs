//! Cuts a text into commands without a grammar, for texts the grammar cannot read.

use super::quoting::{unescape_ansi, unescape_double};
use super::word::{Piece, Word, expand_braces};

/// Everything in `text` that could be a command: it is cut wherever a command
/// could begin, inside of quotes too.
pub(super) fn commands(text: &str) -> Vec<Vec<Word>> {
    let text = text.replace("\\\n", "");
    let ends = ['\n', ';', '&', '|', '(', ')', '`'];
    // A brace may open a group or an expansion: both are tried.
    let grouped = text
        .split(ends)
        .flat_map(|part| part.split(['{', '}']))
        .map(words);
    let expanded = text
        .split(ends)
        .filter(|part| part.contains('{'))
        .map(|part| words(part).into_iter().flat_map(expand_braces).collect());
    grouped
        .chain(expanded)
        .filter(|words: &Vec<Word>| !words.is_empty())
        .collect()
}

/// The words of one command; quotes that are not closed end with the text.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut word: Option<Word> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let push = |word: &mut Option<Word>, text: String, quoted: bool| {
            word.get_or_insert_default()
                .pieces
                .push(Piece::Text { text, quoted });
        };
        match c {
            c if c.is_whitespace() => found.extend(word.take()),
            '\'' => push(
                &mut word,
                chars.by_ref().take_while(|c| *c != '\'').collect(),
                true,
            ),
            '$' if chars.peek() == Some(&'\'') => {
                chars.next();
                let inner: String = chars.by_ref().take_while(|c| *c != '\'').collect();
                push(&mut word, unescape_ansi(&inner), true);
            }
            '"' => {
                let inner: String = chars.by_ref().take_while(|c| *c != '"').collect();
                push(&mut word, unescape_double(&inner), true);
            }
            '\\' => {
                let escaped = chars.next().map(String::from).unwrap_or_default();
                push(&mut word, escaped, true);
            }
            '$' => {
                let mut name = String::new();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                let piece = if name.is_empty() {
                    Piece::Unknown
                } else {
                    Piece::Variable(name)
                };
                word.get_or_insert_default().pieces.push(piece);
            }
            c => push(&mut word, c.to_string(), false),
        }
    }
    found.extend(word);
    found.retain(|word| !word.pieces.is_empty());
    found.iter_mut().for_each(merge);
    found
}

/// Joins neighbours of the same kind, so that a leading tilde stands with what follows it.
fn merge(word: &mut Word) {
    let mut merged: Vec<Piece> = Vec::new();
    for piece in std::mem::take(&mut word.pieces) {
        match (merged.last_mut(), piece) {
            (
                Some(Piece::Text {
                    text: last,
                    quoted: before,
                }),
                Piece::Text { text, quoted },
            ) if *before == quoted => last.push_str(&text),
            (_, piece) => merged.push(piece),
        }
    }
    word.pieces = merged;
}
