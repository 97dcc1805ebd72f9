//! What the model is told of a background process without asking.
//!
//! A process may print a watched word a thousand times a second, so notices of
//! words are limited: one every fifteen seconds, and a process that goes on
//! regardless loses its watch and has its end announced instead.

use std::time::{Duration, Instant};

use super::clean::plain;

/// At most one notice of words in this time.
const WINDOW: Duration = Duration::from_secs(15);
/// After so many windows in a row with words that could not be told, the watch ends.
const STRIKES: u32 = 3;
/// Lines that a notice shows, and characters of each.
const LINES: usize = 20;
const LINE: usize = 400;
/// Bytes of an unfinished line that are looked at.
const LONGEST: usize = 8 * 1024;

/// Looks for words in an output.
#[derive(Debug)]
pub(crate) struct Watcher {
    patterns: Vec<String>,
    notify_on_complete: bool,
    rest: Vec<u8>,
    found: Vec<String>,
    window: Option<Instant>,
    held_back: bool,
    strikes: u32,
}

impl Watcher {
    /// Looks for any of `patterns`, each within a line.
    pub(crate) fn new(patterns: Vec<String>, notify_on_complete: bool) -> Self {
        let patterns = patterns
            .into_iter()
            .filter(|pattern| !pattern.is_empty())
            .collect();
        Self {
            patterns,
            notify_on_complete,
            rest: Vec::new(),
            found: Vec::new(),
            window: None,
            held_back: false,
            strikes: 0,
        }
    }

    /// Whether the end of the process is announced.
    pub(crate) fn notify_on_complete(&self) -> bool {
        self.notify_on_complete
    }

    /// Takes the next bytes of the output.
    pub(crate) fn look(&mut self, bytes: &[u8], now: Instant) {
        if self.patterns.is_empty() {
            return;
        }
        for byte in bytes {
            if *byte == b'\n' || self.rest.len() >= LONGEST {
                let line = plain(&std::mem::take(&mut self.rest));
                self.line(&line, now);
            }
            if *byte != b'\n' {
                self.rest.push(*byte);
            }
        }
    }

    fn line(&mut self, line: &str, now: Instant) {
        if !self
            .patterns
            .iter()
            .any(|pattern| line.contains(pattern.as_str()))
        {
            return;
        }
        let over = self
            .window
            .is_none_or(|begun| now.duration_since(begun) >= WINDOW);
        if over {
            self.strikes = if self.held_back { self.strikes + 1 } else { 0 };
            self.held_back = false;
            self.window = Some(now);
            if self.strikes >= STRIKES {
                self.patterns.clear();
                self.notify_on_complete = true;
                return;
            }
        } else if self.found.is_empty() {
            // This window's notice was taken already.
            self.held_back = true;
            return;
        }
        if self.found.len() < LINES {
            self.found.push(line.chars().take(LINE).collect());
        } else {
            self.held_back = true;
        }
    }

    /// The lines to tell now, if any.
    pub(crate) fn take(&mut self) -> Option<Vec<String>> {
        if self.found.is_empty() {
            None
        } else {
            Some(std::mem::take(&mut self.found))
        }
    }
}

/// The text that announces the end of a process.
pub(crate) fn completed(id: &str, command: &str, code: i32, output: &str) -> String {
    format!(
        "[IMPORTANT: Background process {id} completed (exit code {code}).\nCommand: {command}\nOutput:\n{}]",
        output.trim_end()
    )
}

/// The text that announces lines a process was watched for.
pub(crate) fn matched(id: &str, command: &str, lines: &[String]) -> String {
    format!(
        "[IMPORTANT: Background process {id} printed what it is watched for.\nCommand: {command}\nMatched output:\n{}]",
        lines.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watcher() -> Watcher {
        Watcher::new(vec!["ready".into()], false)
    }

    #[test]
    fn a_line_that_arrives_in_pieces_is_found() {
        let mut watcher = watcher();
        let now = Instant::now();
        watcher.look(b"not yet\nserver rea", now);
        assert_eq!(watcher.take(), None);
        watcher.look(b"dy on 80\n", now);
        assert_eq!(watcher.take(), Some(vec!["server ready on 80".into()]));
        assert_eq!(watcher.take(), None);
    }

    #[test]
    fn a_word_that_never_stops_ends_the_watch_and_announces_the_end_instead() {
        let mut watcher = watcher();
        let start = Instant::now();
        let mut told = 0;
        for second in 0..120 {
            watcher.look(b"ready\n", start + Duration::from_secs(second));
            told += u32::from(watcher.take().is_some());
        }
        assert!((2..=4).contains(&told), "{told}");
        assert!(watcher.notify_on_complete());
    }

    #[test]
    fn a_word_now_and_then_is_told_each_time() {
        let mut watcher = watcher();
        let start = Instant::now();
        for turn in 0..10 {
            watcher.look(b"ready\n", start + Duration::from_secs(20 * turn));
            assert!(watcher.take().is_some(), "{turn}");
        }
        assert!(!watcher.notify_on_complete());
    }
}
