//! Titles: cleaned, unique, numbered along a lineage (`Name`, `Name #2`, …).

use rusqlite::{Connection, OptionalExtension, params};
use talaria_types::SessionId;

use super::lineage;
use crate::{Result, StoreError};

/// Characters a title may have.
const LONGEST: usize = 100;

/// Cleans a title as Hermes does: no control or invisible characters, single spaces. `None` when nothing is left.
pub(crate) fn clean(title: &str) -> Result<Option<String>> {
    let visible: String = title
        .chars()
        .filter(|character| !is_invisible(*character))
        .collect();
    let clean = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    if clean.chars().count() > LONGEST {
        return Err(StoreError::BadTitle {
            title: clean,
            why: "it has more than 100 characters",
        });
    }
    Ok((!clean.is_empty()).then_some(clean))
}

/// Controls but for white space, zero-width marks, and marks that turn the writing direction.
fn is_invisible(character: char) -> bool {
    (character.is_control() && !matches!(character, '\t' | '\n' | '\r'))
        || matches!(character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
            | '\u{feff}' | '\u{fffc}' | '\u{fff9}'..='\u{fffb}')
}

/// Splits `Name #3` into `Name` and 3.
pub(crate) fn split(title: &str) -> (&str, Option<u64>) {
    match title.rsplit_once(" #") {
        Some((base, digits)) if !base.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            match digits.parse() {
                Ok(number) => (base, Some(number)),
                Err(_) => (title, None),
            }
        }
        _ => (title, None),
    }
}

/// The next free name of a title's family: the title itself when nobody has it, else `Name #n`.
pub(crate) fn next(connection: &Connection, title: &str) -> Result<String> {
    let Some(title) = clean(title)? else {
        return Err(StoreError::BadTitle {
            title: title.to_owned(),
            why: "it has no visible character",
        });
    };
    let (base, _) = split(&title);
    let mut statement = connection
        .prepare_cached("SELECT title FROM sessions WHERE title = ?1 OR title LIKE ?2 ESCAPE '\\'")?;
    let taken = statement
        .query_map(params![base, format!("{} #%", escape_like(base))], |row| {
            row.get::<_, String>(0)
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let highest = taken
        .iter()
        .filter_map(|taken| match split(taken) {
            _ if taken == base => Some(1),
            (name, number) if name == base => number,
            _ => None,
        })
        .max();
    Ok(match highest {
        None => base.to_owned(),
        Some(highest) => {
            let suffix = format!(" #{}", highest.max(1) + 1);
            let room = LONGEST.saturating_sub(suffix.chars().count());
            format!(
                "{}{suffix}",
                base.chars().take(room).collect::<String>().trim_end()
            )
        }
    })
}

/// Gives `id` a title or takes it away; a title of its own earlier segments moves over.
pub(crate) fn set(connection: &Connection, id: &SessionId, title: Option<&str>) -> Result<()> {
    let title = match title {
        Some(text) => match clean(text)? {
            Some(title) => Some(title),
            None => {
                return Err(StoreError::BadTitle {
                    title: text.to_owned(),
                    why: "it has no visible character",
                });
            }
        },
        None => None,
    };
    if let Some(title) = &title
        && let Some(owner) = owner(connection, title)?
        && owner != *id
    {
        if !lineage::ancestors(connection, id)?.contains(&owner) {
            return Err(StoreError::TitleTaken {
                title: title.clone(),
                owner: owner.to_string(),
            });
        }
        connection.execute("UPDATE sessions SET title = NULL WHERE id = ?1", [owner.as_str()])?;
    }
    let rows = connection.execute(
        "UPDATE sessions SET title = ?1 WHERE id = ?2",
        params![title, id.as_str()],
    )?;
    if rows == 0 {
        return Err(StoreError::UnknownSession { name: id.to_string() });
    }
    Ok(())
}

/// Titles a session that has none yet, numbering the title when it is taken; gives the title when it was set.
pub(crate) fn set_if_none(connection: &Connection, id: &SessionId, title: &str) -> Result<Option<String>> {
    let untitled: Option<bool> = connection
        .query_row(
            "SELECT title IS NULL FROM sessions WHERE id = ?1",
            [id.as_str()],
            |row| row.get(0),
        )
        .optional()?;
    if untitled != Some(true) {
        return Ok(None);
    }
    let free = match clean(title)? {
        Some(clean) if owner(connection, &clean)?.is_none() => clean,
        Some(clean) => next(connection, &clean)?,
        None => return Ok(None),
    };
    connection.execute(
        "UPDATE sessions SET title = ?1 WHERE id = ?2",
        params![free, id.as_str()],
    )?;
    Ok(Some(free))
}

fn owner(connection: &Connection, title: &str) -> Result<Option<SessionId>> {
    let mut statement = connection.prepare_cached("SELECT id FROM sessions WHERE title = ?1")?;
    Ok(statement
        .query_row([title], |row| row.get::<_, String>(0))
        .optional()?
        .map(SessionId::new))
}

/// Escapes `text` for `LIKE … ESCAPE '\'`.
pub(crate) fn escape_like(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cleaned_and_bounded() {
        assert_eq!(clean("  a\u{200b}b \n c\u{7} ").unwrap().as_deref(), Some("ab c"));
        assert_eq!(clean("\u{200b} ").unwrap(), None);
        assert!(clean(&"x".repeat(100)).is_ok());
        assert!(clean(&"x".repeat(101)).is_err());
    }

    #[test]
    fn a_number_is_only_what_follows_the_last_hash() {
        assert_eq!(split("Name #12"), ("Name", Some(12)));
        assert_eq!(split("Name #12 #3"), ("Name #12", Some(3)));
        assert_eq!(split("Issue #x"), ("Issue #x", None));
        assert_eq!(split(" #3"), (" #3", None));
    }
}
