//! `.env`: lines of `NAME=value`, as shells and python-dotenv read them.

use crate::Environment;

/// The variables of `text`, in file order. Lines that are none are passed over.
pub(crate) fn parse(text: &str, environment: &Environment) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |index| index + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        let Some((name, written)) = assignment(line) else {
            continue;
        };
        let (value, beyond) = unquoted(written, rest);
        rest = beyond;
        let value = if written.starts_with('\'') {
            value
        } else {
            expanded(&value, &found, environment)
        };
        found.push((name.to_owned(), value));
    }
    found
}

/// The text of a file, and the lines (from 1) that are left out of it because they are not UTF-8.
pub(crate) fn decode(bytes: &[u8]) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(bytes.len());
    let mut unread = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        match std::str::from_utf8(line) {
            Ok(line) => text.push_str(line),
            Err(_) => unread.push(index + 1),
        }
    }
    (text, unread)
}

/// The name and what is written after the `=`.
pub(crate) fn assignment(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end();
    let valid = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then(|| (name, value.trim_start()))
}

/// Takes quotes or a trailing comment away; a quoted value may go on over the following lines.
fn unquoted<'a>(written: &str, following: &'a str) -> (String, &'a str) {
    let Some(quote) = written
        .chars()
        .next()
        .filter(|letter| matches!(letter, '"' | '\''))
    else {
        let plain = written.split_once(" #").map_or(written, |(value, _)| value);
        return (plain.trim_end().to_owned(), following);
    };
    let inner = written.get(1..).unwrap_or_default();
    if let (value, Some(_)) = until(inner, quote) {
        return (value, following);
    }
    match until(following, quote) {
        (tail, Some(end)) => {
            let (head, _) = until(inner, quote);
            let beyond = following.get(end..).unwrap_or_default();
            let line_end = beyond.find('\n').map_or(beyond.len(), |index| index + 1);
            (
                format!("{head}\n{tail}"),
                beyond.get(line_end..).unwrap_or_default(),
            )
        }
        // An unclosed quote is part of the value rather than the end of the file.
        (_, None) => (written.trim_end().to_owned(), following),
    }
}

/// The text up to the closing quote with escapes undone, and where it ended.
fn until(text: &str, quote: char) -> (String, Option<usize>) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            _ if letter == quote => return (value, Some(index + letter.len_utf8())),
            '\\' if quote == '"' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => value.push(other),
                None => value.push('\\'),
            },
            _ => value.push(letter),
        }
    }
    (value, None)
}

fn expanded(value: &str, before: &[(String, String)], environment: &Environment) -> String {
    expand(value, |name| {
        let earlier = before.iter().rev().find(|(known, _)| known == name);
        earlier
            .map(|(_, value)| value.clone())
            .or_else(|| environment.get(name).map(str::to_owned))
    })
    .unwrap_or_else(|_| value.to_owned())
}

/// Replaces each `${NAME}` by what `lookup` knows; the first unknown name otherwise.
pub(crate) fn expand(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, tail)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        out.push_str(&lookup(name).ok_or_else(|| name.to_owned())?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// `text` with `name` set to `value`, everything else as it is.
pub(crate) fn with(text: &str, name: &str, value: &str) -> String {
    let line = format!("{name}={}", quoted(value));
    let mut out = String::new();
    let mut done = false;
    for old in text.lines() {
        if assignment(old).is_some_and(|(known, _)| known == name) {
            if !done {
                out.push_str(&line);
                out.push('\n');
            }
            done = true;
        } else {
            out.push_str(old);
            out.push('\n');
        }
    }
    if !done {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// `text` without `name`; nothing when it is not there.
pub(crate) fn without(text: &str, name: &str) -> Option<String> {
    let is_it = |line: &str| assignment(line).is_some_and(|(known, _)| known == name);
    let kept = || text.lines().filter(|line| !is_it(line));
    (kept().count() < text.lines().count()).then(|| kept().flat_map(|line| [line, "\n"]).collect())
}

fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@+=,%".contains(c);
    if value.chars().all(plain) {
        return value.to_owned();
    }
    let escaped = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text, &Environment::of([("HOST", "example.org")]))
    }

    fn value(text: &str) -> String {
        pairs(text).pop().unwrap().1
    }

    #[test]
    fn quotes_exports_and_comments_are_read_as_a_shell_reads_them() {
        let read =
            pairs("# c\nA='x y'\nexport B=\"q\\\"\\n\" # c\nC = bare # c\nnot a line\n9X=1\nD=a#b\r\n");
        let expected = [("A", "x y"), ("B", "q\"\n"), ("C", "bare"), ("D", "a#b")];
        assert_eq!(
            read,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }

    #[test]
    fn names_are_expanded_outside_of_single_quotes() {
        assert_eq!(value("URL=https://${HOST}/v1"), "https://example.org/v1");
        assert_eq!(value("URL='https://${HOST}/v1'"), "https://${HOST}/v1");
        assert_eq!(value("A=1\nB=${A}2"), "12");
        assert_eq!(value("B=${NOT_SET}x"), "${NOT_SET}x");
    }

    #[test]
    fn a_quoted_value_may_have_lines() {
        assert_eq!(pairs("PEM=\"a\nb\"\nX=1\n").len(), 2);
        assert_eq!(pairs("PEM=\"a\nb\"\nX=1\n")[0].1, "a\nb");
        assert_eq!(pairs("OPEN=\"a\nX=1\n")[1].1, "1");
    }

    #[test]
    fn setting_a_name_keeps_every_other_line() {
        let text = "# mine\nA=1\n\nexport B=2\nA=3\n";
        assert_eq!(with(text, "A", "4"), "# mine\nA=4\n\nexport B=2\n");
        assert_eq!(with(text, "C", "x y$"), format!("{text}C=\"x y$\"\n"));
        assert_eq!(without(text, "A").unwrap(), "# mine\n\nexport B=2\n");
        assert_eq!(without(text, "Z"), None);
    }

    #[test]
    fn one_line_that_is_not_utf8_costs_that_line_only() {
        let (text, unread) = decode(b"A=1\nB=caf\xe9\nC=3\n");
        assert_eq!((text.as_str(), unread), ("A=1\nC=3\n", vec![2]));
    }

    #[test]
    fn what_is_written_is_read_back() {
        for secret in [
            "sk-plain_1",
            "with space",
            "quo\"te",
            "back\\slash",
            "two\nlines",
            "#hash",
            "käse",
        ] {
            assert_eq!(value(&with("", "K", secret)), secret);
        }
    }
}
