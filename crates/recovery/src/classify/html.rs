//! Says in one line what an error page says in sixty kilobytes.

use super::envelope::shorten;

/// Whether a body is a page for a browser.
pub(super) fn is_page(text: &str) -> bool {
    let start: String = text
        .trim_start()
        .chars()
        .take(256)
        .collect::<String>()
        .to_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html") || start.starts_with("<head")
}

/// Title and first heading of a page.
pub(super) fn summary(page: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for tag in ["title", "h1", "h2"] {
        if let Some(text) = element(page, tag)
            && !text.is_empty()
            && !parts.iter().any(|known| known.contains(&text))
        {
            parts.push(text);
        }
        if parts.len() == 2 {
            break;
        }
    }
    if parts.is_empty() {
        "an HTML page without a title".to_owned()
    } else {
        shorten(&parts.join(": "), 200)
    }
}

/// The text of the first `<tag>`, markup taken out, spaces folded.
fn element(page: &str, tag: &str) -> Option<String> {
    // ASCII only, so that positions in the lower-cased copy are positions in the page.
    let lower = page.to_ascii_lowercase();
    let open = lower.find(&format!("<{tag}"))?;
    let from = open + lower.get(open..)?.find('>')? + 1;
    let to = from + lower.get(from..)?.find(&format!("</{tag}"))?;
    let mut text = String::new();
    let mut inside = false;
    for c in page.get(from..to)?.chars() {
        match c {
            '<' => inside = true,
            '>' => inside = false,
            c if !inside => text.push(c),
            _ => {}
        }
    }
    let text = text
        .replace("&amp;", "&")
        .replace("&#39;", "'")
        .replace("&quot;", "\"")
        .replace("&nbsp;", " ");
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_its_title_and_heading() {
        let page = format!(
            "<!DOCTYPE html><html><head><title>x.y | 502:  Bad\n gateway</title></head><h1 class=a>Bad <b>gateway</b>\
             </h1>{}</html>",
            "<p>x</p>".repeat(9_000)
        );
        assert!(is_page(&page));
        assert_eq!(summary(&page), "x.y | 502: Bad gateway");
        assert_eq!(
            summary("<html><body>ÄÖ</body></html>"),
            "an HTML page without a title"
        );
    }
}
