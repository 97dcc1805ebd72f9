//! A JSON member that should be a text and may be anything.
//!
//! Servers send numbers for ids, lists for contents and objects for arguments.
//! Reading them loosely keeps one odd member from spoiling a whole event; a text
//! is borrowed from the event, so the usual case copies nothing.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::wire::WireError;

/// A text, or something else.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Loose<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// Something else that is not null; boxed, because it is rare and large.
    Other(Box<Value>),
    /// `null`.
    Null,
}

impl<'a> Loose<'a> {
    /// The text, if it is one and not empty.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) if !text.is_empty() => Some(text),
            Self::Text(_) | Self::Other(_) | Self::Null => None,
        }
    }

    /// The text, or the JSON of what stands in its place; nothing for `null`.
    pub(crate) fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Other(value) => Some(Cow::Owned(value.to_string())),
            Self::Null => None,
        }
    }

    /// The number, also when it is written as a text.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::Text(text) => text.trim().parse().ok(),
            Self::Other(value) => value.as_u64(),
            Self::Null => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Loose::Text(Cow::Owned(text)))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Loose::Other(Box::new(value.into())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Loose::Other(Box::new(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Loose::Other(Box::new(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Loose::Other(Box::new(value.into())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Loose::Null)
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Loose::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items)).map(|value| Loose::Other(Box::new(value)))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(members)).map(|value| Loose::Other(Box::new(value)))
    }
}

/// Reads a document, once more with half surrogates mended if it is not readable as it is.
pub(crate) fn read<T, R>(json: &str, then: impl FnOnce(T) -> R) -> Result<R, serde_json::Error>
where
    T: for<'de> Deserialize<'de>,
{
    match serde_json::from_str::<T>(json) {
        Ok(value) => Ok(then(value)),
        Err(error) => {
            let mended = talaria_llm::json::mend_surrogates(json);
            if matches!(mended, Cow::Borrowed(_)) {
                return Err(error);
            }
            serde_json::from_str::<T>(&mended).map(then)
        }
    }
}

/// A document is an error in one of the shapes servers have for it.
pub(crate) fn is_error(document: &Value) -> bool {
    match document {
        Value::Array(items) => items.first().is_some_and(is_error),
        Value::Object(members) => {
            let present = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
            present("error")
                || members.get("object").and_then(Value::as_str) == Some("error")
                || members.get("type").and_then(Value::as_str) == Some("error")
                || present("detail")
                || (present("message") && (present("code") || members.len() == 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// What to make of an event that has not the protocol's shape: an error in some
/// envelope, something unknown, or nothing readable.
pub(crate) fn refuse_or(json: &str, why: &'static str) -> Result<(), WireError> {
    match read(json, |document: Value| is_error(&document)) {
        Ok(true) => Err(WireError::Refused {
            body: json.to_owned(),
        }),
        Ok(false) => Ok(()),
        Err(_) => Err(WireError::Invalid {
            why,
            body: json.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_stands_in_a_texts_place_is_read() {
        let read = |json: &str| {
            serde_json::from_str::<Loose<'_>>(json)
                .unwrap()
                .into_text()
                .map(String::from)
        };
        assert_eq!(read(r#""a""#).as_deref(), Some("a"));
        assert_eq!(read("null"), None);
        assert_eq!(read(r#"{"a":[1,null]}"#).as_deref(), Some(r#"{"a":[1,null]}"#));
        assert_eq!(read("7").as_deref(), Some("7"));
    }

    #[test]
    fn errors_are_recognised_in_every_envelope() {
        for text in [
            r#"{"error":{"message":"x"}}"#,
            r#"{"code":"c","error":"x"}"#,
            r#"{"object":"error","message":"x"}"#,
            r#"{"message":"x"}"#,
            r#"[{"error":{"code":400}}]"#,
            r#"{"detail":"x"}"#,
            r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
        ] {
            assert!(is_error(&serde_json::from_str(text).unwrap()), "{text}");
        }
        for text in [r#"{"object":"unknown.thing"}"#, r#"{"error":null}"#, r#"[]"#] {
            assert!(!is_error(&serde_json::from_str(text).unwrap()), "{text}");
        }
    }
}
