//! The line of an answer that is not whole yet.
//!
//! What it will look like is known at its end only, but nobody should wait for
//! that: until then it stands on the terminal as it is written, and makes way
//! for the finished line.

use unicode_width::UnicodeWidthChar;

use crate::output;

/// A line that is shown before it is whole.
#[derive(Default)]
pub(super) struct Preview {
    /// How much of the line is on the terminal, in bytes and in columns.
    bytes: usize,
    columns: usize,
}

/// Columns and rows of a terminal.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

impl Size {
    /// That of the terminal at hand.
    pub(super) fn of_terminal() -> Self {
        match rustix::termios::tcgetwinsize(std::io::stdout()) {
            Ok(size) if size.ws_col > 0 => Self {
                columns: usize::from(size.ws_col),
                rows: usize::from(size.ws_row),
            },
            _ => Self {
                columns: 80,
                rows: 24,
            },
        }
    }
}

impl Preview {
    /// What is to be written so that `line` stands there as far as it is known and the terminal can hold it.
    pub(super) fn grow(&mut self, line: &str, size: Size) -> String {
        let most = size.rows.saturating_sub(2) * size.columns;
        let mut more = String::new();
        for letter in line.get(self.bytes..).unwrap_or_default().chars() {
            let width = if letter == '\t' {
                1
            } else {
                letter.width().unwrap_or(0)
            };
            if self.columns + width > most {
                break;
            }
            more.push(if letter == '\t' { ' ' } else { letter });
            self.bytes += letter.len_utf8();
            self.columns += width;
        }
        output::harmless(&more, false).into_owned()
    }

    /// What is to be written so that nothing of it stands there any more.
    pub(super) fn clear(&mut self, size: Size) -> String {
        let columns = std::mem::take(&mut self.columns);
        self.bytes = 0;
        if columns == 0 {
            return String::new();
        }
        // A row that is just full has not moved the cursor to the next one yet.
        match (columns - 1) / size.columns {
            0 => "\r\x1b[J".to_owned(),
            up => format!("\r\x1b[{up}A\x1b[J"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { columns: 10, rows: 5 };

    #[test]
    fn a_line_grows_by_what_is_new_and_goes_away_whole() {
        let mut preview = Preview::default();
        assert_eq!(preview.clear(SIZE), "");
        assert_eq!(preview.grow("some", SIZE), "some");
        assert_eq!(preview.grow("some **bold**", SIZE), " **bold**");
        assert_eq!(preview.clear(SIZE), "\r\x1b[1A\x1b[J");
        assert_eq!(preview.grow("next", SIZE), "next");
        assert_eq!(preview.clear(SIZE), "\r\x1b[J");
    }

    #[test]
    fn wide_letters_and_full_rows_are_counted_by_their_columns() {
        let mut preview = Preview::default();
        preview.grow("你好你好你", SIZE);
        assert_eq!(preview.clear(SIZE), "\r\x1b[J", "ten columns are one row");
        preview.grow("你好你好你a", SIZE);
        assert_eq!(preview.clear(SIZE), "\r\x1b[1A\x1b[J");
    }

    #[test]
    fn a_line_longer_than_the_terminal_stops_where_it_can_still_be_taken_back() {
        let mut preview = Preview::default();
        let line = "x".repeat(100);
        assert_eq!(preview.grow(&line, SIZE).len(), 30);
        assert_eq!(preview.grow(&line, SIZE), "");
        assert_eq!(preview.clear(SIZE), "\r\x1b[2A\x1b[J");
    }

    #[test]
    fn foreign_control_characters_never_reach_the_terminal() {
        let mut preview = Preview::default();
        assert_eq!(preview.grow("a\x1b[2Jb\tc", SIZE), "a[2Jb c");
    }
}
