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

/// Characters of no width, that could part a word unseen.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_width_letters_escapes_and_nothing_widths_are_seen_through() {
        assert_eq!(normalize("\u{ff52}\u{ff4d} -rf /"), "rm -rf /");
        assert_eq!(normalize("r\u{1b}[31mm\0 -rf /"), "rm -rf /");
        assert_eq!(normalize("r\u{200b}m x"), "rm x");
        assert_eq!(normalize("a\tb\nc"), "a\tb\nc");
    }
}
