//! Facts that are a sentence: demands, errors, corrections.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::words;

/// Demands of one message that are listed.
const MOST_DEMANDS: usize = 3;
/// A longer sentence is a story, not a demand.
const LONGEST_DEMAND: usize = 240;
/// Errors of one message that are listed.
const MOST_ERRORS: usize = 3;
/// An error text is cut to this many characters.
const LONGEST_ERROR: usize = 160;

/// Words of a demand. ASCII ones must stand alone.
const DEMANDS: &[&str] = &[
    "never",
    "always",
    "must",
    "don't",
    "do not",
    "make sure",
    "avoid",
    "forbidden",
    "not allowed",
    "at most",
    "at least",
    "no more than",
    "prefer",
    "only use",
    "use only",
    "instead of",
    "require",
    "requires",
    "required",
    "mandatory",
    "under no circumstances",
    "不要",
    "必须",
    "务必",
    "切勿",
    "禁止",
    "不得",
    "只能",
    "不能",
    "一定要",
    "永远",
    "总是",
    "しないで",
    "必ず",
    "禁止",
    "してはいけ",
    "하지 마",
    "반드시",
    "절대",
    "nunca",
    "siempre",
    "niemals",
    "immer",
    "jamais",
    "toujours",
];

/// Beginnings of error texts, as programs print them.
const ERRORS: &[&str] = &[
    "error:",
    "error[",
    "Error:",
    "ERROR",
    "ERR_",
    "ERR!",
    "Exception",
    "panicked at",
    "Traceback",
    "FAILED",
    "fatal:",
    "FATAL",
    "failed:",
    "failed to",
    "Permission denied",
    "No such file",
    "command not found",
    "Connection refused",
    "timed out",
    "ENOENT",
    "EACCES",
    "ECONN",
    "ETIMEDOUT",
    "Segmentation fault",
    "错误：",
    "错误:",
    "失败：",
    "失败:",
];

/// Words between what holds and what no longer does: `keep` they `drop`.
const KEEP_THEN_DROP: &[&str] = &["instead of", "rather than", "not", "no longer", "而不是", "不是"];
/// Words between what no longer holds and what does.
const DROP_THEN_KEEP: &[&str] = &[
    "should be",
    "changed to",
    "replaced by",
    "replaced with",
    "is now",
    "renamed to",
    "moved to",
    "->",
    "→",
    "=>",
    "改成",
    "改为",
    "换成",
    "而是",
];
/// Words before what no longer holds: `change X to Y`.
const CHANGES: &[&str] = &[
    "change", "changed", "replace", "rename", "switch", "move", "update", "correct", "from", "把", "将",
];

/// A table-driven search: the texts are long and the phrases few.
fn searcher(phrases: &[&str], any_case: bool) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .ascii_case_insensitive(any_case)
        .match_kind(MatchKind::LeftmostFirst)
        .kind(Some(AhoCorasickKind::DFA))
        .build(phrases)
        .ok()
}

/// Sentences in which a person demands something.
pub(super) fn demands(text: &str) -> impl Iterator<Item = &str> {
    static DEMAND: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| searcher(DEMANDS, true));
    let mut found: Vec<&str> = Vec::new();
    if let Some(search) = DEMAND.as_ref() {
        for hit in search.find_iter(text) {
            if !stands_alone(text, hit.start(), hit.end()) {
                continue;
            }
            let sentence = sentence_at(text, hit.start());
            let known = found
                .iter()
                .any(|other| std::ptr::eq(other.as_ptr(), sentence.as_ptr()));
            if !known && !sentence.is_empty() && sentence.chars().count() <= LONGEST_DEMAND {
                found.push(sentence);
            }
            if found.len() == MOST_DEMANDS {
                break;
            }
        }
    }
    found.into_iter()
}

/// Error texts, from their first word to the end of the sentence or line.
pub(super) fn errors(text: &str) -> impl Iterator<Item = &str> {
    static ERROR: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| searcher(ERRORS, false));
    let mut found: Vec<&str> = Vec::new();
    let mut from = 0;
    if let Some(search) = ERROR.as_ref() {
        for hit in search.find_iter(text) {
            if hit.start() < from {
                continue;
            }
            let error = error_at(text, hit.start());
            from = hit.start() + error.len().max(1);
            let error = error.trim();
            if error.len() > hit.len() + 3 && !found.contains(&error) {
                found.push(error);
            }
            if found.len() == MOST_ERRORS {
                break;
            }
        }
    }
    found.into_iter()
}

/// Facts that a text takes back: `8081 instead of 8080`, `change X to Y`.
pub(super) fn corrected(text: &str) -> Vec<String> {
    let mut taken_back = Vec::new();
    if !mentions_change(text) {
        return taken_back;
    }
    for sentence in sentences(text) {
        let facts = words::facts(sentence);
        for (at, fact) in facts.iter().enumerate() {
            let start = offset(sentence, fact.text);
            let before = &sentence[..start];
            let between = at.checked_sub(1).and_then(|other| facts.get(other)).map(|other| {
                let end = offset(sentence, other.text) + other.text.len();
                sentence.get(end..start).unwrap_or_default()
            });
            let after = facts.get(at + 1).map(|next| {
                let end = start + fact.text.len();
                sentence.get(end..offset(sentence, next.text)).unwrap_or_default()
            });
            let dropped_behind = between.unwrap_or(before);
            let drops = says_any(dropped_behind, KEEP_THEN_DROP)
                || after.is_some_and(|after| {
                    says_any(after, DROP_THEN_KEEP)
                        || (says_any(after, &["to", "with", "by"]) && says_any(before, CHANGES))
                });
            if drops {
                taken_back.push(fact.text.to_owned());
                taken_back.push(fact.display());
            }
        }
    }
    taken_back.dedup();
    taken_back
}

/// Cheap test before sentences are taken apart.
fn mentions_change(text: &str) -> bool {
    static CHANGE: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let all: Vec<&str> = KEEP_THEN_DROP
            .iter()
            .chain(DROP_THEN_KEEP)
            .chain(CHANGES)
            .copied()
            .collect();
        searcher(&all, true)
    });
    CHANGE.as_ref().is_some_and(|search| search.is_match(text))
}

fn says_any(text: &str, phrases: &[&str]) -> bool {
    let lower = text.to_lowercase();
    phrases.iter().any(|phrase| {
        lower
            .match_indices(phrase)
            .any(|(at, hit)| stands_alone(&lower, at, at + hit.len()))
    })
}

/// Whether an ASCII word is not part of a longer one.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let letter = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let first = bytes.get(start);
    let last = end.checked_sub(1).and_then(|last| bytes.get(last));
    let before = start.checked_sub(1).and_then(|before| bytes.get(before));
    !(letter(first) && letter(before) || letter(last) && letter(bytes.get(end)))
}

fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize)
        .saturating_sub(text.as_ptr() as usize)
        .min(text.len())
}

fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut from = 0;
    while from < text.len() {
        let end = end_of_sentence(text, from);
        let sentence = text[from..end].trim();
        if !sentence.is_empty() {
            found.push(sentence);
        }
        from = end;
    }
    found
}

/// The sentence around a place.
fn sentence_at(text: &str, at: usize) -> &str {
    let mut from = 0;
    // Only what can be the sentence's beginning is looked at.
    let mut window = at.saturating_sub(LONGEST_DEMAND * 4);
    while !text.is_char_boundary(window) {
        window -= 1;
    }
    from = from.max(window);
    loop {
        let end = end_of_sentence(text, from);
        if end > at || end >= text.len() {
            return text[from..end].trim();
        }
        from = end;
    }
}

/// Behind the sign that ends the sentence which begins at `from`.
fn end_of_sentence(text: &str, from: usize) -> usize {
    let mut chars = text[from..].char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let ends = match c {
            '\n' | '。' | '！' | '？' | '；' => true,
            '.' | '!' | '?' | ';' => next.is_none_or(char::is_whitespace),
            _ => false,
        };
        if ends {
            return from + at + c.len_utf8();
        }
    }
    text.len()
}

/// From an error's first word to the end of its line or sentence.
fn error_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let mut end = rest.len();
    for (count, (offset, c)) in rest.char_indices().enumerate() {
        let escape = c == '\\' && matches!(rest.as_bytes().get(offset + 1), Some(b'n' | b'r'));
        let stop = matches!(c, '\n' | '\r' | '"' | '。') || escape;
        let sentence = c == '.' && rest[offset + 1..].starts_with(' ');
        if count >= LONGEST_ERROR || stop || sentence {
            end = offset;
            break;
        }
    }
    &rest[..end]
}
