//! Markdown for a terminal, line by line as it streams in.
//!
//! A line is shown as soon as it is whole: waiting for the end of a paragraph, a
//! list or a long code block would look like silence. What needs more than a line
//! to be known (tables, underlined headings) is shown as it was written.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::output::Style;

/// A stream of Markdown on its way to a terminal.
pub(crate) struct Markdown {
    style: Style,
    pending: String,
    in_code: bool,
    shown: bool,
}

impl Markdown {
    /// An empty stream.
    pub(crate) fn new(style: Style) -> Self {
        Self {
            style,
            pending: String::new(),
            in_code: false,
            shown: false,
        }
    }

    /// Takes more text and gives what can be shown now.
    pub(crate) fn push(&mut self, text: &str) -> String {
        if !self.style.colour {
            self.shown |= !text.is_empty();
            return text.to_owned();
        }
        self.pending.push_str(text);
        let mut out = String::new();
        while let Some(end) = self.pending.find('\n') {
            let rest = self.pending.split_off(end + 1);
            let line = std::mem::replace(&mut self.pending, rest);
            out.push_str(&self.line(&line));
        }
        out
    }

    /// The line that is not whole yet.
    pub(crate) fn pending(&self) -> &str {
        &self.pending
    }

    /// The rest, and the start of a new stream.
    pub(crate) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.pending);
        let mut out = if rest.is_empty() {
            String::new()
        } else {
            self.line(&format!("{rest}\n"))
        };
        if !self.style.colour && self.shown {
            out.push('\n');
        }
        (self.in_code, self.shown) = (false, false);
        out
    }

    fn line(&mut self, line: &str) -> String {
        self.shown = true;
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            self.in_code = !self.in_code;
            let language = bare.trim_start_matches(['`', '~']).trim();
            let rule = if self.in_code && !language.is_empty() {
                format!("── {language} ──")
            } else {
                "──".to_owned()
            };
            return format!("{}\n", self.style.dim(&rule));
        }
        if self.in_code {
            return format!("{}\n", self.style.paint("36", line.trim_end_matches('\n')));
        }
        if bare.is_empty() {
            return "\n".to_owned();
        }
        let indent: String = line.chars().take_while(|letter| *letter == ' ').collect();
        format!(
            "{indent}{}\n",
            inline(line.trim_start().trim_end_matches('\n'), self.style)
        )
    }
}

/// One line with its emphasis, code and links.
fn inline(line: &str, style: Style) -> String {
    let mut shape = Shape {
        out: String::new(),
        codes: Vec::new(),
        style,
        link: None,
    };
    // A table's row is no Markdown by itself; it is clearest as it was written.
    if line.starts_with('|') {
        return line.to_owned();
    }
    for event in Parser::new_ext(line, Options::ENABLE_STRIKETHROUGH) {
        shape.event(event);
    }
    shape.out.trim_end_matches('\n').to_owned()
}

struct Shape {
    out: String,
    codes: Vec<&'static str>,
    style: Style,
    link: Option<String>,
}

impl Shape {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(code) => {
                let painted = self.style.paint("36", &code);
                self.out.push_str(&painted);
            }
            Event::SoftBreak | Event::HardBreak => self.out.push('\n'),
            Event::Rule => self.out.push_str(&self.style.dim("────────")),
            Event::TaskListMarker(done) => self.out.push_str(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        let codes = self.codes.join(";");
        let painted = if codes.is_empty() {
            text.to_owned()
        } else {
            self.style.paint(&codes, text)
        };
        self.out.push_str(&painted);
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.codes
                    .push(if level == HeadingLevel::H1 { "1;4" } else { "1" });
            }
            Tag::Strong => self.codes.push("1"),
            Tag::Emphasis => self.codes.push("3"),
            Tag::Strikethrough => self.codes.push("9"),
            Tag::BlockQuote(_) => {
                self.out.push_str("│ ");
                self.codes.push("2");
            }
            Tag::List(first) => self
                .out
                .push_str(&first.map_or("• ".to_owned(), |number| format!("{number}. "))),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.codes.push("4");
            }
            Tag::CodeBlock(CodeBlockKind::Indented | CodeBlockKind::Fenced(_)) => self.codes.push("36"),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_)
            | TagEnd::Strong
            | TagEnd::Emphasis
            | TagEnd::Strikethrough
            | TagEnd::BlockQuote(_)
            | TagEnd::CodeBlock => {
                self.codes.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.codes.pop();
                if let Some(link) = self.link.take().filter(|link| !self.out.contains(link.as_str())) {
                    let link = self.style.dim(&format!(" ({link})"));
                    self.out.push_str(&link);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOUR: Style = Style {
        terminal: true,
        colour: true,
    };

    fn all(text: &str) -> String {
        let mut stream = Markdown::new(COLOUR);
        stream.push(text) + &stream.finish()
    }

    #[test]
    fn without_colours_the_text_stays_byte_for_byte() {
        let mut stream = Markdown::new(Style::default());
        let text = "# T\n\n**b** `c`";
        let shown: String = text
            .chars()
            .map(|letter| stream.push(&letter.to_string()))
            .collect();
        assert_eq!(shown + &stream.finish(), format!("{text}\n"));
    }

    #[test]
    fn emphasis_code_lists_and_links_are_shown() {
        insta::assert_snapshot!(all("# Title\nSome **bold** and `code`.\n- one\n2. two\n[a](http://x)\n").replace('\x1b', "^"), @r"
        ^[1;4mTitle^[0m
        Some ^[1mbold^[0m and ^[36mcode^[0m.
        • one
        2. two
        ^[4ma^[0m^[2m (http://x)^[0m
        ");
    }

    #[test]
    fn code_keeps_its_indentation_and_its_stars() {
        insta::assert_snapshot!(all("```rust\n    let x = *y;\n```\nafter\n").replace('\x1b', "^"), @r"
        ^[2m── rust ──^[0m
        ^[36m    let x = *y;^[0m
        ^[2m──^[0m
        after
        ");
    }

    #[test]
    fn every_way_of_cutting_the_stream_shows_the_same() {
        let text = "# T\n\n- *a*\n  - b\n\n```\nx\n```\n| a | b |\nend";
        let whole = all(text);
        for size in 1..7 {
            let mut stream = Markdown::new(COLOUR);
            let letters: Vec<char> = text.chars().collect();
            let mut shown = String::new();
            for piece in letters.chunks(size) {
                shown.push_str(&stream.push(&piece.iter().collect::<String>()));
            }
            shown.push_str(&stream.finish());
            assert_eq!(shown, whole, "pieces of {size}");
        }
    }
}
