//! JSON as models and their servers write it, made readable.
//!
//! Two faults are common enough to be handled before any parser sees the text:
//! escapes of half a surrogate pair, which are no Unicode, and arguments that a
//! server sends twice in a row. What is broken beyond that is left as it is, so
//! that the model can be told.

use std::borrow::Cow;

use serde_json::Value;

/// Replaces escapes of lone surrogates (`\ud83d` without its second half) by `\ufffd`.
pub fn mend_surrogates(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut mended: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        let Some(unit) = escaped_unit(&bytes[at..]) else {
            at += 2.min(bytes.len() - at);
            continue;
        };
        let low_follows =
            || escaped_unit(&bytes[at + 6..]).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        let width = match unit {
            0xd800..0xdc00 if low_follows() => 12,
            0xd800..0xe000 => {
                let text = mended.get_or_insert_with(|| String::with_capacity(json.len()));
                text.push_str(&json[copied..at]);
                text.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            _ => 6,
        };
        at += width;
    }
    match mended {
        None => Cow::Borrowed(json),
        Some(mut text) => {
            text.push_str(&json[copied..]);
            Cow::Owned(text)
        }
    }
}

/// The UTF-16 unit that a `\uXXXX` at the start of `bytes` stands for.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// A call's arguments as the text of a JSON object, whatever was stored.
///
/// Valid ones come back as they are, byte for byte. Nothing and `null` mean no
/// arguments; a doubled object means itself; anything else is wrapped as
/// `{"_raw": "…"}`, because servers refuse a history with broken arguments while
/// the model must still see what it wrote.
pub fn object_text(arguments: &str) -> Cow<'_, str> {
    let mended = mend_surrogates(arguments);
    if is_object(&mended) {
        return mended;
    }
    let trimmed = mended.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return Cow::Borrowed("{}");
    }
    if let Some(once) = undouble(trimmed) {
        return Cow::Owned(once.to_owned());
    }
    let mut wrapped = serde_json::Map::new();
    wrapped.insert("_raw".to_owned(), Value::String(arguments.to_owned()));
    Cow::Owned(Value::Object(wrapped).to_string())
}

/// The text is one JSON object and nothing else.
pub fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The object, when the text is the same one written two or more times.
pub fn undouble(text: &str) -> Option<&str> {
    if !text.starts_with('{') {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    stream.next()?.ok()?;
    let first = &text[..stream.byte_offset()];
    let mut rest = text[first.len()..].trim_start();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        rest = rest.strip_prefix(first)?.trim_start();
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_a_surrogate_pair_does_not_spoil_the_text() {
        for (text, mended) in [
            (r#""a \ud83d b""#, r#""a \ufffd b""#),
            (r#""a \udc00""#, r#""a \ufffd""#),
            (r#""\ud83d\ude80""#, r#""\ud83d\ude80""#),
            (r#""\ud83d\ud83d\ude80""#, r#""\ufffd\ud83d\ude80""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\ud8"#, r#""\ud8"#),
        ] {
            assert_eq!(mend_surrogates(text), mended, "{text}");
        }
    }

    #[test]
    fn arguments_are_sent_as_a_json_object_whatever_was_stored() {
        for (text, sent) in [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            ("", "{}"),
            (" null ", "{}"),
            (r#"{"a":1}{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1}{"a":2}"#, r#"{"_raw":"{\"a\":1}{\"a\":2}"}"#),
            (r#"{"a":1"#, r#"{"_raw":"{\"a\":1"}"#),
            ("[1]", r#"{"_raw":"[1]"}"#),
        ] {
            assert_eq!(object_text(text), sent, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_is_always_an_object(text in r#"[{}\[\]",:a1 \\ud83d]{0,20}"#) {
            let sent = object_text(&text);
            prop_assert!(serde_json::from_str::<serde_json::Map<String, Value>>(&sent).is_ok(), "{}", sent);
        }

        #[test]
        fn mended_text_has_no_lone_surrogate(text in r#"(\\ud83d|\\ude80|\\u0041|\\\\|a){0,12}"#) {
            let json = format!("\"{text}\"");
            prop_assert!(serde_json::from_str::<String>(&mend_surrogates(&json)).is_ok());
        }
    }
}
