//! Reads arguments that a model wrote almost as JSON.
//!
//! Models forget closing braces, leave commas behind, write Python's literals,
//! put raw line breaks into strings, or say everything twice. Once such a call
//! is in the history every later request is refused, so what is sent must be a
//! JSON object. Whether a repaired call may also *run* is not decided here:
//! [`Damage`] says how much was guessed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Deeper nesting than most servers' parsers take.
const DEEPEST: usize = 100;

/// How far arguments were from a JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Damage {
    /// They are one.
    None,
    /// Nothing, or `null`: a call without arguments.
    Blank,
    /// Slips of the pen; what was meant is plain.
    Slips,
    /// They stop in the middle; what follows is unknown.
    CutOff,
    /// What was meant cannot be told, or is no object.
    Hopeless,
}

/// Arguments as a JSON object, and how much of it was guessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired<'a> {
    text: Cow<'a, str>,
    /// What was wrong.
    pub damage: Damage,
}

impl<'a> Repaired<'a> {
    /// The JSON object; `{}` when nothing could be read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The JSON object, borrowed where nothing was wrong.
    pub fn into_text(self) -> Cow<'a, str> {
        self.text
    }
}

/// Makes a JSON object of what a model wrote as a call's arguments.
pub fn repair_arguments(text: &str) -> Repaired<'_> {
    if is_sound_object(text) {
        return Repaired {
            text: Cow::Borrowed(text),
            damage: Damage::None,
        };
    }
    let bare = strip_fence(text.trim());
    if matches!(bare, "" | "null" | "None") {
        return Repaired {
            text: Cow::Borrowed("{}"),
            damage: Damage::Blank,
        };
    }
    let mut reader = Reader {
        text: bare,
        at: 0,
        cut: false,
    };
    match reader.value(0) {
        Some(Value::Object(members)) => {
            let damage = if reader.cut { Damage::CutOff } else { Damage::Slips };
            Repaired {
                text: Cow::Owned(Value::Object(members).to_string()),
                damage,
            }
        }
        // An object written as a string: one level of encoding too many.
        Some(Value::String(inner)) if !reader.cut && inner.trim_start().starts_with('{') => {
            let inner = repair_arguments(&inner);
            let damage = if inner.damage == Damage::None {
                Damage::Slips
            } else {
                inner.damage
            };
            Repaired {
                text: Cow::Owned(inner.text.into_owned()),
                damage,
            }
        }
        _ => Repaired {
            text: Cow::Borrowed("{}"),
            damage: Damage::Hopeless,
        },
    }
}

fn is_sound_object(text: &str) -> bool {
    if !text.trim_start().starts_with('{') {
        return false;
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    Sound { depth: 0 }.deserialize(&mut reader).is_ok() && reader.end().is_ok()
}

/// Reads a value and keeps nothing of it. Stricter than `IgnoredAny`, which lets
/// lone surrogates, numbers out of range and any nesting pass.
#[derive(Clone, Copy)]
struct Sound {
    depth: usize,
}

impl Sound {
    fn inner<E: Error>(self) -> Result<Self, E> {
        let depth = self.depth + 1;
        if depth > DEEPEST {
            Err(E::custom("nested too deeply"))
        } else {
            Ok(Self { depth })
        }
    }
}

impl<'de> DeserializeSeed<'de> for Sound {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sound {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while items.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while members.next_key_seed(inner)?.is_some() {
            members.next_value_seed(inner)?;
        }
        Ok(())
    }
}

fn strip_fence(text: &str) -> &str {
    let Some(inner) = text.strip_prefix("```") else {
        return text;
    };
    let inner = inner.split_once('\n').map_or(inner, |(_, body)| body);
    inner.strip_suffix("```").unwrap_or(inner).trim()
}

/// A forgiving reader of one JSON value.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// The text ended before the value did.
    cut: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip(&mut self, unwanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&unwanted) {
            self.next();
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.skip(char::is_whitespace);
        match self.peek()? {
            _ if depth > DEEPEST => None,
            '{' => self.object(depth),
            '[' => self.array(depth),
            quote @ ('"' | '\'') => Some(Value::String(self.string(quote))),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut members = Map::new();
        loop {
            self.skip(|c| c.is_whitespace() || c == ',');
            match self.peek() {
                None => {
                    self.cut = true;
                    return Some(Value::Object(members));
                }
                Some('}') => {
                    self.next();
                    return Some(Value::Object(members));
                }
                // A closer of something else: this one's own was forgotten.
                Some(']') => return Some(Value::Object(members)),
                Some(_) => {}
            }
            let key = self.key()?;
            self.skip(char::is_whitespace);
            match self.peek() {
                Some(':') => {
                    self.next();
                }
                None => {
                    self.cut = true;
                    return Some(Value::Object(members));
                }
                Some(_) => return None,
            }
            self.skip(char::is_whitespace);
            if self.peek().is_none() {
                self.cut = true;
                return Some(Value::Object(members));
            }
            let value = self.value(depth + 1)?;
            members.insert(key, value);
        }
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.skip(|c| c.is_whitespace() || c == ',');
            match self.peek() {
                None => {
                    self.cut = true;
                    return Some(Value::Array(items));
                }
                Some(']') => {
                    self.next();
                    return Some(Value::Array(items));
                }
                Some('}') => return Some(Value::Array(items)),
                Some(_) => items.push(self.value(depth + 1)?),
            }
        }
    }

    /// A member's name, quoted or bare.
    fn key(&mut self) -> Option<String> {
        match self.peek()? {
            quote @ ('"' | '\'') => Some(self.string(quote)),
            c if c.is_alphabetic() || c == '_' => {
                let start = self.at;
                self.skip(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
                Some(self.text[start..self.at].to_owned())
            }
            _ => None,
        }
    }

    fn string(&mut self, quote: char) -> String {
        self.next();
        let mut said = String::new();
        loop {
            match self.next() {
                None => {
                    self.cut = true;
                    return said;
                }
                Some(c) if c == quote => return said,
                Some('\\') => self.escape(&mut said),
                Some(c) => said.push(c),
            }
        }
    }

    fn escape(&mut self, said: &mut String) {
        match self.next() {
            None => self.cut = true,
            Some('n') => said.push('\n'),
            Some('t') => said.push('\t'),
            Some('r') => said.push('\r'),
            Some('b') => said.push('\u{8}'),
            Some('f') => said.push('\u{c}'),
            Some(c @ ('"' | '\'' | '\\' | '/')) => said.push(c),
            Some('u') => match self.code_unit() {
                Some(unit) => said.push(self.code_point(unit)),
                None => said.push_str("\\u"),
            },
            // No escape of JSON: a Windows path or a regular expression.
            Some(c) => {
                said.push('\\');
                said.push(c);
            }
        }
    }

    fn code_unit(&mut self) -> Option<u32> {
        let digits = self
            .rest()
            .get(..4)
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
        let unit = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(unit)
    }

    /// The character of a code unit, with the second half of a pair when it
    /// follows; a lone half is no Unicode.
    fn code_point(&mut self, unit: u32) -> char {
        if (0xd800..0xdc00).contains(&unit) && self.rest().starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            match self.code_unit() {
                Some(low @ 0xdc00..0xe000) => {
                    let point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                    return char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER);
                }
                _ => self.at = before,
            }
        }
        char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// A number or a literal, JSON's or Python's. A bare word is a guess too many.
    fn word(&mut self) -> Option<Value> {
        let start = self.at;
        self.skip(|c| c.is_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'));
        let word = &self.text[start..self.at];
        match word {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            "null" | "None" | "undefined" | "NaN" | "Infinity" | "-Infinity" => Some(Value::Null),
            _ => word.parse::<Number>().ok().map(Value::Number),
        }
        .or_else(|| self.cut_word(word.len()))
    }

    /// A literal that the end of the text cut in two says nothing.
    fn cut_word(&mut self, length: usize) -> Option<Value> {
        if self.at == self.text.len() && length > 0 {
            self.cut = true;
            return Some(Value::Null);
        }
        None
    }
}
