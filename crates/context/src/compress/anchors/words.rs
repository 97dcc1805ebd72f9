//! Facts that are one word, or a number and its unit.
//!
//! One pass over the bytes: a word that holds none of the marks of a fact is not
//! looked at twice. Anything that is not ASCII ends a word, so that a path in a
//! Chinese sentence is found.

/// A fact and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact<'a> {
    pub(super) text: &'a str,
    pub(super) is_path: bool,
    /// What it is a value of, where that is said.
    pub(super) subject: Option<String>,
}

impl Fact<'_> {
    /// A bare value says little; with its subject it can be understood.
    pub(super) fn display(&self) -> String {
        match &self.subject {
            Some(subject) if !self.text.contains('=') => format!("{}: {}", subject_word(subject), self.text),
            Some(_) | None => self.text.to_owned(),
        }
    }
}

/// Units of numbers; one of them must follow. This table and those below are in order.
const UNITS: &[&str] = &[
    "%",
    "A",
    "B",
    "EUR",
    "GB",
    "GHz",
    "GiB",
    "Hz",
    "KB",
    "KiB",
    "MB",
    "MHz",
    "MiB",
    "TB",
    "TiB",
    "USD",
    "V",
    "W",
    "bytes",
    "cm",
    "connections",
    "days",
    "files",
    "fps",
    "h",
    "hours",
    "items",
    "kB",
    "kHz",
    "kW",
    "kg",
    "km",
    "lines",
    "m",
    "min",
    "mins",
    "minutes",
    "mm",
    "ms",
    "percent",
    "pt",
    "px",
    "qps",
    "records",
    "replicas",
    "requests",
    "retries",
    "rows",
    "rpm",
    "rps",
    "s",
    "sec",
    "second",
    "seconds",
    "secs",
    "shards",
    "threads",
    "tokens",
    "users",
    "weeks",
    "workers",
    "°C",
];

/// Words whose number is a setting, also without a unit.
const SETTINGS: &[&str] = &[
    "account",
    "batch",
    "budget",
    "build",
    "capacity",
    "id",
    "invoice",
    "issue",
    "limit",
    "line",
    "order",
    "page",
    "pid",
    "port",
    "quota",
    "retries",
    "revision",
    "row",
    "seed",
    "size",
    "threads",
    "threshold",
    "ticket",
    "timeout",
    "version",
    "workers",
];

/// Words that stand between a subject and its value.
const FILLERS: &[&str] = &[
    "a", "about", "an", "and", "are", "around", "at", "be", "by", "down", "exactly", "for", "from", "had",
    "has", "have", "in", "is", "it", "its", "no", "now", "number", "of", "on", "only", "or", "roughly",
    "set", "takes", "than", "that", "the", "this", "to", "took", "up", "was", "were", "with",
];

/// Endings by which a bare name is a file.
const FILE_ENDINGS: &[&str] = &[
    "c", "cc", "cfg", "conf", "cpp", "css", "csv", "dart", "db", "diff", "env", "ex", "exs", "go", "gz", "h",
    "hpp", "html", "ini", "ipynb", "java", "jpg", "js", "json", "jsx", "kt", "lock", "log", "lua", "md",
    "parquet", "patch", "pdf", "pem", "php", "png", "proto", "py", "rb", "rs", "scss", "service", "sh",
    "sql", "sqlite", "swift", "tf", "toml", "ts", "tsv", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
    "zip",
];

fn is_listed(table: &[&str], word: &str) -> bool {
    table.binary_search(&word).is_ok()
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

/// A word and which marks of facts it holds.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    start: usize,
    marks: u16,
}

impl Word<'_> {
    fn has(&self, marks: u16) -> bool {
        self.marks & marks == marks
    }

    fn has_any(&self, marks: u16) -> bool {
        self.marks & marks != 0
    }
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

const DIGIT: u16 = 1;
const LOWER: u16 = 1 << 1;
const UPPER: u16 = 1 << 2;
const SLASH: u16 = 1 << 3;
const EQUALS: u16 = 1 << 4;
const AT: u16 = 1 << 5;
const DOT: u16 = 1 << 6;
const UNDERSCORE: u16 = 1 << 7;
const DASH: u16 = 1 << 8;
const HASH: u16 = 1 << 9;
const BACKSLASH: u16 = 1 << 10;
const DOLLAR: u16 = 1 << 11;
const COLON: u16 = 1 << 12;
const OTHER: u16 = 1 << 13;

/// A word with none of these is no fact.
const FACTUAL: u16 = DIGIT | SLASH | EQUALS | AT | DOT | UNDERSCORE | HASH | BACKSLASH | DOLLAR;

/// What each byte is.
const MARKS: [u16; 256] = {
    let mut table = [OTHER; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' => DIGIT,
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'/' => SLASH,
            b'=' => EQUALS,
            b'@' => AT,
            b'.' => DOT,
            b'_' => UNDERSCORE,
            b'-' => DASH,
            b'#' => HASH,
            b'\\' => BACKSLASH,
            b'$' => DOLLAR,
            b':' => COLON,
            _ => OTHER,
        };
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
        if let Some(fact) = factual.then(|| self.fact(word, next)).flatten() {
            if !self.found.iter().rev().take(RECENT).any(|known| *known == fact) {
                self.found.push(fact);
            }
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

fn is_path(word: Word<'_>) -> bool {
    let text = word.text;
    let sound = |b: u8| b.is_ascii_alphanumeric() || b"/._-~@+:#%\\".contains(&b);
    if text.len() < 4 || !word.has_any(LOWER | UPPER) || word.has(OTHER) && !text.bytes().all(sound) {
        return false;
    }
    let bytes = text.as_bytes();
    if bytes.get(1) == Some(&b':') && bytes.get(2) == Some(&b'\\') {
        return true;
    }
    if !word.has(SLASH) {
        return !text.starts_with('.') && has_file_ending(word);
    }
    let rooted = ["/", "./", "../", "~/"].iter().any(|root| text.starts_with(root));
    let parts = text.split('/').filter(|part| !part.is_empty()).count();
    (rooted && parts >= 1) || parts >= 3 || (parts == 2 && has_file_ending(word))
}

fn has_file_ending(word: Word<'_>) -> bool {
    let name = if word.has(COLON) {
        word.text.split(':').next().unwrap_or(word.text)
    } else {
        word.text
    };
    match memchr::memrchr(b'.', name.as_bytes()) {
        Some(dot @ 1..) => is_listed(FILE_ENDINGS, &name[dot + 1..]),
        Some(0) | None => false,
    }
}

/// An e-mail address, or an IPv4 address with or without its port.
fn is_address(word: Word<'_>) -> bool {
    let text = word.text;
    if let Some((name, host)) = word.has(AT).then(|| text.split_once('@')).flatten() {
        return !name.is_empty() && host.contains('.') && !host.starts_with('.') && !word.has(SLASH);
    }
    if word.has_any(LOWER | UPPER | OTHER) {
        return false;
    }
    let host = text.split(':').next().unwrap_or(text);
    host.split('.').count() == 4 && host.split('.').all(|part| part.parse::<u8>().is_ok())
}

fn is_hash(word: Word<'_>) -> bool {
    (7..=64).contains(&word.text.len())
        && word.has_any(LOWER | UPPER)
        && !word.has(LOWER | UPPER)
        && word.text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| {
            if matches!(at, 8 | 13 | 18 | 23) {
                b == b'-'
            } else {
                b.is_ascii_hexdigit()
            }
        })
}

/// `INC-48213`, `#1234`.
fn is_ticket(word: Word<'_>) -> bool {
    if let Some(number) = word.text.strip_prefix('#') {
        return number.len() >= 2 && number.bytes().all(|b| b.is_ascii_digit());
    }
    word.has(DASH | UPPER)
        && !word.has_any(LOWER | DOT | SLASH | OTHER)
        && word.text.rsplit_once('-').is_some_and(|(name, number)| {
            name.len() >= 2 && number.len() >= 2 && number.bytes().all(|b| b.is_ascii_digit())
        })
}

fn is_version(word: Word<'_>) -> bool {
    if !word.has(DOT) {
        return false;
    }
    let number = word.text.strip_prefix('v').unwrap_or(word.text);
    let core = number.split(['-', '+']).next().unwrap_or(number);
    core.split('.').count() >= 3
        && core
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// `ERR_TOO_MANY_OTTERS`, `MAX_RETRIES`.
fn is_constant(word: Word<'_>) -> bool {
    word.has(UNDERSCORE | UPPER)
        && word.marks & !(UNDERSCORE | UPPER | DIGIT) == 0
        && word.text.len() >= 5
        && !word.text.starts_with('_')
}

/// `2026-05-20`, with or without a time.
fn is_date(word: Word<'_>) -> bool {
    if !word.has(DASH | DIGIT) || word.text.len() < 10 {
        return false;
    }
    let day = word.text.split('T').next().unwrap_or(word.text);
    day.len() == 10
        && day.bytes().enumerate().all(|(at, b)| {
            if matches!(at, 4 | 7) {
                b == b'-'
            } else {
                b.is_ascii_digit()
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_searched_by_halves_are_in_order() {
        for table in [UNITS, SETTINGS, FILLERS, FILE_ENDINGS] {
            assert!(table.is_sorted(), "{table:?}");
        }
    }

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
