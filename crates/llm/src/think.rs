//! Takes the thinking of open models out of their text while it streams.
//!
//! Many models write their thoughts between tags such as `<think>` into the
//! answer itself. [`Scrubber`] parts the two as the text arrives, also when a
//! tag is cut by the border of two chunks, and leaves tags inside of code alone:
//! an answer *about* such tags must come through unharmed.
//!
//! A tag that opens a line hides what follows at once. A tag in the middle of a
//! line may be meant literally, so the text behind it is held back until its
//! closing tag proves it a thought; without one it is shown, tag removed.

use talaria_types::Delta;

/// The names of the tags that open models think in.
const NAMES: &[&str] = &[
    "think",
    "thinking",
    "reasoning",
    "reasoning_scratchpad",
    "thought",
];

/// Parts shown text from thoughts, chunk by chunk.
#[derive(Debug)]
pub struct Scrubber {
    state: State,
    code: Code,
    /// A run of code marks that has not ended yet.
    run: Run,
    /// Nothing but white space is shown on this line so far.
    line_blank: bool,
    /// Something was shown.
    shown: bool,
    /// Which white space is dropped before the next shown text.
    skip: Skip,
    /// The beginning of what may become a tag.
    hold: String,
    /// Text behind a tag in mid-line, not yet known to be a thought.
    doubtful: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Text,
    Thought { name: &'static str, doubtful: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    None,
    Fence { mark: u8, length: usize },
    Inline { length: usize },
}

#[derive(Clone, Copy, Debug, Default)]
struct Run {
    mark: u8,
    length: usize,
    opens_line: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Skip {
    Nothing,
    LineBreaks,
    White,
}

enum Tag {
    Open(&'static str, usize),
    Close(&'static str, usize),
    /// More text is needed to tell.
    Maybe,
    No,
}

impl Default for Scrubber {
    fn default() -> Self {
        Self {
            state: State::Text,
            code: Code::None,
            run: Run::default(),
            line_blank: true,
            shown: false,
            // Models with a channel of their own for thoughts begin the answer with empty lines.
            skip: Skip::LineBreaks,
            hold: String::new(),
            doubtful: String::new(),
        }
    }
}

impl Scrubber {
    /// Takes the next text and appends what it is to `out`.
    pub fn push(&mut self, chunk: &str, out: &mut Vec<Delta>) {
        if self.hold.is_empty() {
            self.scan(chunk, out);
        } else {
            let mut joined = std::mem::take(&mut self.hold);
            joined.push_str(chunk);
            self.scan(&joined, out);
        }
    }

    /// Ends the text: what was held back is shown.
    pub fn finish(&mut self, out: &mut Vec<Delta>) {
        let held = std::mem::take(&mut self.hold);
        match self.state {
            State::Text => self.show(&held, out),
            State::Thought { doubtful: true, .. } => {
                let text = std::mem::take(&mut self.doubtful) + &held;
                self.state = State::Text;
                self.show(&text, out);
            }
            State::Thought { doubtful: false, .. } => self.think(&held, out),
        }
    }

    /// The text held back so far, for an answer that broke off.
    pub fn pending(&self) -> String {
        format!("{}{}", self.doubtful, self.hold)
    }

    fn scan(&mut self, text: &str, out: &mut Vec<Delta>) {
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            at += match self.state {
                State::Text => self.scan_text(rest, out),
                State::Thought { name, .. } => self.scan_thought(rest, name, out),
            };
        }
    }

    /// Takes the start of `rest` as text and says how many bytes it took.
    fn scan_text(&mut self, rest: &str, out: &mut Vec<Delta>) -> usize {
        let bytes = rest.as_bytes();
        let first = bytes[0];
        if self.run.length > 0 && first != self.run.mark {
            self.end_run();
        }
        match first {
            b'`' | b'~' => {
                self.extend_run(first);
                self.show(&rest[..1], out);
                1
            }
            b'\n' => {
                if matches!(self.code, Code::Inline { .. }) {
                    self.code = Code::None;
                }
                self.show("\n", out);
                self.line_blank = true;
                1
            }
            b'<' if self.code == Code::None => self.scan_tag(rest, out),
            _ => {
                let is_mark = |byte: &u8| matches!(byte, b'`' | b'~' | b'\n' | b'<');
                let length = bytes[1..]
                    .iter()
                    .position(is_mark)
                    .map_or(bytes.len(), |found| found + 1);
                self.show(&rest[..length], out);
                length
            }
        }
    }

    fn scan_tag(&mut self, rest: &str, out: &mut Vec<Delta>) -> usize {
        match tag(rest) {
            Tag::Open(name, length) => {
                self.state = State::Thought {
                    name,
                    doubtful: !self.line_blank,
                };
                length
            }
            // A closing tag alone: the opening one stood in the prompt.
            Tag::Close(_, length) => {
                self.after_thought();
                length
            }
            Tag::Maybe => {
                self.hold.push_str(rest);
                rest.len()
            }
            Tag::No => {
                self.show("<", out);
                1
            }
        }
    }

    fn scan_thought(&mut self, rest: &str, name: &'static str, out: &mut Vec<Delta>) -> usize {
        match memchr::memchr(b'<', rest.as_bytes()) {
            None => {
                self.think(rest, out);
                rest.len()
            }
            Some(0) => match tag(rest) {
                Tag::Close(closed, length) if closed == name => {
                    let proven = std::mem::take(&mut self.doubtful);
                    self.state = State::Text;
                    push_reasoning(&proven, out);
                    self.after_thought();
                    length
                }
                Tag::Maybe => {
                    self.hold.push_str(rest);
                    rest.len()
                }
                Tag::Open(..) | Tag::Close(..) | Tag::No => {
                    self.think("<", out);
                    1
                }
            },
            Some(found) => {
                self.think(&rest[..found], out);
                found
            }
        }
    }

    fn after_thought(&mut self) {
        self.skip = match (self.shown, self.line_blank) {
            (false, _) => Skip::White,
            (true, true) => Skip::LineBreaks,
            (true, false) => Skip::Nothing,
        };
    }

    fn think(&mut self, text: &str, out: &mut Vec<Delta>) {
        if matches!(self.state, State::Thought { doubtful: true, .. }) {
            self.doubtful.push_str(text);
        } else {
            push_reasoning(text, out);
        }
    }

    fn show(&mut self, text: &str, out: &mut Vec<Delta>) {
        let text = match self.skip {
            Skip::Nothing => text,
            Skip::LineBreaks => text.trim_start_matches(['\n', '\r']),
            Skip::White => text.trim_start(),
        };
        if text.is_empty() {
            return;
        }
        self.skip = Skip::Nothing;
        self.shown = true;
        if self.line_blank && !text.trim().is_empty() {
            self.line_blank = false;
        }
        if let Some(Delta::Text(last)) = out.last_mut() {
            last.push_str(text);
        } else {
            out.push(Delta::Text(text.to_owned()));
        }
    }

    fn extend_run(&mut self, mark: u8) {
        if self.run.length == 0 {
            self.run = Run {
                mark,
                length: 0,
                opens_line: self.line_blank,
            };
        }
        self.run.length += 1;
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.code = match self.code {
            Code::Fence { mark, length } if run.mark == mark && run.opens_line && run.length >= length => {
                Code::None
            }
            Code::Inline { length } if run.mark == b'`' && run.length == length => Code::None,
            Code::None if run.opens_line && run.length >= 3 => Code::Fence {
                mark: run.mark,
                length: run.length,
            },
            Code::None if run.mark == b'`' => Code::Inline { length: run.length },
            unchanged => unchanged,
        };
    }
}

fn push_reasoning(text: &str, out: &mut Vec<Delta>) {
    if text.is_empty() {
        return;
    }
    if let Some(Delta::Reasoning(last)) = out.last_mut() {
        last.push_str(text);
    } else {
        out.push(Delta::Reasoning(text.to_owned()));
    }
}

/// Reads the tag at the start of `text`, which starts with `<`.
fn tag(text: &str) -> Tag {
    let inner = &text.as_bytes()[1..];
    let (closing, inner) = match inner.split_first() {
        Some((b'/', after)) => (true, after),
        Some(_) | None => (false, inner),
    };
    let length = inner
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'_')
        .count();
    let word = &inner[..length];
    match inner.get(length) {
        None => {
            let could_grow = NAMES
                .iter()
                .any(|name| name.len() >= length && name.as_bytes()[..length].eq_ignore_ascii_case(word));
            if could_grow { Tag::Maybe } else { Tag::No }
        }
        Some(b'>') => match NAMES
            .iter()
            .find(|name| name.as_bytes().eq_ignore_ascii_case(word))
        {
            Some(&name) => {
                let bytes = 1 + usize::from(closing) + length + 1;
                if closing {
                    Tag::Close(name, bytes)
                } else {
                    Tag::Open(name, bytes)
                }
            }
            None => Tag::No,
        },
        Some(_) => Tag::No,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scrub(chunks: &[&str]) -> (String, String) {
        let mut scrubber = Scrubber::default();
        let mut out = Vec::new();
        for chunk in chunks {
            scrubber.push(chunk, &mut out);
        }
        scrubber.finish(&mut out);
        let mut parts = (String::new(), String::new());
        for delta in out {
            match delta {
                Delta::Text(text) => parts.0.push_str(&text),
                Delta::Reasoning(text) => parts.1.push_str(&text),
                Delta::ToolCallStarted { .. } => {}
            }
        }
        parts
    }

    #[test]
    fn thoughts_are_parted_from_the_answer() {
        for (text, shown, thought) in [
            ("<think>plan</think>One.", "One.", "plan"),
            ("<THINKING>\nplan\n</THINKING>\n\nTwo.", "Two.", "\nplan\n"),
            (
                "<reasoning>plan</reasoning>Three <b>bold</b>.",
                "Three <b>bold</b>.",
                "plan",
            ),
            ("\n<thought>a</thought><think>b</think> Four.", "Four.", "ab"),
            ("Hello.\n<think>x</think>\nWorld.", "Hello.\nWorld.", "x"),
            ("Five <think>x</think>go.", "Five go.", "x"),
            ("<think>never closed", "", "never closed"),
            ("</think>\n\nSix.", "Six.", ""),
        ] {
            assert_eq!(scrub(&[text]), (shown.to_owned(), thought.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn tags_inside_of_code_are_text() {
        for text in [
            "Shown `<think>` four.",
            "``a ` <think>`` b",
            "```xml\n<think>x</think>\n```\nend",
            "~~~~\n```\n<think>\n~~~~\n",
            "a < b and <i>c</i> <thinker> <think",
        ] {
            assert_eq!(scrub(&[text]), (text.to_owned(), String::new()), "{text:?}");
        }
    }

    #[test]
    fn thoughts_after_code_are_found_again() {
        let (shown, thought) = scrub(&["```\ncode\n```\n<think>x</think>`a` <think>y</think>b"]);
        assert_eq!(shown, "```\ncode\n```\n`a` b");
        assert_eq!(thought, "xy");
    }

    #[test]
    fn a_tag_in_mid_line_without_an_end_hides_nothing() {
        assert_eq!(scrub(&["Use the <think> tag."]).0, "Use the  tag.");
    }

    proptest! {
        #[test]
        fn any_split_of_the_same_text_is_parted_the_same(
            words in proptest::collection::vec(prop_oneof![
                Just("<think>"), Just("</think>"), Just("<Thought>"), Just("</thought>"), Just("`"), Just("```"),
                Just("~~~"), Just("\n"), Just(" "), Just("a"), Just("漢"), Just("<"), Just("<thi"), Just("/"),
            ], 0..30),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
        ) {
            let text = words.concat();
            let borders: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| borders[cut.index(borders.len())]).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts {
                chunks.push(&text[from..cut]);
                from = cut;
            }
            chunks.push(&text[from..]);
            let singly: Vec<String> = text.chars().map(String::from).collect();
            let singly: Vec<&str> = singly.iter().map(String::as_str).collect();
            prop_assert_eq!(scrub(&chunks), scrub(&[&text]));
            prop_assert_eq!(scrub(&singly), scrub(&[&text]));
        }
    }
}
