use super::*;

fn page(html: &str) -> Page {
    read(html, &"https://example.net/dir/page".parse().unwrap())
}

fn article_of(body: &str) -> String {
    let words =
        "The quick brown fox jumps over the lazy dog, and then it does so again, with joy. ".repeat(8);
    format!(
        "<html><head><title>A fox</title><style>p{{}}</style></head><body><nav><a href=/>Home</a></nav>\
         <article><h1>A fox</h1><p>{words}</p>{body}<p>{words}</p></article>\
         <footer>Imprint</footer></body></html>"
    )
}

#[test]
fn an_article_becomes_markdown_with_whole_links() {
    let read = page(&article_of(
        "<h2>Why</h2><ul><li>because</li></ul><p>See <a href=\"../other?a=1\">the other</a> and <b>rest</b>.</p>\
         <pre><code>let x = 1;</code></pre><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
    ));
    assert_eq!(read.title, "A fox");
    for part in [
        "## Why",
        "because",
        "[the other](https://example.net/other?a=1)",
        "**rest**",
        "let x = 1;",
    ] {
        assert!(read.text.contains(part), "{part} in {}", read.text);
    }
    assert!(!read.text.contains("Imprint"), "{}", read.text);
}

#[test]
fn scripts_styles_and_inlined_pictures_are_gone() {
    let picture = format!("<img alt=x src=\"data:image/png;base64,{}\">", "QUFB".repeat(100));
    let hidden = format!(
        "{picture}<script>alert('x')</script><p>In text: data:image/png;base64,{} end</p>",
        "QUFB".repeat(50)
    );
    for html in [
        article_of(&hidden),
        format!("<html><body><p>short</p>{hidden}</body></html>"),
    ] {
        let text = page(&html).text;
        assert!(
            !text.contains("QUFBQUFB") && !text.contains("alert(") && !text.contains("p{"),
            "{text}"
        );
        assert!(text.contains("[base64 removed]"), "{text}");
    }
}

#[test]
fn a_page_without_an_article_is_read_whole() {
    let read = page("<title>List</title><ul><li><a href='a.html'>A</a><li><a href='/b'>B</a></ul>");
    assert_eq!(read.title, "List");
    assert!(
        read.text.contains("[A](https://example.net/dir/a.html)"),
        "{}",
        read.text
    );
    assert!(read.text.contains("[B](https://example.net/b)"), "{}", read.text);
}

#[test]
fn a_page_that_nests_without_end_costs_no_stack() {
    for element in ["div", "b", "table", "ul"] {
        let html = format!(
            "{}words<script>no()</script> in it",
            format!("<{element}>").repeat(200_000)
        );
        assert_eq!(page(&html).text, "words in it", "{element}");
    }
    let deep = format!("{}words{}", "<div>".repeat(1_400), "</div>".repeat(1_400));
    assert_eq!(page(&deep).text, "words");
}

#[test]
fn broken_markup_is_no_error() {
    for html in [
        "",
        "<",
        "<html",
        "<a href=\"x\">",
        "plain < text",
        "<title>t",
        "&#x110000;<p>x",
    ] {
        let _ = page(html);
    }
}
