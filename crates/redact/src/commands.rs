//! Passwords on the command lines of programs that take them behind a short flag: `curl -u user:…`,
//! `mysql -p…`, `sshpass -p …`. What the flag means depends on the program, so its name must stand before.

use crate::{
    mask,
    scan::{Hit, With},
    shape,
};
use std::ops::Range;

/// How far before its flag the program may be named.
const REACH: usize = 400;

/// The password of `user:password` behind `-u`, `--user`, `--proxy-user` of curl.
pub(crate) fn login(text: &str, flag: Range<usize>) -> Option<Hit> {
    if !names_program(text, flag.start, &["curl"]) {
        return None;
    }
    let value = argument(text.as_bytes(), flag.end)?;
    let colon = text[value.clone()].find(':')?;
    password_in(text, value.start + colon + 1..value.end)
}

/// What is glued to `-p` of a database client, or follows it for `sshpass`.
pub(crate) fn password(text: &str, flag: Range<usize>) -> Option<Hit> {
    let bytes = text.as_bytes();
    if bytes[flag.end - 1] != b'p' {
        return None;
    }
    let apart = bytes.get(flag.end) == Some(&b' ');
    let programs: &[&str] = if apart {
        &["sshpass"]
    } else {
        &["mysql", "mariadb", "sshpass"]
    };
    if !names_program(text, flag.start, programs) {
        return None;
    }
    password_in(text, argument(bytes, flag.end)?)
}

/// Whether one of the programs is called on the same line, at most a pipe away.
fn names_program(text: &str, before: usize, programs: &[&str]) -> bool {
    let bytes = text.as_bytes();
    let floor = before.saturating_sub(REACH);
    let start = (floor..before)
        .rev()
        .find(|&at| matches!(bytes[at], b'\n' | b'|' | b';') && !(at > 0 && bytes[at - 1] == b'\\'))
        .map_or(floor, |at| at + 1);
    programs.iter().any(|program| {
        let program = program.as_bytes();
        bytes[start..before]
            .windows(program.len())
            .any(|word| word == program)
    })
}

/// The word behind a flag, without its quotes.
fn argument(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let start = shape::run(bytes, from, |byte| byte == b' ');
    let escaped = usize::from(bytes.get(start) == Some(&b'\\'));
    let range = match bytes.get(start + escaped) {
        Some(&quote @ (b'"' | b'\'')) => {
            let start = start + escaped + 1;
            start..shape::run(bytes, start, |byte| {
                byte != quote && byte != b'\n' && byte != b'\\'
            })
        }
        _ => {
            start..shape::run(bytes, start, |byte| {
                !byte.is_ascii_whitespace()
                    && !matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b'|' | b';' | b')')
            })
        }
    };
    (!range.is_empty()).then_some(range)
}

fn password_in(text: &str, range: Range<usize>) -> Option<Hit> {
    let value = text.get(range.clone())?;
    let template = value.is_empty() || value.starts_with(['$', '{', '<', '%', '*', '-']);
    (!template && !mask::is_mask(value)).then(|| Hit::new(range, With::Stars))
}
