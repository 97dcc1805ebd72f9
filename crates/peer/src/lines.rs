//! Lines of bounded length out of a stream of bytes.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// What the stream gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end; a last one without end counts.
    Whole(Vec<u8>),
    /// A line longer than the bound; nothing after it can be trusted.
    TooLong,
    /// Nothing more comes.
    End,
}

/// Reads the next line of at most `most` bytes.
pub(crate) async fn next_line<R: AsyncBufRead + Unpin>(reader: &mut R, most: usize) -> Line {
    let mut line = Vec::new();
    loop {
        let Ok(bytes) = reader.fill_buf().await else {
            return Line::End;
        };
        if bytes.is_empty() {
            return if line.is_empty() {
                Line::End
            } else {
                Line::Whole(line)
            };
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(bytes.len());
        if line.len() + taken > most {
            return Line::TooLong;
        }
        line.extend_from_slice(&bytes[..taken]);
        reader.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Line::Whole(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_and_one_that_is_too_long_ends_it() {
        let mut input: &[u8] = b"one\n\nthree and more\n";
        assert_eq!(next_line(&mut input, 5).await, Line::Whole(b"one".to_vec()));
        assert_eq!(next_line(&mut input, 5).await, Line::Whole(Vec::new()));
        assert_eq!(next_line(&mut input, 5).await, Line::TooLong);
        let mut input: &[u8] = b"last";
        assert_eq!(next_line(&mut input, 5).await, Line::Whole(b"last".to_vec()));
        assert_eq!(next_line(&mut input, 5).await, Line::End);
    }
}
