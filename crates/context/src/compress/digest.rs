//! A summary without a model, for when none can be had and the history cannot
//! be sent as it is.
//!
//! The same thirteen sections, filled by rule: what was asked, what was called and
//! came of it, what failed, which files were named, the last things said. It
//! says that it is one.

use super::anchors;
use super::briefs::clip;
use super::reply::Sections;
use super::strings::HEADINGS;
use super::summarize::Record;
use talaria_types::Role;

/// The longest digest, in characters.
const LONGEST: usize = 8_000;
/// Characters of one quoted turn.
const TURN: usize = 700;

/// What a digest is written from.
pub(super) fn digest(
    record: &[Record],
    previous: Option<&str>,
    request: &str,
    why: &str,
    tokens: u64,
) -> Sections {
    let (mut sections, _) = Sections::parse(previous.unwrap_or_default());
    let longest = LONGEST.min(usize::try_from(tokens).unwrap_or(LONGEST).saturating_mul(4));
    let share = |percent: usize| longest * percent / 100;
    let users = said_by(record, Role::User);
    if sections.get("Goal").is_empty()
        && let Some(first) = users.first()
    {
        sections.set(
            "Goal",
            format!("The conversation began with: \"{}\"", clip(first, share(6))),
        );
    }
    let constraints = bullets(&anchors::constraints(record), share(10));
    let earlier = sections.get("Completed Actions").to_owned();
    let decisions = "Not known: this summary was built without a model.";
    append(&mut sections, "Constraints & Preferences", &constraints);
    append(
        &mut sections,
        "Completed Actions",
        &actions(record, &earlier, share(25)),
    );
    append(
        &mut sections,
        "Blocked",
        &bullets(&last(anchors::errors(record), 5), share(12)),
    );
    if sections.get("Key Decisions").is_empty() {
        sections.set("Key Decisions", decisions);
    }
    let asks: Vec<String> = users
        .iter()
        .rev()
        .take(3)
        .rev()
        .map(|text| format!("\"{}\"", clip(text, 260)))
        .collect();
    sections.set(
        "Pending User Asks",
        format!("The last things the user said:\n{}", bullets(&asks, share(10))),
    );
    append(
        &mut sections,
        "Relevant Files",
        &bullets(&last(anchors::files(record), 12), share(8)),
    );
    let turns = last_turns(record, share(25));
    let context = format!(
        "This summary was built by rule, without a model ({}); {} messages are behind it. Look into them before \
         relying on it.\n{turns}",
        clip(&talaria_redact::redact(why), 220),
        record.len()
    );
    append(&mut sections, "Critical Context", &context);
    bound(&mut sections, 2 * longest);
    sections.set_active_task(request);
    sections
}

/// A digest of a digest of a digest must not fill the window: of the longest section
/// the oldest lines go. A model's summary below one digest stays whole.
fn bound(sections: &mut Sections, most: usize) {
    loop {
        let size = |heading: &&str| sections.get(heading).len();
        let total: usize = HEADINGS.iter().map(size).sum();
        let longest = HEADINGS.iter().max_by_key(|heading| size(heading)).copied();
        let Some(heading) = longest.filter(|_| total > most) else {
            return;
        };
        let text = sections.get(heading);
        let left = match text.split_once('\n') {
            Some((_, newer)) => newer.to_owned(),
            // Half of it, by characters; a short rest is no loss.
            None if text.len() > 80 => text.chars().take(text.chars().count() / 2).collect(),
            None => String::new(),
        };
        sections.set(heading, left);
    }
}

fn append(sections: &mut Sections, heading: &str, text: &str) {
    let old = sections.get(heading);
    let joined = match (old.is_empty() || old == "None", text.is_empty()) {
        (true, _) => text.to_owned(),
        (false, true) => old.to_owned(),
        (false, false) => format!("{old}\n{text}"),
    };
    sections.set(heading, joined);
}

fn said_by(record: &[Record], role: Role) -> Vec<&str> {
    let said = record
        .iter()
        .filter(|row| row.role == role)
        .map(|row| row.text.trim());
    said.filter(|text| !text.is_empty()).collect()
}

fn last(mut lines: Vec<String>, count: usize) -> Vec<String> {
    let from = lines.len().saturating_sub(count);
    lines.drain(..from);
    lines
}

fn bullets(lines: &[String], longest: usize) -> String {
    let mut text = String::new();
    for line in lines {
        if text.len() + line.len() + 3 > longest {
            break;
        }
        text.push_str("- ");
        text.push_str(line);
        text.push('\n');
    }
    text.trim_end().to_owned()
}

/// The last calls with what came of them, numbered on from what is there.
fn actions(record: &[Record], earlier: &str, longest: usize) -> String {
    let number = earlier
        .lines()
        .filter_map(|line| line.split_once('.')?.0.trim().parse::<usize>().ok())
        .max();
    let results = record
        .iter()
        .enumerate()
        .filter(|(_, row)| row.role == Role::Tool);
    let mut lines: Vec<String> = results.map(|(at, row)| outcome(row, &record[..at])).collect();
    let all = lines.len();
    lines = last(lines, 12);
    let mut text = String::new();
    let first = number.unwrap_or(0) + 1;
    if all > lines.len() {
        text.push_str(&format!("({} earlier calls are not listed)\n", all - lines.len()));
    }
    for (index, line) in lines.iter().enumerate() {
        if text.len() + line.len() > longest {
            break;
        }
        text.push_str(&format!("{}. {line}\n", first + index));
    }
    text.trim_end().to_owned()
}

fn outcome(result: &Record, before: &[Record]) -> String {
    if let Some(brief) = &result.brief {
        return brief.clone();
    }
    let call = before
        .iter()
        .rev()
        .flat_map(|row| &row.calls)
        .find(|call| Some(&call.id) == result.answers.as_ref());
    let arguments = call.map_or("{}", |call| call.arguments.as_str());
    let tool = result
        .tool
        .as_deref()
        .or(call.map(|call| call.name.as_str()))
        .unwrap_or("tool");
    super::brief(
        &talaria_types::Message::tool("", tool, result.text.as_str()),
        arguments,
    )
}

/// The last things said, newest last.
fn last_turns(record: &[Record], longest: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut size = 0;
    let spoken = record
        .iter()
        .rev()
        .filter(|row| row.role != Role::Tool && !row.text.trim().is_empty());
    for row in spoken.take(8) {
        let words = row.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = format!(
            "{} [{}]: {}",
            row.role.as_str(),
            row.id,
            clip(&words, TURN.min(longest / 3))
        );
        size += line.len();
        if size > longest {
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}
