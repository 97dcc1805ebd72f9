//! One line that stands in for an old tool result.
//!
//! A tool writes its own brief when it runs. Rows that were written by Hermes have
//! none; for those the line is made here, by the tool's name, from the call's
//! arguments and the result. The shapes are protocol.

use serde_json::{Map, Value};
use talaria_types::Message;

use crate::compose::repair_arguments;

/// No brief is longer, in characters.
const LONGEST: usize = 200;

/// What a result is told by.
struct Seen<'a> {
    tool: &'a str,
    arguments: Map<String, Value>,
    text: &'a str,
}

type Shape = fn(&Seen<'_>) -> String;

/// The line's shape by the tool's name; a row ends the table.
const SHAPES: &[(&[&str], Shape)] = &[
    (&["terminal"], terminal),
    (&["read_file"], read_file),
    (&["write_file"], write_file),
    (&["search_files"], search_files),
    (&["patch"], patch),
    (
        &[
            "browser_navigate",
            "browser_click",
            "browser_snapshot",
            "browser_type",
            "browser_scroll",
            "browser_vision",
        ],
        browser,
    ),
    (&["web_search"], web_search),
    (&["web_extract"], web_extract),
    (&["delegate_task"], delegate_task),
    (&["execute_code"], execute_code),
    (&["skill_view", "skills_list", "skill_manage"], skill),
    (&["vision_analyze"], vision_analyze),
    (&["memory"], memory),
    (&["todo"], |_| "[todo] updated task list".to_owned()),
    (&["clarify"], |_| "[clarify] asked user a question".to_owned()),
    (&["text_to_speech"], |seen| {
        format!("[text_to_speech] generated audio ({} chars)", seen.size())
    }),
    (&["cronjob"], |seen| {
        format!("[cronjob] {}", seen.word("action", "?"))
    }),
    (&["process"], process),
];

/// The line for a result: the tool's own, or one made from what is known.
pub fn brief(result: &Message, arguments: &str) -> String {
    if let Some(own) = result.brief.as_deref().filter(|own| !own.trim().is_empty()) {
        return clip(own, LONGEST);
    }
    let text = super::rows::text_of(&result.content);
    let tool = result
        .tool_name
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or("tool");
    let arguments = match serde_json::from_str(repair_arguments(arguments).text()) {
        Ok(Value::Object(members)) => members,
        Ok(_) | Err(_) => Map::new(),
    };
    let seen = Seen {
        tool,
        arguments,
        text: &text,
    };
    let shape = SHAPES
        .iter()
        .find(|(names, _)| names.contains(&tool))
        .map_or(other as Shape, |(_, shape)| *shape);
    clip(&shape(&seen), LONGEST)
}

impl Seen<'_> {
    /// An argument in one line of words, or `missing`.
    fn word(&self, key: &str, missing: &str) -> String {
        match self.arguments.get(key) {
            None | Some(Value::Null) => missing.to_owned(),
            Some(value) => plain(value),
        }
    }

    /// Characters of the result, with thousands separators.
    fn size(&self) -> String {
        grouped(self.text.chars().count())
    }

    /// Lines of the output. A result that is JSON on one line holds them escaped.
    fn lines(&self) -> usize {
        let text = self.text.trim();
        if text.is_empty() {
            return 0;
        }
        let breaks = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        let escaped = if breaks == 0 {
            memchr::memmem::find_iter(text.as_bytes(), b"\\n").count()
        } else {
            0
        };
        breaks + escaped + 1
    }

    /// A whole number that the result gives under `key`.
    fn number(&self, key: &str) -> Option<&str> {
        let quoted = format!("\"{key}\"");
        let at = self.text.find(&quoted)? + quoted.len();
        let rest = self.text[at..].trim_start().strip_prefix(':')?.trim_start();
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '-')
            .unwrap_or(rest.len());
        Some(&rest[..end]).filter(|digits| !digits.is_empty())
    }
}

fn terminal(seen: &Seen<'_>) -> String {
    let command = clip(&seen.word("command", "?"), 80);
    let code = seen.number("exit_code").unwrap_or("?");
    format!(
        "[terminal] ran `{command}` -> exit {code}, {} lines output",
        seen.lines()
    )
}

fn read_file(seen: &Seen<'_>) -> String {
    let (path, from) = (seen.word("path", "?"), seen.word("offset", "1"));
    format!("[read_file] read {path} from line {from} ({} chars)", seen.size())
}

fn write_file(seen: &Seen<'_>) -> String {
    let lines = match seen.arguments.get("content") {
        Some(Value::String(text)) => text.lines().count().to_string(),
        Some(_) | None => "?".to_owned(),
    };
    format!("[write_file] wrote to {} ({lines} lines)", seen.word("path", "?"))
}

fn search_files(seen: &Seen<'_>) -> String {
    let (target, pattern) = (seen.word("target", "content"), seen.word("pattern", "?"));
    let hits = seen.number("total_count").unwrap_or("?");
    format!(
        "[search_files] {target} search for '{pattern}' in {} -> {hits} matches",
        seen.word("path", ".")
    )
}

fn patch(seen: &Seen<'_>) -> String {
    let (mode, path) = (seen.word("mode", "replace"), seen.word("path", "?"));
    format!("[patch] {mode} in {path} ({} chars result)", seen.size())
}

fn browser(seen: &Seen<'_>) -> String {
    let place = match seen.arguments.get("url") {
        Some(url) => plain(url),
        None => format!("ref={}", seen.word("ref", "?")),
    };
    format!("[{}] {place} ({} chars)", seen.tool, seen.size())
}

fn web_search(seen: &Seen<'_>) -> String {
    format!(
        "[web_search] query='{}' ({} chars result)",
        seen.word("query", "?"),
        seen.size()
    )
}

fn web_extract(seen: &Seen<'_>) -> String {
    let urls = seen.arguments.get("urls").and_then(Value::as_array);
    let first = urls.and_then(|urls| urls.first());
    let first = first.map_or_else(
        || "?".to_owned(),
        |url| plain(url.get("url").or_else(|| url.get("href")).unwrap_or(url)),
    );
    let more = urls.map_or(0, |urls| urls.len().saturating_sub(1));
    let more = if more > 0 {
        format!(" (+{more} more)")
    } else {
        String::new()
    };
    format!("[web_extract] {first}{more} ({} chars)", seen.size())
}

fn delegate_task(seen: &Seen<'_>) -> String {
    format!(
        "[delegate_task] '{}' ({} chars result)",
        clip(&seen.word("goal", "?"), 60),
        seen.size()
    )
}

fn execute_code(seen: &Seen<'_>) -> String {
    format!(
        "[execute_code] `{}` ({} lines output)",
        clip(&seen.word("code", "?"), 63),
        seen.lines()
    )
}

fn skill(seen: &Seen<'_>) -> String {
    format!(
        "[{}] name={} ({} chars)",
        seen.tool,
        seen.word("name", "?"),
        seen.size()
    )
}

fn vision_analyze(seen: &Seen<'_>) -> String {
    let question: String = seen.word("question", "?").chars().take(50).collect();
    format!("[vision_analyze] '{question}' ({} chars)", seen.size())
}

fn memory(seen: &Seen<'_>) -> String {
    format!(
        "[memory] {} on {}",
        seen.word("action", "?"),
        seen.word("target", "memory")
    )
}

fn process(seen: &Seen<'_>) -> String {
    format!(
        "[process] {} session={}",
        seen.word("action", "?"),
        seen.word("session_id", "?")
    )
}

fn other(seen: &Seen<'_>) -> String {
    let told: String = seen
        .arguments
        .iter()
        .take(2)
        .map(|(key, value)| format!("{key}={} ", plain(value).chars().take(40).collect::<String>()))
        .collect();
    format!("[{}] {told}({} chars result)", seen.tool, seen.size())
}

/// A value in one line.
fn plain(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.contains(['\n', '\r']) {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        text
    }
}

/// At most `limit` characters; what is longer ends in three dots.
pub(super) fn clip(text: &str, limit: usize) -> String {
    if text.len() <= limit || text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut clipped: String = text.chars().take(limit.saturating_sub(3)).collect();
    clipped.push_str("...");
    clipped
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
