//! What a single word is: the marks it holds, the shapes it may have, and the
//! words that give a number its meaning.

/// A word and which marks of facts it holds.
#[derive(Clone, Copy)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) start: usize,
    pub(super) marks: u16,
}

impl Word<'_> {
    pub(super) fn has(&self, marks: u16) -> bool {
        self.marks & marks == marks
    }

    pub(super) fn has_any(&self, marks: u16) -> bool {
        self.marks & marks != 0
    }
}

pub(super) const DIGIT: u16 = 1;
pub(super) const LOWER: u16 = 1 << 1;
pub(super) const UPPER: u16 = 1 << 2;
pub(super) const SLASH: u16 = 1 << 3;
pub(super) const EQUALS: u16 = 1 << 4;
pub(super) const AT: u16 = 1 << 5;
pub(super) const DOT: u16 = 1 << 6;
pub(super) const UNDERSCORE: u16 = 1 << 7;
pub(super) const DASH: u16 = 1 << 8;
pub(super) const HASH: u16 = 1 << 9;
pub(super) const BACKSLASH: u16 = 1 << 10;
pub(super) const DOLLAR: u16 = 1 << 11;
pub(super) const COLON: u16 = 1 << 12;
pub(super) const OTHER: u16 = 1 << 13;

/// A word with none of these is no fact.
pub(super) const FACTUAL: u16 = DIGIT | SLASH | EQUALS | AT | DOT | UNDERSCORE | HASH | BACKSLASH | DOLLAR;

/// What each byte is.
pub(super) const MARKS: [u16; 256] = {
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

/// Units of numbers; one of them must follow. This table and those below are in order.
pub(super) const UNITS: &[&str] = &[
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
pub(super) const SETTINGS: &[&str] = &[
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
pub(super) const FILLERS: &[&str] = &[
    "a", "about", "an", "and", "are", "around", "at", "be", "by", "down", "exactly", "for", "from", "had",
    "has", "have", "in", "is", "it", "its", "no", "now", "number", "of", "on", "only", "or", "roughly",
    "set", "takes", "than", "that", "the", "this", "to", "took", "up", "was", "were", "with",
];

/// Endings by which a bare name is a file.
pub(super) const FILE_ENDINGS: &[&str] = &[
    "c", "cc", "cfg", "conf", "cpp", "css", "csv", "dart", "db", "diff", "env", "ex", "exs", "go", "gz", "h",
    "hpp", "html", "ini", "ipynb", "java", "jpg", "js", "json", "jsx", "kt", "lock", "log", "lua", "md",
    "parquet", "patch", "pdf", "pem", "php", "png", "proto", "py", "rb", "rs", "scss", "service", "sh",
    "sql", "sqlite", "swift", "tf", "toml", "ts", "tsv", "tsx", "txt", "vue", "xml", "yaml", "yml", "zig",
    "zip",
];

pub(super) fn is_listed(table: &[&str], word: &str) -> bool {
    table.binary_search(&word).is_ok()
}

pub(super) fn is_path(word: Word<'_>) -> bool {
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
pub(super) fn is_address(word: Word<'_>) -> bool {
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

pub(super) fn is_hash(word: Word<'_>) -> bool {
    (7..=64).contains(&word.text.len())
        && word.has_any(LOWER | UPPER)
        && !word.has(LOWER | UPPER)
        && word.text.bytes().all(|b| b.is_ascii_hexdigit())
}

pub(super) fn is_uuid(text: &str) -> bool {
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
pub(super) fn is_ticket(word: Word<'_>) -> bool {
    if let Some(number) = word.text.strip_prefix('#') {
        return number.len() >= 2 && number.bytes().all(|b| b.is_ascii_digit());
    }
    word.has(DASH | UPPER)
        && !word.has_any(LOWER | DOT | SLASH | OTHER)
        && word.text.rsplit_once('-').is_some_and(|(name, number)| {
            name.len() >= 2 && number.len() >= 2 && number.bytes().all(|b| b.is_ascii_digit())
        })
}

pub(super) fn is_version(word: Word<'_>) -> bool {
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
pub(super) fn is_constant(word: Word<'_>) -> bool {
    word.has(UNDERSCORE | UPPER)
        && word.marks & !(UNDERSCORE | UPPER | DIGIT) == 0
        && word.text.len() >= 5
        && !word.text.starts_with('_')
}

/// `2026-05-20`, with or without a time.
pub(super) fn is_date(word: Word<'_>) -> bool {
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
}
