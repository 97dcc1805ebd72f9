//! The standard streams: answers go to stdout, everything else to stderr.
//!
//! A reader that has gone away is no error of this program: what is written after
//! that is dropped, and the exit code stays that of the work. Colours are used on
//! a terminal only, and not with `NO_COLOR` or on a dumb one.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use talaria_config::{Environment, env};

/// Writes `text` and a line break to stdout.
pub(crate) fn line(text: &str) {
    write(&format!("{text}\n"));
}

/// Why something of the answer is lost, when it is.
static LOST: OnceLock<String> = OnceLock::new();

/// Writes `text` to stdout: as it is into a file or a pipe, without control characters to a terminal.
pub(crate) fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    let shown = if out.is_terminal() {
        harmless(text, true)
    } else {
        Cow::Borrowed(text)
    };
    let written = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        let _ = LOST.set(error.to_string());
    }
}

/// Writes to stdout as it is: for this program's own control characters, never for anybody else's text.
pub(crate) fn steer(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Why something that was written to stdout did not get there; nothing when a reader only went away.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Writes one JSON value, pretty on a terminal, and a line break to stdout.
pub(crate) fn json(value: &impl serde::Serialize) {
    let text = if std::io::stdout().is_terminal() {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    line(&text.unwrap_or_default());
}

/// Writes a line to stderr.
pub(crate) fn note(text: &str) {
    notes(&format!("{text}\n"));
}

/// Writes to stderr, never with control characters.
pub(crate) fn notes(text: &str) {
    let terminal = std::io::stderr().is_terminal();
    control(&harmless(text, terminal));
}

/// Writes to stderr as it is: for this program's own control characters, never for anybody else's text.
pub(crate) fn control(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// `text` without characters that would steer a terminal: it may come from a model, a server or a file.
/// With `colours` those of [`Style`] stay; they change nothing but how a letter looks.
pub(crate) fn harmless(text: &str, colours: bool) -> Cow<'_, str> {
    let steers = |letter: char| {
        let control = letter.is_control() && !matches!(letter, '\n' | '\t');
        // These make text read in another order than it is written.
        let turns = matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        control || turns
    };
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        if !steers(letter)
            || (colours && letter == ESCAPE && begins_with_a_colour(text.get(at..).unwrap_or_default()))
        {
            out.push(letter);
        }
    }
    Cow::Owned(out)
}

/// What an escape sequence begins with.
const ESCAPE: char = '\x1b';
/// The codes that this program itself uses; none of them hides anything.
const COLOURS: [&str; 10] = ["0", "1", "2", "3", "4", "9", "31", "32", "33", "36"];

fn begins_with_a_colour(text: &str) -> bool {
    let codes = text.strip_prefix("\x1b[").and_then(|rest| rest.split_once('m'));
    codes.is_some_and(|(codes, _)| codes.split(';').all(|code| COLOURS.contains(&code)))
}

/// How a stream is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    /// It is a terminal that takes cursor movements.
    pub(crate) terminal: bool,
    /// It takes colours.
    pub(crate) colour: bool,
}

impl Style {
    /// That of stdout.
    pub(crate) fn stdout(environment: &Environment) -> Self {
        Self::of(std::io::stdout().is_terminal(), environment)
    }

    /// That of stderr.
    pub(crate) fn stderr(environment: &Environment) -> Self {
        Self::of(std::io::stderr().is_terminal(), environment)
    }

    fn of(terminal: bool, environment: &Environment) -> Self {
        let terminal = terminal && environment.get(env::TERM) != Some("dumb");
        Self {
            terminal,
            colour: terminal && environment.get(env::NO_COLOR).is_none(),
        }
    }

    /// `text` between these codes, when colours are taken.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Less important.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Needs attention.
    pub(crate) fn warn(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Went wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Went well.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Stands out.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn foreign_text_cannot_steer_the_terminal_and_our_colours_stay() {
        let foreign = "a\tb\x1b]0;title\x07\x1b[2J\r\u{9b}2J\u{202e}c\x7f\n";
        assert_eq!(harmless(foreign, true), "a\tb]0;title[2J2Jc\n");
        let ours = "\x1b[1;4mbold\x1b[0m \x1b[32mgood\x1b[0m";
        assert_eq!(harmless(ours, true), ours);
        assert_eq!(harmless("\x1b[8mhidden\x1b[0m", true), "[8mhidden\x1b[0m");
        assert_eq!(harmless("\x1b[31mred", false), "[31mred");
    }
}
