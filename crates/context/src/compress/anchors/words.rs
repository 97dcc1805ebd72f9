//! Facts that are one word, or a number and its unit.
//!
//! One pass over the bytes: a word that holds none of the marks of a fact is not
//! looked at twice. Anything that is not ASCII ends a word, so that a path in a
//! Chinese sentence is found.

use super::shapes::{
    AT, BACKSLASH, COLON, DIGIT, DOT, EQUALS, FACTUAL, FILLERS, MARKS, SETTINGS, SLASH, UNITS, Word,
    is_address, is_constant, is_date, is_hash, is_listed, is_path, is_ticket, is_uuid, is_version,
};

/// A fact and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact<'a> {
    pub(super) text: &'a str,
    pub(super) is_path: bool,
    /// What it is a value of, where that is said.
    pub(super) subject: Option<String>,
}

impl Fact<'_> {
    /// A number, perhaps with its unit, of which nobody says what it is.
    pub(super) fn is_bare_number(&self) -> bool {
        let value = self.text.split(' ').next().unwrap_or(self.text);
        self.subject.is_none()
            && !self.is_path
            && value.starts_with(|c: char| c.is_ascii_digit())
            && value.bytes().filter(|byte| byte.is_ascii_alphabetic()).count() <= 3
            && !value.contains([':', '-'])
            && value.split('.').count() < 3
    }

    /// A bare value says little; with its subject it can be understood.
    pub(super) fn display(&self) -> String {
        match &self.subject {
            Some(subject) if !self.text.contains('=') => format!("{}: {}", subject_word(subject), self.text),
            Some(_) | None => self.text.to_owned(),
        }
    }
}

/// The facts of a text, in order.
pub(super) fn facts(text: &str) -> Vec<Fact<'_>> {
    first_facts(text, usize::MAX)
}

/// The first `most` facts of a text.
pub(super) fn first_facts(text: &str, most: usize) -> Vec<Fact<'_>> {
    let escaped = text.trim_start().starts_with(['{', '[']);
    let mut scan = Scan {
        text,
        found: Vec::new(),
        before: [""; 3],
    };
    let mut words = Words { text, at: 0, escaped };
    let mut next = words.next();
    while let Some(word) = next {
        next = words.next();
        scan.word(word, next);
        if scan.found.len() >= most {
            break;
        }
    }
    scan.found
}

/// The subject of a fact as an index lists it.
pub(super) fn subject_of(listed: &str) -> Option<String> {
    first_facts(listed, 1)
        .into_iter()
        .next()
        .and_then(|fact| fact.subject)
}

struct Words<'a> {
    text: &'a str,
    at: usize,
    /// The text is JSON, in which a line break is a backslash and a letter.
    escaped: bool,
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.text.as_bytes();
        loop {
            while self.at < bytes.len() && self.ends_word(bytes, self.at) {
                self.at += self.gap(bytes, self.at);
            }
            let start = self.at;
            let mut marks = 0;
            while self.at < bytes.len() && !self.ends_word(bytes, self.at) {
                marks |= MARKS[bytes[self.at] as usize];
                self.at += 1;
            }
            if start == self.at {
                return None;
            }
            let text = &self.text[start..self.at];
            let trimmed = text.trim_end_matches(['.', ':', '!', '?']);
            if trimmed.len() < text.len() {
                marks = trimmed
                    .bytes()
                    .fold(0, |marks, byte| marks | MARKS[byte as usize]);
            }
            if !trimmed.is_empty() {
                return Some(Word {
                    text: trimmed,
                    start,
                    marks,
                });
            }
        }
    }
}

impl Words<'_> {
    fn ends_word(&self, bytes: &[u8], at: usize) -> bool {
        ENDS[bytes[at] as usize] || (self.escaped && bytes[at] == b'\\')
    }

    /// Bytes of what lies between words: an escape takes its letter along.
    fn gap(&self, bytes: &[u8], at: usize) -> usize {
        let letter = matches!(bytes.get(at + 1), Some(b'n' | b't' | b'r'));
        if self.escaped && bytes[at] == b'\\' && letter {
            2
        } else {
            1
        }
    }
}

/// Bytes that stand between words.
const ENDS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 128
            || matches!(
                byte as u8,
                b' ' | b'\t'
                    | b'\n'
                    | b'\r'
                    | b'"'
                    | b'\''
                    | b'`'
                    | b'('
                    | b')'
                    | b'['
                    | b']'
                    | b'{'
                    | b'}'
                    | b'<'
                    | b'>'
                    | b','
                    | b';'
                    | b'|'
                    | b'*'
            );
        byte += 1;
    }
    table
};

/// The same fact this many facts ago is not looked for.
const RECENT: usize = 48;

struct Scan<'a> {
    text: &'a str,
    found: Vec<Fact<'a>>,
    /// The words before, the nearest first.
    before: [&'a str; 3],
}

impl<'a> Scan<'a> {
    fn word(&mut self, word: Word<'a>, next: Option<Word<'a>>) {
        let factual = word.has_any(FACTUAL) && word.text.len() <= 300;
        if let Some(fact) = factual.then(|| self.fact(word, next)).flatten()
            && !self.found.iter().rev().take(RECENT).any(|known| *known == fact)
        {
            self.found.push(fact);
        }
        self.before = [word.text, self.before[0], self.before[1]];
    }

    fn fact(&self, word: Word<'a>, next: Option<Word<'a>>) -> Option<Fact<'a>> {
        let text = word.text;
        let plain = |is_path: bool| {
            Some(Fact {
                text,
                is_path,
                subject: None,
            })
        };
        if (word.has(COLON | SLASH) && text.contains("://")) || (word.has_any(AT | DOT) && is_address(word)) {
            return plain(false);
        }
        if word.has(EQUALS) {
            return assignment(text);
        }
        if word.has_any(SLASH | DOT | BACKSLASH) && is_path(word) {
            return plain(true);
        }
        let leads = text
            .as_bytes()
            .first()
            .is_some_and(|b| b.is_ascii_digit() || matches!(b, b'$' | b'-'));
        if let Some(fact) = leads.then(|| self.number(word, next)).flatten() {
            return Some(fact);
        }
        let named = word.has(DIGIT)
            && (is_hash(word) || is_ticket(word) || is_version(word) || is_uuid(text) || is_date(word))
            || is_constant(word);
        named.then_some(Fact {
            text,
            is_path: false,
            subject: None,
        })
    }

    /// A number with its unit, or a setting's.
    fn number(&self, word: Word<'a>, next: Option<Word<'a>>) -> Option<Fact<'a>> {
        let text = word.text;
        let digits = text.trim_start_matches(['$', '-']);
        let end = digits
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',')
            .unwrap_or(digits.len());
        let (value, unit) = digits.split_at(end);
        if value.is_empty() || !value.ends_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        if unit.is_empty() && text.starts_with('$') {
            return Some(Fact {
                text,
                is_path: false,
                subject: self.subject("$"),
            });
        }
        if !unit.is_empty() {
            let subject = || self.subject(unit);
            return is_listed(UNITS, unit).then(|| Fact {
                text,
                is_path: false,
                subject: subject(),
            });
        }
        let beside = next.filter(|next| next.start == word.start + text.len() + 1);
        if let Some(next) = beside.filter(|next| is_listed(UNITS, next.text)) {
            let whole = &self.text[word.start..next.start + next.text.len()];
            return Some(Fact {
                text: whole,
                is_path: false,
                subject: self.subject(next.text),
            });
        }
        self.setting(text)
    }

    /// A bare number right behind the name of a setting, or with fillers between.
    fn setting(&self, text: &'a str) -> Option<Fact<'a>> {
        for before in self.before.iter().take(2) {
            let name = before.trim_end_matches(':');
            if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphabetic()) {
                return None;
            }
            let name = name.to_ascii_lowercase();
            if is_listed(SETTINGS, &name) {
                return Some(Fact {
                    text,
                    is_path: false,
                    subject: Some(format!("{name} #")),
                });
            }
            if !is_listed(FILLERS, &name) {
                return None;
            }
        }
        None
    }

    /// The nearest word before that is none of the fillers, and the kind of unit.
    fn subject(&self, unit: &str) -> Option<String> {
        let is_word =
            |word: &&&str| word.len() >= 3 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
        let word = self
            .before
            .iter()
            .find(|word| !is_listed(FILLERS, &word.to_ascii_lowercase()))?;
        Some(*word)
            .as_ref()
            .filter(is_word)
            .map(|word| format!("{} {unit}", word.to_ascii_lowercase()))
    }
}

/// The word of a subject, without its unit.
fn subject_word(subject: &str) -> &str {
    subject.split(' ').next().unwrap_or(subject)
}

/// `KEY=value`.
fn assignment(text: &str) -> Option<Fact<'_>> {
    let (key, value) = text.split_once('=')?;
    let named = !key.is_empty()
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    let subject = || Some(format!("{} =", key.to_ascii_lowercase()));
    (named && !value.is_empty() && !value.starts_with('=')).then(|| Fact {
        text,
        is_path: false,
        subject: subject(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_fact_is_found_and_plain_words_are_not() {
        let said = |text| facts(text).iter().map(Fact::display).collect::<Vec<_>>();
        let cases: &[(&str, &[&str])] = &[
            (
                "see /srv/a/b.toml, ./xy and src/main.rs:42.",
                &["/srv/a/b.toml", "./xy", "src/main.rs:42"],
            ),
            (
                "open Cargo.toml or C:\\work\\app\\x.txt",
                &["Cargo.toml", "C:\\work\\app\\x.txt"],
            ),
            (
                "https://a.test/p?q=1 and mara@example.org",
                &["https://a.test/p?q=1", "mara@example.org"],
            ),
            ("host 10.0.0.7:8080 up", &["10.0.0.7:8080"]),
            (
                "commit 9f86d08 of 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
                &["9f86d08", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"],
            ),
            (
                "INC-48213, #4711 and MAX_RETRIES",
                &["INC-48213", "#4711", "MAX_RETRIES"],
            ),
            (
                "latency was 372.5 ms, budget of $12.50",
                &["latency: 372.5 ms", "budget: $12.50"],
            ),
            ("port 8443 and port is 9443", &["port: 8443", "port: 9443"]),
            (
                "RUST_LOG=debug since 2026-05-20 with v1.2.3",
                &["RUST_LOG=debug", "2026-05-20", "v1.2.3"],
            ),
            (
                "配置在/etc/heron/main.conf里，超时 45 s",
                &["/etc/heron/main.conf", "45 s"],
            ),
            (
                r#"{"path": "a/b/c", "out": "x\nsrc/lib.rs\ny"}"#,
                &["a/b/c", "src/lib.rs"],
            ),
            (
                "and/or, 1/2, e.g. this is plain -- 12 people; a well-known fact",
                &[],
            ),
        ];
        for (text, facts) in cases {
            assert_eq!(said(text), *facts, "{text}");
        }
    }
}
