//! An estimate that needs no tables.
//!
//! Characters divided by four is wrong by a factor of two for Chinese and by a
//! third for code. This follows how byte-pair vocabularies split text: words with
//! the character before them, digits by three, runs of punctuation and of
//! indentation, and scripts by how densely today's vocabularies cover them. The
//! weights were fitted to `o200k_base`; other families differ by a ratio, which
//! calibration learns.

/// A thousandth of a token, so that weights are whole numbers.
type Milli = u64;

/// Letters of one word that cost no more than its first.
const FREE_LETTERS: u64 = 6;
const WORD: Milli = 1_000;
const LONG_WORD_LETTER: Milli = 115;
const HAN: Milli = 760;
const KANA: Milli = 700;
const HANGUL: Milli = 640;
const OTHER_LETTER: Milli = 330;
const SYMBOL: Milli = 1_800;
const PUNCTUATION: Milli = 900;
const GLUED_PUNCTUATION: Milli = 450;
const WIDE_PUNCTUATION: Milli = 800;
const LINE_BREAK: Milli = 900;
const GLUED_LINE_BREAK: Milli = 250;
const INDENTATION: Milli = 900;

/// What a character is to a vocabulary.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Space,
    LineBreak,
    Punctuation,
    Han,
    Kana,
    Hangul,
    OtherLetter,
    WidePunctuation,
    Symbol,
}

/// Classes of ASCII; the other half of the table is not looked at.
const ASCII: [Class; 256] = {
    let mut table = [Class::Symbol; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            b' ' | b'\t' => Class::Space,
            b'\n' | b'\r' => Class::LineBreak,
            _ => Class::Punctuation,
        };
        byte += 1;
    }
    table
};

/// Which runs a byte continues: one bit a class, none beyond ASCII. A capital
/// begins a word of its own unless the word is written in capitals.
const CONTINUES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = 1 << ASCII[byte] as u8;
        if (byte as u8).is_ascii_lowercase() {
            table[byte] |= 1 << Class::Upper as u8;
        }
        byte += 1;
    }
    table
};

/// Tokens of a text, within some fifteen per cent.
pub fn quick(text: &str) -> u64 {
    if text.is_empty() {
        return 0;
    }
    let bytes = text.as_bytes();
    let mut runs = Runs {
        before: Class::LineBreak,
        total: 0,
    };
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        let start = at;
        if *first < 128 {
            let kind = ASCII[*first as usize];
            let bit = 1 << kind as u8;
            at += 1;
            while bytes
                .get(at)
                .is_some_and(|byte| CONTINUES[*byte as usize] & bit != 0)
            {
                at += 1;
            }
            let word_follows = bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
            runs.end(kind, (at - start) as u64, word_follows);
        } else {
            let mut chars = text[at..].chars().take_while(|c| !c.is_ascii());
            // There is one: the byte is not ASCII.
            let first = chars.next().unwrap_or_default();
            let kind = class(first);
            let same = chars.take_while(|c| class(*c) == kind);
            let (more, width) = same.fold((0, 0), |(count, width), c| (count + 1, width + c.len_utf8()));
            at += first.len_utf8() + width;
            runs.end(kind, 1 + more, false);
        }
    }
    (runs.total / 1_000).max(1)
}

struct Runs {
    /// The class of the run before.
    before: Class,
    total: Milli,
}

impl Runs {
    fn end(&mut self, kind: Class, length: u64, word_follows: bool) {
        self.total += match kind {
            Class::Lower | Class::Upper => WORD + length.saturating_sub(FREE_LETTERS) * LONG_WORD_LETTER,
            Class::Digit => length.div_ceil(3) * 1_000,
            Class::Space if length == 1 => 0,
            Class::Space => INDENTATION,
            Class::LineBreak if self.before == Class::Punctuation => GLUED_LINE_BREAK,
            Class::LineBreak => LINE_BREAK,
            Class::Punctuation => {
                let glued = length == 1 && word_follows;
                let first = if glued { GLUED_PUNCTUATION } else { PUNCTUATION };
                first + length.saturating_sub(2) * 330
            }
            Class::Han => length * HAN,
            Class::Kana => length * KANA,
            Class::Hangul => length * HANGUL,
            Class::OtherLetter => 300 + length * OTHER_LETTER,
            Class::WidePunctuation => length * WIDE_PUNCTUATION,
            Class::Symbol => length * SYMBOL,
        };
        self.before = kind;
    }
}

/// The class of a character beyond ASCII.
fn class(c: char) -> Class {
    match c {
        '\u{a0}' | '\u{3000}' => Class::Space,
        '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' => Class::Kana,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => Class::Han,
        '\u{ac00}'..='\u{d7af}' | '\u{1100}'..='\u{11ff}' => Class::Hangul,
        '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}' => Class::WidePunctuation,
        '\0'..='\u{1fff}' => Class::OtherLetter,
        _ => Class::Symbol,
    }
}
