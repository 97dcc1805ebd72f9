//! Turns what a terminal was meant to show into plain text.

/// `bytes` as text without escape sequences and control characters; invalid
/// UTF-8 becomes the replacement character, a line that was overwritten by
/// carriage returns keeps its last state.
pub(crate) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text
        .bytes()
        .any(|byte| byte < 0x20 && byte != b'\n' && byte != b'\t' || byte == 0x7f || byte == 0xc2)
    {
        return text.into_owned();
    }
    overwrite(&strip_escapes(&text))
}

/// Removes escape sequences: CSI, OSC and the other strings, two- and three-byte escapes.
pub(crate) fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.next() {
                Some('[') => skip_csi(&mut chars),
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut chars),
                // Intermediate bytes (character sets) are followed by one final byte.
                Some(' '..='/') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\u{90}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => skip_string(&mut chars),
            '\n' | '\t' | '\r' | '\u{8}' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn skip_csi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| matches!(c, ' '..='?')) {
        let _ = c;
    }
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// A string control ends with BEL, ST or, when it never ends, with its line.
fn skip_string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Applies carriage returns and backspaces line by line.
fn overwrite(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let line = line.trim_end_matches('\r');
        // A progress bar redraws its whole line; the last drawing is what is seen.
        let line = line
            .rsplit('\r')
            .find(|part| !part.is_empty())
            .unwrap_or_default();
        if line.contains('\u{8}') {
            out.push_str(&apply_backspaces(line));
        } else {
            out.push_str(line);
        }
    }
    out
}

fn apply_backspaces(line: &str) -> String {
    let mut seen = String::with_capacity(line.len());
    for c in line.chars() {
        if c == '\u{8}' {
            seen.pop();
        } else {
            seen.push(c);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_titles_and_links_leave_only_their_text() {
        assert_eq!(plain(b"\x1b[1;31mred\x1b[0m\tplain"), "red\tplain");
        assert_eq!(
            plain(b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link"),
            "textlink"
        );
        assert_eq!(plain(b"\x1b(Bascii\x1b7\x1b[?25l"), "ascii");
        assert_eq!(plain("\u{9b}31mred \u{e9}".as_bytes()), "red \u{e9}");
    }

    #[test]
    fn a_progress_bar_keeps_its_last_state() {
        assert_eq!(plain(b"10%\r50%\r100%\r\nnext\r\n"), "100%\nnext\n");
        assert_eq!(plain(b"abc\x08\x08d"), "ad");
    }

    #[test]
    fn invalid_utf8_keeps_the_readable_part() {
        assert_eq!(
            plain(b"\x97\xff caf\xe9 tail-ok\n"),
            "\u{fffd}\u{fffd} caf\u{fffd} tail-ok\n"
        );
    }

    #[test]
    fn an_unfinished_title_does_not_swallow_the_next_line() {
        assert_eq!(plain(b"\x1b]0;never ends\nseen"), "\nseen");
    }

    proptest! {
        #[test]
        fn no_control_character_is_left(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let text = plain(&bytes);
            prop_assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{text:?}");
        }
    }
}
