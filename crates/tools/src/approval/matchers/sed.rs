//! What a script of `sed` does besides editing its stream.

use std::iter::Peekable;
use std::str::Chars;

/// What a script does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// Whether it runs commands (`e`).
    pub(super) runs: bool,
    /// Files it writes (`w`).
    pub(super) writes: Vec<String>,
}

/// Reads `text` as a script; what is no script comes out as something harmless or as worse than it is.
pub(super) fn read(text: &str) -> Script {
    let mut script = Script::default();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '/' => skip_to(&mut chars, '/'),
            '\\' => {
                if let Some(end) = chars.next() {
                    skip_to(&mut chars, end);
                }
            }
            's' | 'y' => {
                let Some(end) = chars.next() else { break };
                skip_to(&mut chars, end);
                skip_to(&mut chars, end);
                flags(&mut chars, &mut script);
            }
            'e' => script.runs = true,
            'w' | 'W' => script.writes.push(line(&mut chars)),
            'a' | 'i' | 'c' | 'r' | 'R' | '#' => {
                line(&mut chars);
            }
            ':' | 'b' | 't' | 'T' => while chars.next_if(|c| !matches!(c, ';' | '\n' | '}')).is_some() {},
            _ => {}
        }
    }
    script
}

/// The flags behind a substitution.
fn flags(chars: &mut Peekable<Chars<'_>>, script: &mut Script) {
    while let Some(flag) = chars.next_if(|c| c.is_ascii_alphanumeric()) {
        match flag {
            'e' => script.runs = true,
            'w' => return script.writes.push(line(chars)),
            _ => {}
        }
    }
}

fn line(chars: &mut Peekable<Chars<'_>>) -> String {
    let rest: String = chars.by_ref().take_while(|c| *c != '\n').collect();
    rest.trim().to_owned()
}

fn skip_to(chars: &mut Peekable<Chars<'_>>, end: char) {
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == end {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_files_of_a_script_are_found() {
        for text in [
            "1e touch x",
            "e",
            "s/a/b/e",
            "/x/{s,a,b,ge}",
            "$!e id",
            "1,/e/ e id",
        ] {
            assert!(read(text).runs, "{text}");
        }
        for text in [
            "s/e/w/g",
            "/else/d",
            "1,5p",
            "$d",
            "a\\ hello e",
            "y/e/w/",
            "s/a\\/e/b/",
            "/w/!s#e#w#2p",
            ":e;N;te",
        ] {
            assert_eq!(read(text), Script::default(), "{text}");
        }
        assert_eq!(read("s/a/b/w out.txt").writes, ["out.txt"]);
        assert_eq!(read("/x/w /etc/hosts\nd").writes, ["/etc/hosts"]);
    }
}
