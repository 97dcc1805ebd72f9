//! Joins the pieces of an answer that was cut and continued.

/// How much of a repeated beginning is looked at, in bytes.
const BEGINNING: usize = 24;
/// The longest overlap that is looked for, in bytes.
const OVERLAP: usize = 400;
/// The shortest overlap that is taken for one; a shared word or two is chance.
const SHORTEST: usize = 12;

/// `so_far` and the piece that continues it, with nothing said twice.
///
/// Models that are asked to go on do so in three ways: from the cut, from a few
/// words before it, or from the beginning again.
pub(crate) fn join(so_far: &str, next: &str) -> String {
    if starts_again(so_far, next) {
        return next.to_owned();
    }
    let overlap = overlap(so_far, next);
    format!("{so_far}{}", &next[overlap..])
}

/// The continuation begins as the whole answer began.
fn starts_again(so_far: &str, next: &str) -> bool {
    let beginning = prefix(so_far.trim_start(), BEGINNING);
    beginning.len() >= SHORTEST && next.trim_start().starts_with(beginning)
}

/// Bytes of `next` that repeat the end of `so_far`.
fn overlap(so_far: &str, next: &str) -> usize {
    let most = so_far.len().min(next.len()).min(OVERLAP);
    (SHORTEST..=most)
        .rev()
        .filter(|&length| next.is_char_boundary(length))
        .find(|&length| so_far.ends_with(&next[..length]))
        .unwrap_or(0)
}

/// The first `bytes` of `text`, cut at a character.
fn prefix(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_continuation_from_the_cut_is_appended() {
        assert_eq!(join("1 2 3 4 5 ", "6 7 8 9 10"), "1 2 3 4 5 6 7 8 9 10");
    }

    #[test]
    fn a_continuation_that_starts_again_replaces_what_was_there() {
        let first = "The list begins with alpha, then beta, and after that comes ";
        let whole = format!("{first}epsilon.");
        assert_eq!(join(first, &whole), whole);
    }

    #[test]
    fn words_that_are_repeated_around_the_cut_are_there_once() {
        let joined = join(
            "and so the river ran to the sea",
            "the river ran to the sea and on",
        );
        assert_eq!(joined, "and so the river ran to the sea and on");
    }

    proptest! {
        #[test]
        fn joining_never_loses_the_new_text(so_far in ".{0,60}", next in ".{0,60}") {
            let joined = join(&so_far, &next);
            prop_assert!(joined.ends_with(&next) || so_far.ends_with(&next) || joined.len() >= next.len());
            prop_assert!(joined.len() <= so_far.len() + next.len());
        }
    }
}
