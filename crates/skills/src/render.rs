//! The index as the system prompt holds it.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::Entry;

/// The longest description in the index; the skill itself has all of it.
const SHOWN: usize = 60;
/// Characters the list may take. Beyond, descriptions go first, then names.
const MOST: usize = 12_000;
/// The same in a small window.
const MOST_COMPACT: usize = 1_200;

const HEAD: &str = "\
## Skills (mandatory)
Before you answer, look through the skills below. When one fits the task even partly, load it with skill_view(name) and \
follow it. When one you used was wrong or lacked something, patch it with skill_manage before you finish.
<available_skills>
";
const HEAD_COMPACT: &str =
    "## Skills\nIf one fits, load it with skill_view(name) and follow it.\n<available_skills>\n";
const TAIL: &str = "</available_skills>\nOnly if none of them fits, go on without one.";

/// The block of these skills; empty when there are none.
pub(crate) fn block(entries: &[&Entry], compact: bool) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut categories: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        categories.entry(&entry.category).or_default().push(entry);
    }
    for skills in categories.values_mut() {
        skills.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let most = if compact { MOST_COMPACT } else { MOST };
    // Weighed before they are written: thousands of descriptions take their time.
    let names: usize = entries.iter().map(|entry| entry.name.len() + 2).sum();
    let described: usize = entries
        .iter()
        .map(|entry| entry.description.len().min(SHOWN) + 8)
        .sum();
    let list = if names + described <= most {
        whole(&categories)
    } else if names + 16 * categories.len() <= most {
        names_only(&categories)
    } else {
        counts(&categories, most)
    };
    format!("{}{list}{TAIL}", if compact { HEAD_COMPACT } else { HEAD })
}

type Categories<'a> = BTreeMap<&'a str, Vec<&'a Entry>>;

fn whole(categories: &Categories<'_>) -> String {
    let mut text = String::new();
    for (category, skills) in categories {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "  {category}:");
        for skill in skills {
            let _ = writeln!(text, "    - {}: {}", skill.name, shown(&skill.description));
        }
    }
    text
}

fn names_only(categories: &Categories<'_>) -> String {
    let mut text = String::from("  (too many to describe; skills_list(category) describes them)\n");
    for (category, skills) in categories {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let _ = writeln!(text, "  {category}: {}", names.join(", "));
    }
    text
}

fn counts(categories: &Categories<'_>, most: usize) -> String {
    let mut text =
        String::from("  (too many to list; skills_list(category) or skills_list(query) finds them)\n");
    for (place, (category, skills)) in categories.iter().enumerate() {
        let line = format!("  {category}: {} skills\n", skills.len());
        if text.len() + line.len() > most {
            let _ = writeln!(text, "  and {} more categories", categories.len() - place);
            break;
        }
        text.push_str(&line);
    }
    text
}

/// A description as it may stand in a prompt: short, and no command to the model.
fn shown(description: &str) -> String {
    let text = crate::entry::cut(description, SHOWN);
    if !talaria_context::prompt::scan(&text).is_empty() {
        return "[BLOCKED: its description looks like a prompt injection]".to_owned();
    }
    if text.len() < description.len() {
        format!("{}...", text.trim_end())
    } else {
        text
    }
}
