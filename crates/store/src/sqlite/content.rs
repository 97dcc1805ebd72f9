//! The column `content`: what is written, and every shape that is read.
//!
//! Text stands as it is. A list of parts stands behind the prefix `\0json:`.
//! Pictures are never written as bytes: a stored one is the text part of
//! [`images::marker`]. Rows of Hermes hold base64 in three dialects, envelopes of
//! tools, and parts this program does not know; all of them load.

use std::path::Path;

use serde_json::{Value, json};
use talaria_types::{Content, ImagePart, ImageSource, Part};

use crate::{Result, images};

/// What stands before structured content.
const PREFIX: &str = "\0json:";

/// The text of the column, and the digests of the pictures it names.
///
/// Bytes that stand inline (a row of Hermes that is copied) move to `folder`.
pub(crate) fn encode(content: &Content, folder: &Path) -> Result<(String, Vec<String>)> {
    let parts = match content {
        // A text that looks like structured content is written as such.
        Content::Text(text) if text.starts_with('\0') => {
            return Ok((format!("{PREFIX}{}", Value::String(text.clone())), Vec::new()));
        }
        Content::Text(text) => return Ok((text.clone(), Vec::new())),
        Content::Parts(parts) => parts,
    };
    let mut digests = Vec::new();
    let mut list = Vec::with_capacity(parts.len());
    for part in parts {
        list.push(match part {
            Part::Text { text } => json!({ "type": "text", "text": text }),
            Part::Image(image) => encode_image(image, folder, &mut digests)?,
        });
    }
    Ok((format!("{PREFIX}{}", Value::Array(list)), digests))
}

fn encode_image(image: &ImagePart, folder: &Path, digests: &mut Vec<String>) -> Result<Value> {
    let stored = match &image.source {
        ImageSource::Url(url) => return Ok(json!({ "type": "image_url", "image_url": { "url": url } })),
        ImageSource::Stored(_) => image.clone(),
        ImageSource::Inline(text) => match images::decode_inline(text) {
            Some(bytes) => images::store_image(folder, &bytes, &image.media_type)?,
            None => return Ok(json!({ "type": "text", "text": "[image: unreadable]" })),
        },
    };
    let ImageSource::Stored(digest) = stored.source else {
        return Ok(json!({ "type": "text", "text": "[image: unreadable]" }));
    };
    let text = images::marker(&digest, &stored.media_type);
    digests.push(digest);
    Ok(json!({ "type": "text", "text": text }))
}

/// Reads the column.
pub(crate) fn decode(column: String) -> Content {
    let Some(text) = column.strip_prefix(PREFIX) else {
        return Content::Text(column);
    };
    match serde_json::from_str::<Value>(text) {
        Ok(value) => decode_value(value),
        Err(_) => Content::Text(text.to_owned()),
    }
}

fn decode_value(value: Value) -> Content {
    match value {
        Value::Array(list) => Content::Parts(list.into_iter().map(decode_part).collect()),
        Value::String(text) => Content::Text(text),
        Value::Null => Content::Text(String::new()),
        Value::Object(mut object) => {
            // Hermes' tools wrap pictures into an envelope with the parts and a summary in words.
            match (object.contains_key("_multimodal"), object.remove("content")) {
                (true, Some(content @ Value::Array(_))) => decode_value(content),
                (_, content) => {
                    if let Some(content) = content {
                        object.insert("content".to_owned(), content);
                    }
                    Content::Text(Value::Object(object).to_string())
                }
            }
        }
        other @ (Value::Bool(_) | Value::Number(_)) => Content::Text(other.to_string()),
    }
}

fn decode_part(part: Value) -> Part {
    let object = match part {
        Value::String(text) => return decode_text(text),
        Value::Object(object) => object,
        other => {
            return Part::Text {
                text: other.to_string(),
            };
        }
    };
    let kind = object.get("type").and_then(Value::as_str).unwrap_or_default();
    if let Some(image) = decode_image(kind, &object) {
        return Part::Image(image);
    }
    match object.get("text").and_then(Value::as_str) {
        Some(text) => decode_text(text.to_owned()),
        None if kind.is_empty() => Part::Text {
            text: Value::Object(object).to_string(),
        },
        None => Part::Text {
            text: format!("[{kind}]"),
        },
    }
}

fn decode_text(text: String) -> Part {
    match images::parse_marker(&text) {
        Some(image) => Part::Image(image),
        None => Part::Text { text },
    }
}

/// A picture in the words of chat completions, of the Responses protocol or of Anthropic.
fn decode_image(kind: &str, object: &serde_json::Map<String, Value>) -> Option<ImagePart> {
    match kind {
        "image_url" | "input_image" => {
            let address = object.get("image_url")?;
            let address = address
                .as_str()
                .or_else(|| address.get("url").and_then(Value::as_str))?;
            Some(from_address(address))
        }
        "image" => {
            let source = object.get("source")?;
            let text = |name: &str| source.get(name).and_then(Value::as_str);
            match text("data") {
                Some(data) => Some(ImagePart {
                    source: ImageSource::Inline(data.to_owned()),
                    media_type: text("media_type").unwrap_or("image/png").to_owned(),
                }),
                None => text("url").map(from_address),
            }
        }
        _ => None,
    }
}

/// A `data:` address holds the bytes; any other is on the network.
fn from_address(address: &str) -> ImagePart {
    let inline = address
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(','));
    match inline {
        Some((head, data)) => {
            let media_type = head
                .split(';')
                .next()
                .filter(|kind| !kind.is_empty())
                .unwrap_or("image/png");
            ImagePart {
                source: ImageSource::Inline(data.to_owned()),
                media_type: media_type.to_owned(),
            }
        }
        None => ImagePart {
            source: ImageSource::Url(address.to_owned()),
            media_type: guess_media_type(address).to_owned(),
        },
    }
}

fn guess_media_type(address: &str) -> &'static str {
    let path = address
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    match path.rsplit('.').next() {
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        _ => "image/png",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_another_program_is_read_and_never_written_again() {
        let column = "\0json:[{\"type\":\"text\",\"text\":\"look\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}]";
        let content = decode(column.to_owned());
        let image = content.images().next().unwrap();
        assert_eq!(image.source, ImageSource::Inline("QUJD".into()));
        let home = tempfile::tempdir().unwrap();
        let (written, digests) = encode(&content, home.path()).unwrap();
        assert!(!written.contains("QUJD"), "{written}");
        let back = decode(written);
        assert_eq!(
            back.images().next().unwrap().source,
            ImageSource::Stored(digests[0].clone())
        );
        assert_eq!(back.text(), "look");
        assert_eq!(
            std::fs::read(home.path().join(format!("{}.png", digests[0]))).unwrap(),
            b"ABC"
        );
    }

    #[test]
    fn every_shape_of_structured_content_loads() {
        for (column, want) in [
            ("plain", "plain"),
            ("\0json:\"quoted\"", "quoted"),
            ("\0json:null", ""),
            (
                "\0json:[\"one\",{\"type\":\"input_text\",\"text\":\"two\"}]",
                "one\ntwo",
            ),
            (
                "\0json:{\"_multimodal\":true,\"content\":[{\"type\":\"text\",\"text\":\"in\"}],\"text_summary\":\"s\"}",
                "in",
            ),
            ("\0json:{\"ok\":1}", "{\"ok\":1}"),
            (
                "\0json:[{\"type\":\"input_audio\",\"input_audio\":{}}]",
                "[input_audio]",
            ),
            ("\0json:{broken", "{broken"),
        ] {
            assert_eq!(decode(column.to_owned()).text(), want, "{column:?}");
        }
    }

    #[test]
    fn a_picture_of_each_protocol_is_a_picture() {
        for part in [
            r#"{"type":"image_url","image_url":"data:image/jpeg;base64,QUJD"}"#,
            r#"{"type":"input_image","image_url":"data:image/jpeg;base64,QUJD"}"#,
            r#"{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"QUJD"}}"#,
        ] {
            let content = decode(format!("\0json:[{part}]"));
            let image = content.images().next().unwrap();
            assert_eq!(image.media_type, "image/jpeg", "{part}");
            assert_eq!(image.source, ImageSource::Inline("QUJD".into()), "{part}");
        }
    }
}
