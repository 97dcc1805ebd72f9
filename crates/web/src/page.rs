//! What was fetched, as text.

use std::path::Path;

use crate::{Fetched, WebError, charset, html, pdf};

/// A page as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its title; empty when it has none.
    pub title: String,
    /// Its text; Markdown when it was HTML.
    pub text: String,
}

/// What a document is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Html,
    Pdf,
    Text,
}

/// Reads what was fetched. A PDF is read by `program` (see [`pdf`]).
///
/// # Errors
/// When it is nothing that can be read as text.
pub async fn read(fetched: Fetched, program: Option<&Path>) -> Result<Page, WebError> {
    match form(&fetched) {
        Some(Form::Pdf) => {
            let text = pdf::read(program, fetched.body).await?;
            Ok(Page {
                title: String::new(),
                text,
            })
        }
        Some(Form::Html) => {
            let read = move || {
                let text = charset::decode(&fetched.body, fetched.charset.as_deref());
                html::read(&text, &fetched.url)
            };
            tokio::task::spawn_blocking(read)
                .await
                .map_err(|_| WebError::Kind("the page".to_owned()))
        }
        Some(Form::Text) => Ok(Page {
            title: String::new(),
            text: charset::decode(&fetched.body, fetched.charset.as_deref()),
        }),
        None if fetched.media_type.is_empty() => Err(WebError::Kind("a file of no named type".to_owned())),
        None => Err(WebError::Kind(fetched.media_type)),
    }
}

/// What the server says it is, and what it looks like where the server says nothing of use.
fn form(fetched: &Fetched) -> Option<Form> {
    let body = &fetched.body;
    let start = body.get(..512.min(body.len())).unwrap_or_default();
    let start = String::from_utf8_lossy(start).trim_start().to_ascii_lowercase();
    if start.starts_with("%pdf-") {
        return Some(Form::Pdf);
    }
    let looks_like_html = start.starts_with("<!doctype html") || start.starts_with("<html");
    match fetched.media_type.as_str() {
        "text/html" | "application/xhtml+xml" => Some(Form::Html),
        "application/pdf" => None,
        "" | "application/octet-stream" | "binary/octet-stream" | "text/plain" if looks_like_html => {
            Some(Form::Html)
        }
        "" | "application/octet-stream" | "binary/octet-stream" => {
            (std::str::from_utf8(body).is_ok() && !body.contains(&0)).then_some(Form::Text)
        }
        kind if kind.starts_with("text/") => Some(Form::Text),
        kind if kind.ends_with("+json") || kind.ends_with("+xml") || kind.ends_with("+yaml") => {
            Some(Form::Text)
        }
        "application/json"
        | "application/xml"
        | "application/javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-ndjson"
        | "application/x-sh"
        | "application/sql"
        | "application/rtf"
        | "application/x-tex" => Some(Form::Text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetched(media_type: &str, body: &[u8]) -> Fetched {
        Fetched {
            url: "https://example.net/".parse().unwrap(),
            media_type: media_type.to_owned(),
            charset: None,
            body: body.to_vec(),
        }
    }

    #[test]
    fn a_document_is_read_as_what_it_is_and_not_as_what_it_is_called() {
        let cases: [(&str, &[u8], Option<Form>); 9] = [
            ("text/html", b"<p>x", Some(Form::Html)),
            ("text/plain", b"%PDF-1.7", Some(Form::Pdf)),
            ("application/pdf", b"<html>login", None),
            ("", b"<!DOCTYPE HTML><p>", Some(Form::Html)),
            ("application/octet-stream", b"plain", Some(Form::Text)),
            ("application/octet-stream", b"\x00\x01", None),
            ("application/vnd.api+json", b"{}", Some(Form::Text)),
            ("image/png", b"\x89PNG", None),
            ("application/zip", b"PK", None),
        ];
        for (media_type, body, expected) in cases {
            assert_eq!(form(&fetched(media_type, body)), expected, "{media_type}");
        }
    }

    #[tokio::test]
    async fn json_stays_as_it_is_and_an_archive_is_refused() {
        let page = read(fetched("application/json", b"{\"a\": 1}\n"), None)
            .await
            .unwrap();
        assert_eq!(page.text, "{\"a\": 1}\n");
        let error = read(fetched("application/zip", b"PK"), None).await.unwrap_err();
        assert_eq!(error.to_string(), "application/zip cannot be read as text");
    }
}
