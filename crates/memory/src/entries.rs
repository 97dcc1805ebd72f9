//! A file's text as entries, and back.

/// What stands between two entries.
pub(crate) const SEPARATOR: &str = "\n§\n";

/// The entries of a file: trimmed, empty ones dropped, repeated ones kept once.
pub(crate) fn parse(raw: &str) -> Vec<String> {
    // Hermes reads text files with universal line ends.
    let raw = raw.replace("\r\n", "\n");
    let mut entries: Vec<String> = Vec::new();
    for entry in raw.split(SEPARATOR).map(within).filter(|entry| !entry.is_empty()) {
        if !entries.iter().any(|known| known == entry) {
            entries.push(entry.to_owned());
        }
    }
    entries
}

/// An entry without blanks and separators at its ends, which would be read as another separator once
/// something stands beside it.
fn within(entry: &str) -> &str {
    let mut entry = entry.trim();
    loop {
        let inner = entry.strip_suffix("\n§").or_else(|| entry.strip_prefix("§\n"));
        match inner {
            Some(inner) => entry = inner.trim(),
            None if entry == "§" => return "",
            None => return entry,
        }
    }
}

/// The file of these entries.
pub(crate) fn join(entries: &[String]) -> String {
    entries.join(SEPARATOR)
}

/// What they count against the limit: characters, separators included.
pub(crate) fn count(entries: &[String]) -> usize {
    let between = SEPARATOR.chars().count() * entries.len().saturating_sub(1);
    entries.iter().map(|entry| entry.chars().count()).sum::<usize>() + between
}

/// A number with thousands separators.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_edit_by_hand_with_blank_lines_leaves_no_empty_entry() {
        let raw = "first entry\n\n\n§\n\nsecond by hand\n§\n\n";
        assert_eq!(parse(raw), ["first entry", "second by hand"]);
        assert_eq!(parse("a\r\n§\r\nb\r\n"), ["a", "b"]);
        assert_eq!(parse("a \n§ \n§ \n§\nb"), ["a", "b"]);
        assert_eq!(parse("price in § and\nmore"), ["price in § and\nmore"]);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(2_200), "2,200");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn reading_what_was_written_gives_the_same_entries(raw in "[a§\n ]{0,40}") {
            let entries = parse(&raw);
            let again = parse(&join(&entries));
            prop_assert_eq!(&again, &entries);
            prop_assert!(count(&entries) == join(&entries).chars().count());
        }
    }
}
