//! A page's article as Markdown; the whole page where no article is found.
//!
//! The parser and the writer go down as deep as a page nests, so a page is read on a thread with room, and
//! one that nests without reason is only stripped of its tags.

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use url::Url;

use crate::Page;

/// Elements that are nested deeper are not worth a tree.
const DEEPEST: usize = 1_500;
/// The stack of the reading thread, in bytes: tens of kilobytes a level.
const STACK: usize = 256 * 1024 * 1024;
/// An article shorter than this is looked for in the whole page.
const SHORT: usize = 200;
/// What holds no words of a page.
const NOISE: &str = "script, style, noscript, template, iframe, object, embed, svg, canvas, form, dialog";
/// What stands around the words of a page.
const AROUND: &str = "nav, header, footer, aside";

/// Reads a page.
pub(crate) fn read(html: &str, url: &Url) -> Page {
    if nesting(html) > DEEPEST {
        return Page {
            title: String::new(),
            text: stripped(html),
        };
    }
    let page = std::thread::scope(|scope| {
        let reader = std::thread::Builder::new()
            .name("page".to_owned())
            .stack_size(STACK);
        reader
            .spawn_scoped(scope, || article(html, url))
            .ok()
            .and_then(|thread| thread.join().ok())
    });
    page.unwrap_or_else(|| Page {
        title: String::new(),
        text: stripped(html),
    })
}

fn article(html: &str, url: &Url) -> Page {
    let whole = whole(html, url);
    let config = Config {
        text_mode: TextMode::Markdown,
        ..Config::default()
    };
    let document = Document::from(html);
    without_inlined_images(&document);
    let found = Readability::with_document(document, Some(url.as_str()), Some(config))
        .and_then(|mut reader| reader.parse());
    match found {
        Ok(article) if article.text_content.trim().len() >= SHORT.min(whole.text.len()) => Page {
            title: article.title.trim().to_owned(),
            text: tidied(&article.text_content),
        },
        Ok(_) | Err(_) => whole,
    }
}

/// The page as it is, without what holds no words; what stands around them only goes when words are left.
fn whole(html: &str, url: &Url) -> Page {
    let document = Document::from(html);
    document.select(NOISE).remove();
    without_inlined_images(&document);
    for (element, attribute) in [("a[href]", "href"), ("img[src]", "src")] {
        for node in &document.select(element) {
            let target = node.attr(attribute).unwrap_or_default();
            if let Ok(absolute) = url.join(&target) {
                node.set_attr(attribute, absolute.as_str());
            }
        }
    }
    let title = document.select("title").text().trim().to_owned();
    let everything = tidied(
        &document
            .select("body")
            .nodes()
            .iter()
            .map(|node| node.md(None).to_string())
            .collect::<String>(),
    );
    document.select(AROUND).remove();
    let inner = tidied(
        &document
            .select("body")
            .nodes()
            .iter()
            .map(|node| node.md(None).to_string())
            .collect::<String>(),
    );
    Page {
        title,
        text: if inner.len() >= SHORT.min(everything.len()) {
            inner
        } else {
            everything
        },
    }
}

/// Pictures that are written into the page are bytes, not words.
fn without_inlined_images(document: &Document) {
    document
        .select("img[src^='data:'], source[srcset^='data:']")
        .remove();
}

/// No more than one empty line in a row; what base64 is left goes.
fn tidied(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty < 2 && !(out.is_empty() && line.is_empty()) {
            out.push_str(line);
            out.push('\n');
        }
    }
    without_data_urls(out.trim_end())
}

/// `data:…;base64,…` becomes a note.
fn without_data_urls(text: &str) -> String {
    const MARK: &str = ";base64,";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let start = rest[..at].rfind("data:").filter(|start| at - start < 100);
        let end = at + MARK.len();
        let data = rest[end..].find(|c: char| !(c.is_ascii_alphanumeric() || "+/=-_%".contains(c)));
        let data = data.unwrap_or(rest.len() - end);
        match start {
            Some(start) if data > 32 => {
                out.push_str(&rest[..start]);
                out.push_str("[base64 removed]");
            }
            _ => out.push_str(&rest[..end + data]),
        }
        rest = &rest[end + data..];
    }
    out.push_str(rest);
    out
}

/// An upper bound of how deep elements are nested; end tags that close nothing count as nothing.
fn nesting(html: &str) -> usize {
    const EMPTY: &[&str] = &[
        "br", "img", "hr", "input", "meta", "link", "source", "wbr", "area", "col",
    ];
    let (mut depth, mut deepest) = (0_usize, 0);
    for piece in html.split('<').skip(1) {
        if piece.starts_with('/') {
            depth = depth.saturating_sub(1);
            continue;
        }
        let name: String = piece
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect::<String>()
            .to_ascii_lowercase();
        // A paragraph or an item ends the one before it.
        let ends_itself = matches!(
            name.as_str(),
            "p" | "li" | "td" | "tr" | "th" | "dt" | "dd" | "option"
        );
        if !name.is_empty() && !ends_itself && !EMPTY.contains(&name.as_str()) {
            depth += 1;
            deepest = deepest.max(depth);
        }
    }
    deepest
}

/// The text between tags, without a tree.
fn stripped(html: &str) -> String {
    let mut out = String::new();
    let mut hidden: Option<&str> = None;
    for piece in html.split('<') {
        let (tag, text) = piece.split_once('>').unwrap_or(("", piece));
        let name = tag.to_ascii_lowercase();
        if let Some(open) = hidden {
            if name.starts_with(&format!("/{open}")) {
                hidden = None;
            } else {
                continue;
            }
        }
        hidden = ["script", "style", "noscript", "template"]
            .into_iter()
            .find(|hides| name.starts_with(hides))
            .or(hidden);
        if hidden.is_none() {
            out.push(' ');
            out.push_str(text);
        }
    }
    let words: Vec<&str> = out.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests;
