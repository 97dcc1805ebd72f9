//! Searches in files.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::walk::{self, Names};
use super::{Found, Search, Window};
use crate::ToolError;

/// A shown line is cut here.
const LINE_CHARS: usize = 500;

/// Matches that are counted at most.
const MATCHES_MOST: usize = 20_000;

/// Characters of shown lines at most; the rest is on the next page.
const TEXT_CHARS: usize = 40_000;

pub(super) fn search(search: &Search, root: &Path) -> Result<Found, ToolError> {
    let pattern = &search.args.pattern;
    let several_lines = pattern.contains("\\n") || pattern.contains('\n');
    let matcher = matcher(pattern, several_lines)?;
    let only = search
        .args
        .file_glob
        .as_deref()
        .map(|glob| Names::new(glob, root))
        .transpose()?;
    let context = search.context();
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .multi_line(several_lines)
        .binary_detection(BinaryDetection::quit(0))
        .before_context(context)
        .after_context(context)
        .build();
    let mut hits = Hits::new(search);
    let mut complete = true;
    for path in walk::files(root) {
        if !search.goes_on()? || hits.total >= MATCHES_MOST {
            complete = false;
            break;
        }
        if only.as_ref().is_some_and(|only| !only.fit(&path)) {
            continue;
        }
        hits.file(&mut searcher, &matcher, &path);
    }
    Ok(hits.found(search, complete))
}

fn matcher(pattern: &str, several_lines: bool) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true);
    if !several_lines {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        ToolError::BadArguments(format!(
            "{pattern:?} is no valid regular expression: {}. Escape special characters with a backslash to search \
             for the text itself",
            error.to_string().trim()
        ))
    })
}

/// A file that ends when the search is stopped or out of time, however large it is.
struct Stoppable<'s> {
    file: std::fs::File,
    search: &'s Search,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.search.goes_on() {
            Ok(true) => self.file.read(buffer),
            Ok(false) | Err(_) => Err(std::io::Error::other("the search was stopped")),
        }
    }
}

/// How results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Content,
    Files,
    Count,
}

/// What has been found so far.
struct Hits<'s> {
    search: &'s Search,
    mode: Mode,
    window: Window,
    total: usize,
    /// Matches that are shown.
    shown: usize,
    text: String,
    full: bool,
    files: Vec<String>,
    counts: BTreeMap<String, usize>,
    matched_files: usize,
}

impl<'s> Hits<'s> {
    fn new(search: &'s Search) -> Self {
        let mode = match search.args.output_mode.as_deref() {
            Some("files_only" | "files_with_matches" | "files") => Mode::Files,
            Some("count" | "counts") => Mode::Count,
            _ => Mode::Content,
        };
        Self {
            search,
            mode,
            window: search.window(),
            total: 0,
            shown: 0,
            text: String::new(),
            full: false,
            files: Vec::new(),
            counts: BTreeMap::new(),
            matched_files: 0,
        }
    }

    /// Searches one file; one that cannot be read is passed over.
    fn file(&mut self, searcher: &mut Searcher, matcher: &RegexMatcher, path: &Path) {
        let before = self.total;
        let mut sink = Lines {
            hits: self,
            path,
            lines: Vec::new(),
        };
        let search = sink.hits.search;
        let searched = std::fs::File::open(path)
            .and_then(|file| searcher.search_reader(matcher, Stoppable { file, search }, &mut sink));
        if let Err(error) = searched {
            tracing::debug!(path = %path.display(), %error, "a file could not be searched");
        }
        let lines = std::mem::take(&mut sink.lines);
        let matches = self.total - before;
        if matches == 0 {
            return;
        }
        let in_window =
            (self.window.offset..self.window.offset + self.window.limit).contains(&self.matched_files);
        self.matched_files += 1;
        match self.mode {
            Mode::Content => self.write(path, &lines),
            Mode::Files if in_window => self.files.push(self.search.session.shown(path)),
            Mode::Count if in_window => {
                self.counts.insert(self.search.session.shown(path), matches);
            }
            Mode::Files | Mode::Count => {}
        }
    }

    fn write(&mut self, path: &Path, lines: &[Shown]) {
        if lines.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&self.search.session.shown(path));
        for line in lines {
            let mark = if line.matched { ':' } else { '-' };
            let text = self.search.session.mask().file(path, &line.text);
            let _ = write!(self.text, "\n  {}{mark} {}", line.number, cut(&text));
        }
        self.full = self.text.len() > TEXT_CHARS;
    }

    fn found(self, search: &Search, complete: bool) -> Found {
        let Window { offset, limit } = self.window;
        let mut found = Found {
            total_count: self.total,
            ..Found::default()
        };
        let next = match self.mode {
            Mode::Content => {
                found.truncated = offset + self.shown < self.total;
                found.matches_text = Some(self.text);
                offset + self.shown
            }
            Mode::Files | Mode::Count => {
                found.truncated = offset + limit < self.matched_files;
                offset + limit
            }
        };
        match self.mode {
            Mode::Content => {}
            Mode::Files => found.files = Some(self.files),
            Mode::Count => found.counts = Some(self.counts),
        }
        found.truncated |= !complete;
        found.hint = search.hint(&found, next, complete);
        found
    }

    /// Counts a match; whether it is to be shown.
    fn count(&mut self) -> bool {
        let index = self.total;
        self.total += 1;
        let wanted = self.mode == Mode::Content
            && !self.full
            && index >= self.window.offset
            && self.shown < self.window.limit
            && index == self.window.offset + self.shown;
        if wanted {
            self.shown += 1;
        }
        wanted
    }
}

/// A line of a file that is shown.
struct Shown {
    number: u64,
    text: String,
    matched: bool,
}

/// Collects the lines of one file.
struct Lines<'h, 's, 'p> {
    hits: &'h mut Hits<'s>,
    path: &'p Path,
    lines: Vec<Shown>,
}

impl Lines<'_, '_, '_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], matched: bool) {
        let text = String::from_utf8_lossy(bytes);
        for (number, line) in (number.unwrap_or(0)..).zip(text.lines()) {
            let text = line.trim_end().to_owned();
            self.lines.push(Shown {
                number,
                text,
                matched,
            });
        }
    }
}

impl Sink for Lines<'_, '_, '_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        if self.hits.count() {
            self.push(found.line_number(), found.bytes(), true);
        }
        // A stopped search must not go on in a huge file.
        Ok(self.hits.total < MATCHES_MOST && !self.hits.search.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> Result<bool, Self::Error> {
        let hits = &self.hits;
        let wanted = hits.mode == Mode::Content
            && !hits.full
            && hits.total + 1 > hits.window.offset
            && hits.shown < hits.window.limit;
        let after_last = hits.shown == hits.window.limit && hits.total == hits.window.offset + hits.shown;
        if wanted || after_last {
            self.push(line.line_number(), line.bytes(), false);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, Self::Error> {
        tracing::trace!(path = %self.path.display(), "binary");
        Ok(false)
    }
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}… [line cut]", &line[..at]),
        None => line.to_owned(),
    }
}
