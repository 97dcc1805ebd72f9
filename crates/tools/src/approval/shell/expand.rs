//! Turns the grammar's words into what the shell would make of them.

use tree_sitter::Node;

use super::quoting::{unescape, unescape_ansi, unescape_double};
use super::scripts::{literal_output, looked_up};
use super::walk::{HIDDEN_PROGRAM, Place, Walk, named};
use super::word::{Piece, Word, expand_braces};
use super::{DEEPEST, LONGEST_VALUE};

impl Walk<'_> {
    /// The words that `node` becomes: braces are expanded, unquoted values split.
    pub(super) fn fields(&mut self, node: Node<'_>, place: &Place, words: &mut Vec<Word>) {
        let word = self.word(node, place);
        for word in expand_braces(word) {
            words.extend(split(word));
        }
    }

    pub(super) fn word(&mut self, node: Node<'_>, place: &Place) -> Word {
        let mut word = Word::default();
        self.pieces(node, place, false, &mut word.pieces);
        word
    }

    fn pieces(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        self.level += 1;
        if self.level > DEEPEST {
            self.scene.unreadable = Some("the command is nested too deeply to be read");
            self.level -= 1;
            return;
        }
        let text = self.text(node);
        match node.kind() {
            "raw_string" => literal(out, strip_ends(text, 1), true),
            "ansi_c_string" => literal(
                out,
                &unescape_ansi(strip_ends(text.strip_prefix('$').unwrap_or(text), 1)),
                true,
            ),
            "string" => self.parts(node, place, true, out),
            "translated_string" | "concatenation" | "command_name" => self.parts(node, place, quoted, out),
            "simple_expansion" => self.variable(text.trim_start_matches('$'), quoted, out),
            "expansion" => self.expansion(node, place, quoted, out),
            "command_substitution" | "process_substitution" => self.substitution(node, place, quoted, out),
            "arithmetic_expansion" | "array" | "subscript" => {
                self.children(node, &place.inner());
                out.push(Piece::Unknown);
            }
            _ if quoted => literal(out, &unescape_double(text), true),
            _ => bare(out, text),
        }
        self.level -= 1;
    }

    /// The parts of a string or a concatenation, and the plain text between them.
    fn parts(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        let is_string = node.kind() == "string";
        let (start, end) = if is_string && node.byte_range().len() >= 2 {
            (node.start_byte() + 1, node.end_byte() - 1)
        } else if node.kind() == "translated_string" {
            (node.start_byte() + 1, node.end_byte())
        } else {
            (node.start_byte(), node.end_byte())
        };
        let mut at = start;
        for part in named(node) {
            if part.kind() == "string_content" {
                continue;
            }
            self.gap(at, part.start_byte(), quoted, out);
            self.pieces(part, place, quoted, out);
            at = part.end_byte();
        }
        self.gap(at, end, quoted, out);
    }

    fn gap(&self, from: usize, to: usize, quoted: bool, out: &mut Vec<Piece>) {
        let Some(text) = self.source.get(from..to).filter(|text| !text.is_empty()) else {
            return;
        };
        if quoted {
            literal(out, &unescape_double(text), true);
        } else {
            bare(out, text);
        }
    }

    fn variable(&mut self, name: &str, quoted: bool, out: &mut Vec<Piece>) {
        if self.naming {
            self.named_programs.insert(name.to_owned());
            if self.assigned.get(name).is_some_and(|times| *times > 1) {
                self.scene.unreadable = Some(HIDDEN_PROGRAM);
            }
        }
        match self.variables.get(name) {
            Some(value) if out.len() < 64 && value.text().len() < LONGEST_VALUE => {
                out.extend(value.pieces.iter().cloned().map(|piece| match piece {
                    Piece::Text { text, .. } => Piece::Text { text, quoted },
                    other => other,
                }));
            }
            _ if name == "IFS" && !quoted => bare(out, " "),
            _ => out.push(Piece::Variable(name.to_owned())),
        }
    }

    /// `${…}`: the value of a plain name, or the default it falls back to.
    fn expansion(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        self.children(node, &place.inner());
        let inner = strip_ends(self.text(node).trim_start_matches('$'), 1);
        let end = inner
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(inner.len());
        let (name, operation) = inner.split_at(end);
        let default = [":-", "-", ":=", "="]
            .iter()
            .find_map(|operator| operation.strip_prefix(operator));
        match default {
            _ if name.is_empty() => out.push(Piece::Unknown),
            _ if operation.is_empty() => self.variable(name, quoted, out),
            Some(_) if self.variables.contains_key(name) => self.variable(name, quoted, out),
            Some(default) if !default.contains(['$', '`']) => bare(out, default.trim_matches(['"', '\''])),
            _ => out.push(Piece::Unknown),
        }
    }

    /// A substitution: what it runs is collected; what it prints is known when it only repeats a text.
    fn substitution(&mut self, node: Node<'_>, place: &Place, quoted: bool, out: &mut Vec<Piece>) {
        let from = self.scene.calls.len();
        self.children(node, &place.inner());
        let calls = self.scene.calls.get(from..).unwrap_or_default();
        if let [call] = calls
            && node.kind() == "command_substitution"
            && let Some(text) = literal_output(call).or_else(|| looked_up(call))
        {
            let text = text.trim_end_matches('\n').to_owned();
            out.push(Piece::Text { text, quoted });
            return;
        }
        out.push(Piece::Output(
            calls.iter().map(|call| call.program.clone()).collect(),
        ));
    }
}

fn literal(out: &mut Vec<Piece>, text: &str, quoted: bool) {
    out.push(Piece::Text {
        text: text.to_owned(),
        quoted,
    });
}

/// Unquoted text; what is escaped in it counts as quoted.
fn bare(out: &mut Vec<Piece>, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        if at > 0 {
            literal(out, &rest[..at], false);
        }
        let after = rest[at + 1..].chars().next().map_or(0, char::len_utf8);
        let (escape, tail) = rest[at..].split_at(1 + after);
        literal(out, &unescape(escape), true);
        rest = tail;
    }
    if !rest.is_empty() {
        literal(out, rest, false);
    }
}

fn strip_ends(text: &str, count: usize) -> &str {
    text.get(count..text.len().saturating_sub(count))
        .unwrap_or_default()
}

/// Splits a word where an unquoted value holds spaces.
fn split(word: Word) -> Vec<Word> {
    let splits = |piece: &Piece| matches!(piece, Piece::Text { text, quoted: false } if text.contains(char::is_whitespace));
    if !word.pieces.iter().any(splits) {
        return if word.pieces.is_empty() {
            Vec::new()
        } else {
            vec![word]
        };
    }
    let mut found = Vec::new();
    let mut current = Word::default();
    for piece in word.pieces {
        let Piece::Text { text, quoted: false } = piece else {
            current.pieces.push(piece);
            continue;
        };
        for (index, part) in text.split(char::is_whitespace).enumerate() {
            if index > 0 && !current.pieces.is_empty() {
                found.push(std::mem::take(&mut current));
            }
            if !part.is_empty() {
                literal(&mut current.pieces, part, false);
            }
        }
    }
    if !current.pieces.is_empty() {
        found.push(current);
    }
    found
}
