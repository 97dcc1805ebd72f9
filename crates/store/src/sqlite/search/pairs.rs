//! An index of our own for scripts that are written without spaces.
//!
//! `messages_fts` takes a run of Chinese for one word, and the index of three
//! characters cannot find two, which is what most Chinese words have. This one
//! holds each two neighbouring characters as a word, so that a run of any length
//! is a phrase of pairs, and the words of other scripts that touch such a run
//! (`用docker部署`), which `messages_fts` does not see either. It holds nothing
//! of rows without such characters, so it is small.
//!
//! No trigger fills it: Hermes could not run one. [`catch_up`] reads the rows
//! that were added since; the highest row it has seen stands in `state_meta`.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use crate::Result;
use crate::sqlite::{calls, content, row};

/// Key of `state_meta`: the highest row that was read.
pub(crate) const SEEN: &str = "talaria:pairs_seen";
/// The table, as the first own migration makes it.
const TABLE: &str = "CREATE VIRTUAL TABLE message_pairs USING fts5(pairs, content='', contentless_delete=1, tokenize='ascii');";
/// Rows read in one transaction, so that other writers wait only briefly.
const BATCH: i64 = 2_000;

/// How a script separates its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// By spaces.
    Spaced,
    /// Not at all.
    Unspaced,
}

/// Han, kana, hangul, bopomofo, Thai, Lao, Myanmar, Khmer.
fn is_unspaced(character: char) -> bool {
    matches!(u32::from(character),
        0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1100..=0x11FF | 0x1780..=0x17FF | 0x3005..=0x3007 | 0x3021..=0x3029
        | 0x3031..=0x3035 | 0x3038..=0x303C | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x318F
        | 0x31A0..=0x31BF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xA960..=0xA97F | 0xAC00..=0xD7FF
        | 0xF900..=0xFAFF | 0xFF66..=0xFFDC | 0x1B000..=0x1B16F | 0x20000..=0x3FFFF)
}

/// Splits a text into words and runs, lower case; all else separates.
pub(crate) fn segments(text: &str) -> Vec<(Script, String)> {
    let mut found: Vec<(Script, String)> = Vec::new();
    visit(text, |script, segment, _| {
        found.push((script, segment.to_lowercase()));
    });
    found
}

/// Calls `each` with every segment; the flag tells whether it touches the one before it.
fn visit(text: &str, mut each: impl FnMut(Script, &str, bool)) {
    let mut start = 0;
    let mut current: Option<Script> = None;
    let mut touches = false;
    for (place, character) in text.char_indices() {
        let script = match character {
            character if is_unspaced(character) => Some(Script::Unspaced),
            // A mark on a letter belongs to it, as for `messages_fts`.
            character if character.is_alphanumeric() || is_mark(character) => Some(Script::Spaced),
            _ => None,
        };
        if script == current {
            continue;
        }
        if let Some(ended) = current {
            each(ended, &text[start..place], touches);
        }
        touches = current.is_some() && script.is_some();
        current = script;
        start = place;
    }
    if let Some(ended) = current {
        each(ended, &text[start..], touches);
    }
}

/// Combining marks of the scripts written with spaces.
fn is_mark(character: char) -> bool {
    matches!(u32::from(character), 0x0300..=0x036F | 0x0591..=0x05BD | 0x064B..=0x065F | 0x0900..=0x0903 | 0x093A..=0x094F)
}

/// Each two neighbouring characters of a run; nothing for a single one.
pub(crate) fn pairs(run: &str) -> Vec<String> {
    let characters: Vec<char> = run.chars().collect();
    characters.windows(2).map(|pair| pair.iter().collect()).collect()
}

/// What stands in the index for a text; empty when it has no run.
pub(crate) fn indexed(text: &str) -> String {
    // A word is kept when it touches a run on either side.
    let mut cluster: Vec<(Script, String)> = Vec::new();
    let mut tokens = String::new();
    visit(text, |script, segment, touches| {
        if !touches {
            write_cluster(&mut cluster, &mut tokens);
        }
        cluster.push((script, segment.to_lowercase()));
    });
    write_cluster(&mut cluster, &mut tokens);
    tokens
}

fn write_cluster(cluster: &mut Vec<(Script, String)>, tokens: &mut String) {
    let has_run = cluster.iter().any(|(script, _)| *script == Script::Unspaced);
    for (script, segment) in cluster.drain(..).filter(|_| has_run) {
        let mut push = |token: &str| {
            tokens.push_str(token);
            tokens.push(' ');
        };
        match script {
            Script::Spaced => push(&segment),
            Script::Unspaced => {
                pairs(&segment).iter().for_each(|pair| push(pair));
                // The last character alone, so that looking for one finds it at the end of a run too.
                if let Some(last) = segment.chars().last() {
                    push(last.encode_utf8(&mut [0; 4]));
                }
            }
        }
    }
}

/// The words of a row: what was said, the tool, the calls with their arguments.
///
/// `row` has the columns `content`, `tool_name` and `tool_calls`, the first of them at `first`.
pub(crate) fn words_of(row: &Row<'_>, first: usize) -> rusqlite::Result<String> {
    let content = row::text(row, first)?.map(|column| content::decode(column).text().into_owned());
    let mut text = content.unwrap_or_default();
    let mut add = |word: &str| {
        text.push(' ');
        text.push_str(word);
    };
    if let Some(name) = row::text(row, first + 1)? {
        add(&name);
    }
    let calls = row::text(row, first + 2)?.map(|column| calls::decode(column.as_bytes()));
    for call in calls.unwrap_or_default() {
        add(&call.name);
        // Some providers escape everything outside of ASCII.
        let escaped = call.arguments.contains("\\u");
        match escaped.then(|| serde_json::from_str::<Value>(&call.arguments)) {
            Some(Ok(arguments)) => add(&arguments.to_string()),
            _ => add(&call.arguments),
        }
    }
    Ok(text)
}

/// The highest row that was read.
pub(crate) fn seen(connection: &Connection) -> Result<i64> {
    let seen: Option<String> = connection
        .prepare_cached("SELECT value FROM state_meta WHERE key = ?1")?
        .query_row([SEEN], |found| row::text(found, 0))
        .optional()?
        .flatten();
    Ok(seen.and_then(|seen| seen.parse().ok()).unwrap_or_default())
}

/// Whether there are rows that were not read.
pub(crate) fn is_behind(connection: &Connection) -> Result<bool> {
    let newest: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM messages")?
        .query_row([], |found| found.get(0))?;
    Ok(newest.unwrap_or_default() > seen(connection)?)
}

/// Reads the next rows; gives the highest one and whether there are more.
pub(crate) fn catch_up(connection: &Connection) -> Result<(i64, bool)> {
    let from = seen(connection)?;
    let mut statement = connection.prepare_cached(
        "SELECT id, content, tool_name, tool_calls FROM messages WHERE id > ?1 ORDER BY id LIMIT ?2",
    )?;
    let mut insert = connection.prepare_cached("INSERT INTO message_pairs (rowid, pairs) VALUES (?1, ?2)")?;
    let (mut last, mut rows) = (from, 0);
    let mut found = statement.query([from, BATCH])?;
    while let Some(read) = found.next()? {
        (last, rows) = (read.get(0)?, rows + 1);
        if (1..4).all(|column| is_plain(read, column)) {
            continue;
        }
        let tokens = indexed(&words_of(read, 1)?);
        if !tokens.is_empty() {
            insert.execute(params![last, tokens])?;
        }
    }
    if rows > 0 {
        crate::sqlite::sessions::set_meta(connection, SEEN, Some(&last.to_string()))?;
    }
    Ok((last, rows == BATCH))
}

/// ASCII without escapes: there is nothing in it for this index.
fn is_plain(read: &Row<'_>, column: usize) -> bool {
    match read.get_ref(column) {
        Ok(rusqlite::types::ValueRef::Text(text)) => {
            text.is_ascii() && !text.windows(2).any(|two| two == b"\\u")
        }
        Ok(rusqlite::types::ValueRef::Null) => true,
        _ => false,
    }
}

/// Makes the index anew, empty; [`catch_up`] fills it again. A damaged one can be dropped, not emptied.
pub(crate) fn recreate(connection: &Connection) -> Result<()> {
    connection.execute_batch(&format!("DROP TABLE IF EXISTS message_pairs; {TABLE}"))?;
    crate::sqlite::sessions::set_meta(connection, SEEN, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_become_pairs_and_words_that_touch_them_are_kept() {
        assert_eq!(indexed("plain words only"), "");
        assert_eq!(indexed("我们去广西"), "我们 们去 去广 广西 西 ");
        assert_eq!(indexed("use 使用Docker部署 now"), "使用 用 docker 部署 署 ");
        assert_eq!(indexed("검색 시험"), "검색 색 시험 험 ");
    }
}
