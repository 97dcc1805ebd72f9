//! One pass over the text that finds where something secret may begin, and asks the rule for that
//! place how far it goes.
//!
//! Text without secrets is the common case and megabytes of it pass here, so nothing is matched by a
//! general regular expression: an automaton over all literals (prefixes, secret words, marks) runs at
//! memory speed, and only its hits are looked at, by hand-written rules that read a few bytes around.

use crate::{blocks, commands, headers, names, urls, vendors::VENDORS};
use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use std::{ops::ControlFlow, ops::Range, sync::OnceLock};

/// How much is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Everything that is known to be secret by its shape or by its name.
    Everything,
    /// As everything, but what may as well be code stays: for output of which it is not known what it is.
    Output,
    /// What is secret by its own shape; names and values of code stay readable.
    Code,
}

/// A secret and what stands in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) range: Range<usize>,
    pub(crate) with: With,
}

/// How a secret is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    /// By [`crate::mask`].
    Mask,
    /// By three stars whatever its length (a password in a URL shows nothing of itself).
    Stars,
    /// By the note for a private key.
    PrivateKey,
    /// By four stars between the ends of a telephone number.
    Phone,
}

impl Hit {
    pub(crate) fn new(range: Range<usize>, with: With) -> Hit {
        Hit { range, with }
    }
}

/// What a literal of the automaton announces.
#[derive(Debug, Clone, Copy)]
enum Mark {
    Vendor(usize),
    Word,
    Authorization,
    Bearer,
    Aws,
    Url,
    Pem,
    Jwt,
    AzureSecret,
    Login,
    Password,
}

struct Literals {
    automaton: AhoCorasick,
    marks: Vec<Mark>,
}

/// The automaton, built at first use (a fraction of a millisecond); `None` cannot happen with these
/// literals and then nothing is found by them.
fn literals() -> Option<&'static Literals> {
    static LITERALS: OnceLock<Option<Literals>> = OnceLock::new();
    LITERALS.get_or_init(build).as_ref()
}

fn build() -> Option<Literals> {
    let mut patterns: Vec<&str> = Vec::new();
    let mut marks = Vec::new();
    for (index, vendor) in VENDORS.iter().enumerate() {
        patterns.push(vendor.prefix);
        marks.push(Mark::Vendor(index));
    }
    let others = [
        ("authorization", Mark::Authorization),
        ("bearer ", Mark::Bearer),
        ("secret_access_key", Mark::Aws),
        ("secretaccesskey", Mark::Aws),
        ("://", Mark::Url),
        ("-----BEGIN ", Mark::Pem),
        ("eyJ", Mark::Jwt),
        ("Q~", Mark::AzureSecret),
        (" -u ", Mark::Login),
        ("-user ", Mark::Login),
        ("-user=", Mark::Login),
        (" -p", Mark::Password),
    ];
    for (literal, mark) in others {
        patterns.push(literal);
        marks.push(mark);
    }
    for word in names::ANCHORS {
        patterns.push(word);
        marks.push(Mark::Word);
    }
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .kind(Some(AhoCorasickKind::DFA))
        .prefilter(false)
        .build(patterns)
        .ok()?;
    Some(Literals { automaton, marks })
}

/// Calls `sink` with every secret, in order and without overlap.
pub(crate) fn scan(text: &str, mode: Mode, mut sink: impl FnMut(Hit) -> ControlFlow<()>) {
    let bytes = text.as_bytes();
    let mut loose = blocks::Loose::new(bytes, mode);
    let mut end = 0;
    let mut deliver = |hit: Hit, end: &mut usize| {
        *end = hit.range.end;
        sink(hit)
    };
    if let Some(literals) = literals() {
        let mut from = 0;
        while let Some(found) = literals
            .automaton
            .find(aho_corasick::Input::new(text).range(from..))
        {
            // A vendor's literal may be cut short by a word inside of it; go on one byte further, not
            // behind the whole literal, when nothing came of it and a shorter one may start there.
            from = found.end();
            let mark = literals.marks[found.pattern().as_usize()];
            if matches!(mark, Mark::Login | Mark::Password) {
                // These literals are so short that a longer one may begin inside of them.
                from = found.start() + 1;
            }
            let Some(hit) = at(text, mode, mark, found.range()) else {
                continue;
            };
            while let Some(other) = loose.next_before(hit.range.start) {
                if other.range.start >= end && deliver(other, &mut end).is_break() {
                    return;
                }
            }
            if hit.range.start < end {
                continue;
            }
            from = from.max(hit.range.end);
            if deliver(hit, &mut end).is_break() {
                return;
            }
        }
    }
    while let Some(other) = loose.next_before(usize::MAX) {
        if other.range.start >= end && deliver(other, &mut end).is_break() {
            return;
        }
    }
}

/// What the rule for this mark makes of the place.
fn at(text: &str, mode: Mode, mark: Mark, literal: Range<usize>) -> Option<Hit> {
    match mark {
        Mark::Vendor(index) => {
            vendor(text, index, literal.clone()).or_else(|| word_inside(text, mode, index, literal))
        }
        Mark::Word if mode == Mode::Code => headers::key_header(text, literal),
        Mark::Word => {
            headers::key_header(text, literal.clone()).or_else(|| names::assigned(text, mode, literal))
        }
        Mark::Authorization => headers::authorization(text, mode, literal),
        Mark::Bearer => headers::bearer(text, literal.end),
        Mark::Aws => blocks::aws_secret(text, literal.end).or_else(|| {
            (mode != Mode::Code)
                .then(|| names::assigned(text, mode, literal))
                .flatten()
        }),
        Mark::Url => urls::userinfo(text, literal),
        Mark::Pem => blocks::private_key(text, literal),
        Mark::Jwt => blocks::json_web_token(text, literal.start),
        Mark::Login => commands::login(text, literal),
        Mark::Password => commands::password(text, literal),
        Mark::AzureSecret => blocks::azure_secret(text, literal.start),
    }
}

/// A vendor's key that begins here.
fn vendor(text: &str, index: usize, literal: Range<usize>) -> Option<Hit> {
    let vendor = &VENDORS[index];
    let bytes = text.as_bytes();
    // The automaton folds case for the words' sake; a prefix means its exact letters.
    if &bytes[literal.clone()] != vendor.prefix.as_bytes() {
        return None;
    }
    // `task-` and `disk-` end like keys begin. `_` and `-` may stand before one: `my_sk-…`.
    let glued = crate::shape::before(bytes, literal.start).is_some_and(|byte| byte.is_ascii_alphanumeric());
    if glued {
        return None;
    }
    let end = crate::shape::run(bytes, literal.end, |byte| vendor.body.has(byte));
    let body = &bytes[literal.end..end];
    let fits = if vendor.exact {
        body.len() == vendor.least && !bytes.get(end).is_some_and(|byte| byte.is_ascii_alphanumeric())
    } else {
        body.len() >= vendor.least
    };
    if !fits || !crate::shape::looks_random(body) {
        return None;
    }
    // A dot or a dash that ends the sentence is not part of the key.
    let tail = body
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'.' | b'-' | b'_' | b'/'))
        .count();
    let start = if vendor.prefix.ends_with('=') || vendor.prefix.ends_with('/') {
        literal.end
    } else {
        literal.start
    };
    let range = start..end - tail;
    (!crate::mask::is_mask(&text[range.clone()])).then(|| Hit::new(range, With::Mask))
}

/// Prefixes that hold a secret word (`AccountKey=`) hide it from the automaton; ask for the name too.
fn word_inside(text: &str, mode: Mode, index: usize, literal: Range<usize>) -> Option<Hit> {
    let named = VENDORS[index].prefix.ends_with('=') && mode != Mode::Code;
    named
        .then(|| names::assigned(text, mode, literal.start..literal.end - 1))
        .flatten()
}
