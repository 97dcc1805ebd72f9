//! Takes away what hides a command from a reader.

use unicode_normalization::UnicodeNormalization;

use crate::process::strip_escapes;

/// `command` without escape sequences and NULs, look-alike letters replaced by the plain ones.
pub(crate) fn normalize(command: &str) -> String {
    if command.is_ascii()
        && !command
            .bytes()
            .any(|byte| byte < 0x20 && byte != b'\n' && byte != b'\t')
    {
        return command.to_owned();
    }
    let visible: String = strip_escapes(command)
        .chars()
        .filter(|c| !is_invisible(*c))
        .collect();
    visible.nfkc().collect()
}

/// `text` for a person: what is invisible in it, moves the cursor or changes its direction is spelled out.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let moves = c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{2028}' | '\u{2029}');
        if moves || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Characters of no width, that could part a word unseen or show a text in another order.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}'
        | '\u{110cd}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_changes_direction_hides_what_is_approved() {
        let shown = visible("echo \u{202e}x\u{2066}\u{200b}\u{1b}[2K\r\u{feff}é\n\t漢");
        assert_eq!(
            shown,
            "echo \\u{202e}x\\u{2066}\\u{200b}\\u{1b}[2K\\u{d}\\u{feff}é\n\t漢"
        );
    }

    #[test]
    fn full_width_letters_escapes_and_nothing_widths_are_seen_through() {
        assert_eq!(normalize("\u{ff52}\u{ff4d} -rf /"), "rm -rf /");
        assert_eq!(normalize("r\u{1b}[31mm\0 -rf /"), "rm -rf /");
        assert_eq!(normalize("r\u{200b}m x"), "rm x");
        assert_eq!(normalize("a\tb\nc"), "a\tb\nc");
    }
}
