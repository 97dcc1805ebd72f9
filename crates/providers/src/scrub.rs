//! Takes characters out of text that some servers cannot read.
//!
//! Text here is always valid Unicode; half surrogates cannot occur. What servers
//! still choke on, and report in the same words, are control characters and code
//! points that are no characters. They are replaced only when a server has
//! refused a request (the repair [`Rewrite::ScrubSurrogates`]).

use std::borrow::Cow;

use talaria_types::Rewrite;

/// The text, scrubbed if a repair asks for it.
pub(crate) fn scrub<'a>(text: &'a str, rewrites: &[Rewrite]) -> Cow<'a, str> {
    if !rewrites.contains(&Rewrite::ScrubSurrogates) || !text.contains(unreadable) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.chars()
            .map(|symbol| if unreadable(symbol) { '\u{fffd}' } else { symbol })
            .collect(),
    )
}

fn unreadable(symbol: char) -> bool {
    let code = u32::from(symbol);
    let no_character = (0xfdd0..=0xfdef).contains(&code) || code & 0xfffe == 0xfffe;
    no_character || (symbol.is_control() && !matches!(symbol, '\n' | '\t' | '\r'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_scrubbed_only_after_a_refusal() {
        let text = "a\u{0}b\u{ffff}c\n漢🚀";
        assert_eq!(scrub(text, &[]), text);
        assert_eq!(
            scrub(text, &[Rewrite::ScrubSurrogates]),
            "a\u{fffd}b\u{fffd}c\n漢🚀"
        );
    }
}
