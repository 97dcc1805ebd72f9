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

/// Units of numbers; one of them must follow.
const UNITS: &[&str] = &[
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "min",
    "mins",
    "minutes",
    "h",
    "hours",
    "days",
    "weeks",
    "B",
    "KB",
    "kB",
    "MB",
    "GB",
    "TB",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "bytes",
    "px",
    "pt",
    "Hz",
    "kHz",
    "MHz",
    "GHz",
    "kg",
    "km",
    "m",
    "cm",
    "mm",
    "W",
    "kW",
    "V",
    "A",
    "°C",
    "USD",
    "EUR",
    "rps",
    "qps",
    "rpm",
    "fps",
    "tokens",
    "requests",
    "rows",
    "users",
    "workers",
    "threads",
    "retries",
    "connections",
    "replicas",
    "shards",
    "records",
    "lines",
    "files",
    "items",
    "%",
    "percent",
];

/// Words whose number is a setting, also without a unit.
const SETTINGS: &[&str] = &[
    "port",
    "timeout",
    "limit",
    "pid",
    "threshold",
    "batch",
    "retries",
    "workers",
    "threads",
    "seed",
    "budget",
    "quota",
    "capacity",
    "size",
    "version",
    "id",
    "issue",
    "ticket",
    "line",
    "row",
    "page",
    "build",
    "revision",
    "account",
    "order",
    "invoice",
];

/// Words that stand between a subject and its value.
const FILLERS: &[&str] = &[
    "is", "was", "are", "were", "be", "to", "of", "the", "a", "an", "at", "by", "now", "set", "about",
    "around", "only", "than", "from", "in", "on", "for", "and", "or", "it", "that", "this", "with", "took",
    "takes", "has", "have", "had", "its", "roughly", "exactly", "up", "down", "number", "no",
];

/// Endings by which a bare name is a file.
const FILE_ENDINGS: &[&str] = &[
    "rs", "py", "js", "ts", "tsx", "jsx", "json", "toml", "yaml", "yml", "md", "txt", "go", "c", "h", "cc",
    "cpp", "hpp", "java", "kt", "sh", "sql", "html", "css", "scss", "lock", "cfg", "ini", "env", "log",
    "csv", "tsv", "xml", "db", "sqlite", "ipynb", "rb", "php", "vue", "swift", "proto", "conf", "service",
    "pem", "pdf", "png", "jpg", "zip", "gz", "parquet", "tf", "lua", "zig", "ex", "exs", "dart", "patch",
    "diff",
];

/// The facts of a text, in order.
pub(super) fn facts(text: &str) -> Vec<Fact<'_>> {
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
    }
    scan.found
}

/// The subject of a fact as an index lists it.
pub(super) fn subject_of(listed: &str) -> Option<String> {
    let found = facts(listed);
    found.into_iter().next().and_then(|fact| fact.subject)
}

/// A word and whether it holds a mark of a fact.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    start: usize,
    marked: bool,
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
            let mut marked = false;
            while self.at < bytes.len() && !self.ends_word(bytes, self.at) {
                marked |= MARKS[bytes[self.at] as usize];
                self.at += 1;
            }
            if start == self.at {
                return None;
            }
            let text = &self.text[start..self.at];
            let trimmed = text.trim_end_matches(['.', ':', '!', '?']);
            if !trimmed.is_empty() {
                return Some(Word {
                    text: trimmed,
                    start,
                    marked,
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

/// Bytes without which a word is no fact.
const MARKS: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        table[byte] =
            b.is_ascii_digit() || matches!(b, b'/' | b'=' | b'@' | b'.' | b'_' | b'-' | b'#' | b'\\' | b'$');
        byte += 1;
    }
    table
};

struct Scan<'a> {
    text: &'a str,
    found: Vec<Fact<'a>>,
    /// The words before, the nearest first.
    before: [&'a str; 3],
}

impl<'a> Scan<'a> {
    fn word(&mut self, word: Word<'a>, next: Option<Word<'a>>) {
        if word.marked
            && word.text.len() <= 300
            && let Some(fact) = self.fact(word, next)
            && !self
                .found
                .iter()
                .any(|known| known.text == fact.text && known.subject == fact.subject)
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
        if let Some((key, value)) = text.split_once('=') {
            let named = !key.is_empty()
                && key
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
            if named && !value.is_empty() && !value.starts_with('=') {
                let subject = Some(format!("{} =", key.to_ascii_lowercase()));
                return Some(Fact {
                    text,
                    is_path: false,
                    subject,
                });
            }
        }
        if text.contains("://") || is_address(text) {
            return plain(false);
        }
        if is_path(text) {
            return plain(true);
        }
        if text
            .as_bytes()
            .first()
            .is_some_and(|b| b.is_ascii_digit() || matches!(b, b'$' | b'-' | b'v'))
            && let Some(fact) = self.number(word, next)
        {
            return Some(fact);
        }
        (is_hash(text)
            || is_ticket(text)
            || is_version(text)
            || is_constant(text)
            || is_uuid(text)
            || is_date(text))
        .then_some(Fact {
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
        if UNITS.contains(&unit) || (unit.is_empty() && text.starts_with('$')) {
            let subject = self.subject(if unit.is_empty() { "$" } else { unit });
            return Some(Fact {
                text,
                is_path: false,
                subject,
            });
        }
        if !unit.is_empty() {
            return None;
        }
        if let Some(next) =
            next.filter(|next| UNITS.contains(&next.text) && next.start == word.start + text.len() + 1)
        {
            let whole = &self.text[word.start..next.start + next.text.len()];
            return Some(Fact {
                text: whole,
                is_path: false,
                subject: self.subject(next.text),
            });
        }
        let named = self.before.iter().take(2).find(|before| {
            SETTINGS
                .iter()
                .any(|setting| before.trim_end_matches(':').eq_ignore_ascii_case(setting))
        })?;
        // Between the two only fillers: "port 8080", "port is 8080".
        let nearest = self.before[0];
        if nearest != *named && !FILLERS.contains(&nearest) {
            return None;
        }
        let subject = Some(format!("{} #", named.trim_end_matches(':').to_ascii_lowercase()));
        Some(Fact {
            text,
            is_path: false,
            subject,
        })
    }

    /// The nearest word before that is none of the fillers, and the kind of unit.
    fn subject(&self, unit: &str) -> Option<String> {
        let is_word =
            |word: &&&str| word.len() >= 3 && word.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
        let word = self
            .before
            .iter()
            .find(|word| !FILLERS.contains(&word.to_ascii_lowercase().as_str()))?;
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

fn is_path(text: &str) -> bool {
    let sound = |b: u8| b.is_ascii_alphanumeric() || b"/._-~@+:#%\\".contains(&b);
    if text.len() < 4 || !text.bytes().all(sound) || !text.bytes().any(|b| b.is_ascii_alphabetic()) {
        return false;
    }
    let windows = text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2) == Some(&b'\\');
    let parts = text.split('/').filter(|part| !part.is_empty()).count();
    if windows {
        return true;
    }
    let rooted =
        text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text.starts_with("~/");
    if text.contains('/') {
        return (rooted && parts >= 1) || parts >= 3 || (parts == 2 && has_file_ending(text));
    }
    has_file_ending(text) && !text.starts_with('.')
}

fn has_file_ending(text: &str) -> bool {
    let text = text.split(':').next().unwrap_or(text);
    text.rsplit_once('.')
        .is_some_and(|(name, ending)| !name.is_empty() && FILE_ENDINGS.contains(&ending))
}

/// An e-mail address, or an IPv4 address with or without its port.
fn is_address(text: &str) -> bool {
    if let Some((name, host)) = text.split_once('@') {
        return !name.is_empty() && host.contains('.') && !host.starts_with('.') && !text.contains('/');
    }
    let host = text.split(':').next().unwrap_or(text);
    let parts: Vec<&str> = host.split('.').collect();
    parts.len() == 4 && parts.iter().all(|part| part.parse::<u8>().is_ok())
}

fn is_hash(text: &str) -> bool {
    (7..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_hexdigit())
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b.is_ascii_alphabetic())
        && !(text.bytes().any(|b| b.is_ascii_lowercase()) && text.bytes().any(|b| b.is_ascii_uppercase()))
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
fn is_ticket(text: &str) -> bool {
    if let Some(number) = text.strip_prefix('#') {
        return number.len() >= 2 && number.bytes().all(|b| b.is_ascii_digit());
    }
    text.rsplit_once('-').is_some_and(|(name, number)| {
        name.len() >= 2
            && name
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-')
            && name.bytes().any(|b| b.is_ascii_uppercase())
            && number.len() >= 2
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

fn is_version(text: &str) -> bool {
    let number = text.strip_prefix('v').unwrap_or(text);
    let core = number.split(['-', '+']).next().unwrap_or(number);
    core.split('.').count() >= 3
        && core
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

/// `ERR_TOO_MANY_OTTERS`, `MAX_RETRIES`.
fn is_constant(text: &str) -> bool {
    text.len() >= 5
        && text.contains('_')
        && !text.starts_with('_')
        && text
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && text.bytes().any(|b| b.is_ascii_uppercase())
}

/// `2026-05-20`, with or without a time.
fn is_date(text: &str) -> bool {
    let day = text.split('T').next().unwrap_or(text);
    day.len() == 10
        && day.bytes().enumerate().all(|(at, b)| {
            if matches!(at, 4 | 7) {
                b == b'-'
            } else {
                b.is_ascii_digit()
            }
        })
}
