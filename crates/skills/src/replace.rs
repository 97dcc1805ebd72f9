//! Replaces a text in a file, forgiving differences in blanks at the ends of lines.

/// Why nothing was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// The text is not there.
    Absent,
    /// It is there so many times.
    Several(usize),
}

/// `text` with `old` replaced by `new`, and how often.
pub(crate) fn replace(text: &str, old: &str, new: &str, all: bool) -> Result<(String, usize), Miss> {
    let exact = text.matches(old).count();
    match exact {
        0 => by_lines(text, old, new, all),
        1 => Ok((text.replacen(old, new, 1), 1)),
        _ if all => Ok((text.replace(old, new), exact)),
        _ => Err(Miss::Several(exact)),
    }
}

/// The same, where lines count as equal when they are so without the blanks around them.
fn by_lines(text: &str, old: &str, new: &str, all: bool) -> Result<(String, usize), Miss> {
    let wanted: Vec<&str> = old.trim_matches('\n').lines().map(str::trim).collect();
    if wanted.iter().all(|line| line.is_empty()) {
        return Err(Miss::Absent);
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut places = Vec::new();
    let mut at = 0;
    while at + wanted.len() <= lines.len() {
        if (0..wanted.len()).all(|offset| lines[at + offset].trim() == wanted[offset]) {
            places.push(at);
            at += wanted.len();
        } else {
            at += 1;
        }
    }
    match places.len() {
        0 => return Err(Miss::Absent),
        1 => {}
        _ if all => {}
        count => return Err(Miss::Several(count)),
    }
    let mut changed = String::new();
    let mut at = 0;
    while at < lines.len() {
        if !places.contains(&at) {
            changed.push_str(lines[at]);
            at += 1;
            continue;
        }
        let last = lines[at + wanted.len() - 1];
        changed.push_str(new.trim_end_matches('\n'));
        if last.ends_with('\n') && !new.is_empty() {
            changed.push('\n');
        }
        at += wanted.len();
    }
    Ok((changed, places.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_is_replaced_and_several_only_when_asked() {
        assert_eq!(replace("a b a", "b", "c", false), Ok(("a c a".to_owned(), 1)));
        assert_eq!(replace("a b a", "a", "c", false), Err(Miss::Several(2)));
        assert_eq!(replace("a b a", "a", "c", true), Ok(("c b c".to_owned(), 2)));
        assert_eq!(replace("a b a", "x", "c", true), Err(Miss::Absent));
    }

    #[test]
    fn indentation_that_is_remembered_wrongly_is_forgiven() {
        let text = "1. One\n   - two  \n3. Three\n";
        assert_eq!(
            replace(text, "1. One\n- two", "1. Uno", false),
            Ok(("1. Uno\n3. Three\n".to_owned(), 1))
        );
        assert_eq!(
            replace(text, "- two\n", "", false),
            Ok(("1. One\n3. Three\n".to_owned(), 1))
        );
    }
}
