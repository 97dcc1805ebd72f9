//! Reads what a model answered as a summary, and refuses what is none.

use talaria_types::{Completion, FinishReason, MessageId};

use super::briefs::clip;
use super::strings::{
    ANCHORS_HEADING, ANY_SUMMARY_TAG, END_MARKER, HEADINGS, LEGACY_SUMMARY_TAG, TODO_HEADER,
};

/// Fewer characters under the headings tell nothing.
const SHORTEST: usize = 20;
/// An answer without the headings must be at least this long to be taken as one section.
const SHORTEST_FREE: usize = 200;
/// The task is quoted up to this many characters; the request itself follows in full.
const QUOTED_TASK: usize = 300;

/// Why an answer is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// It calls tools, which nobody offered; none is run.
    #[error("the summary model called a tool instead of answering")]
    ToolCall,
    /// The provider or the model declined.
    #[error("the summary model declined to answer")]
    Refused,
    /// It was cut at the output limit.
    #[error("the summary was cut at the output limit")]
    Truncated,
    /// Nothing, or only thoughts.
    #[error("the summary was empty")]
    Empty,
    /// No summary: too short, bare headings, or a remark.
    #[error("the answer was no summary: {0:?}")]
    NoSummary(String),
    /// Applying it would free nothing.
    #[error("the summary is not shorter than what it replaces ({after} of {before} tokens)")]
    LongerThanReplaced {
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
    },
}

/// The thirteen sections of a summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sections {
    texts: [String; HEADINGS.len()],
}

impl Sections {
    /// Reads sections under headings in any of the shapes models write them in.
    /// Says how many were found.
    pub(super) fn parse(text: &str) -> (Self, usize) {
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        let known = headings.iter().filter(|line| heading_of(line).is_some()).count();
        // Thirteen headings in another language are the thirteen sections.
        let by_place = known < 3 && headings.len() == HEADINGS.len();
        let mut sections = Self::default();
        let (mut current, mut found) = (None, 0);
        for line in text.lines() {
            let place = if by_place && line.starts_with("## ") {
                Some(found)
            } else {
                heading_of(line)
            };
            match place {
                Some(place) => {
                    current = Some(place);
                    found += 1;
                }
                None if line.trim() == ANCHORS_HEADING => current = None,
                None => {
                    if let Some(section) = current.and_then(|place: usize| sections.texts.get_mut(place)) {
                        section.push_str(line);
                        section.push('\n');
                    }
                }
            }
        }
        for section in &mut sections.texts {
            *section = section.trim().to_owned();
        }
        (sections, found)
    }

    /// All of them under their headings, `None` under those that tell nothing.
    pub(super) fn render(&self) -> String {
        let blocks: Vec<String> = HEADINGS
            .iter()
            .zip(&self.texts)
            .map(|(heading, text)| format!("## {heading}\n{}", if text.is_empty() { "None" } else { text }))
            .collect();
        blocks.join("\n\n")
    }

    pub(super) fn get(&self, heading: &str) -> &str {
        let place = HEADINGS.iter().position(|known| *known == heading);
        place
            .and_then(|place| self.texts.get(place))
            .map_or("", String::as_str)
    }

    pub(super) fn set(&mut self, heading: &str, text: impl Into<String>) {
        let place = HEADINGS.iter().position(|known| *known == heading);
        if let Some(section) = place.and_then(|place| self.texts.get_mut(place)) {
            *section = text.into();
        }
    }

    /// The newest request is known without a model: it opens the active task, unless
    /// the model has it there. A placeholder never stays. `request` is empty when
    /// the last request was answered.
    pub(super) fn set_active_task(&mut self, request: &str) {
        let told = self.get("Active Task").to_owned();
        let told = if is_placeholder(&told) {
            String::new()
        } else {
            told
        };
        let request = talaria_redact::redact(request)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let start: String = request.chars().take(40).collect();
        let has_it = told
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(&start);
        let task = match (request.is_empty(), told.is_empty()) {
            (true, _) => told,
            (false, true) => format!("User asked: \"{}\"", clip(&request, QUOTED_TASK)),
            (false, false) if has_it => told,
            (false, false) => format!("User asked: \"{}\"\n{told}", clip(&request, QUOTED_TASK)),
        };
        self.set("Active Task", task);
    }

    fn told(&self) -> usize {
        let told = self.texts.iter().filter(|text| !is_placeholder(text));
        told.map(|text| text.chars().count()).sum()
    }
}

fn is_placeholder(text: &str) -> bool {
    let bare = text
        .trim()
        .trim_matches(|c: char| "[](){}<>*_`\"'.…-– ".contains(c))
        .to_lowercase();
    matches!(
        bare.as_str(),
        "" | "none" | "n/a" | "na" | "tbd" | "todo" | "unknown" | "nothing" | "无" | "なし" | "없음"
    )
}

/// Which section a line opens.
fn heading_of(line: &str) -> Option<usize> {
    let line = line.trim();
    if !line.starts_with('#') && !line.starts_with("**") {
        return None;
    }
    let bare = line.trim_matches(|c: char| matches!(c, '#' | '*' | ':' | ' ' | '.') || c.is_ascii_digit());
    let bare = bare.strip_prefix("Historical ").unwrap_or(bare);
    let bare = match bare {
        "Task Snapshot" => "Active Task",
        "In-Progress State" => "In Progress",
        other => other,
    };
    HEADINGS.iter().position(|known| known.eq_ignore_ascii_case(bare))
}

/// The sections of an answer, masked and cleaned, or why it is not used.
pub(super) fn read(answer: &Completion, citable: &[MessageId]) -> Result<Sections, Rejected> {
    if !answer.tool_calls.is_empty() {
        return Err(Rejected::ToolCall);
    }
    match answer.finish {
        FinishReason::Refused => return Err(Rejected::Refused),
        FinishReason::Length | FinishReason::WindowExceeded => return Err(Rejected::Truncated),
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Other(_) => {}
    }
    let text = without_thinking(&answer.text);
    if text.trim().is_empty() {
        return Err(Rejected::Empty);
    }
    let text = talaria_redact::redact(&text);
    let text = super::summarize::without_media(&text);
    let text = without_unknown_ids(&without_frame(&text), citable);
    let (mut sections, found) = Sections::parse(&text);
    if found < 3 {
        if text.chars().count() < SHORTEST_FREE || declines(&text) {
            return Err(Rejected::NoSummary(clip(text.trim(), 120)));
        }
        sections = Sections::default();
        sections.set("Critical Context", text.trim());
    }
    if sections.told() < SHORTEST {
        return Err(Rejected::NoSummary(clip(text.trim(), 120)));
    }
    Ok(sections)
}

/// A remark about the task instead of its result.
fn declines(text: &str) -> bool {
    let start: String = text
        .trim_start()
        .chars()
        .take(80)
        .collect::<String>()
        .to_lowercase();
    [
        "i'm sorry",
        "i am sorry",
        "i cannot",
        "i can't",
        "there is no conversation",
        "as an ai",
        "抱歉",
        "申し訳",
    ]
    .iter()
    .any(|refusal| start.starts_with(refusal))
}

/// Leaves out lines that only the program may write.
fn without_frame(text: &str) -> String {
    let framed = |line: &&str| {
        ![ANY_SUMMARY_TAG, LEGACY_SUMMARY_TAG, END_MARKER, TODO_HEADER]
            .iter()
            .any(|own| line.contains(own))
    };
    text.lines().filter(framed).collect::<Vec<_>>().join("\n")
}

/// Tags in which models think aloud.
const THINKING: [&str; 5] = [
    "think",
    "thinking",
    "reasoning",
    "thought",
    "reasoning_scratchpad",
];

/// The text without thoughts that a model wrote into its answer. An opening tag
/// that is never closed takes the rest with it.
pub(super) fn without_thinking(text: &str) -> String {
    if !text.contains('<') {
        return text.to_owned();
    }
    let mut visible = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        visible.push_str(&rest[..at]);
        rest = &rest[at..];
        let opened = THINKING.iter().find(|tag| {
            rest.get(1..=tag.len() + 1)
                .is_some_and(|start| start[..tag.len()].eq_ignore_ascii_case(tag) && start.ends_with('>'))
        });
        let Some(tag) = opened else {
            visible.push('<');
            rest = &rest[1..];
            continue;
        };
        let closing = format!("</{tag}>");
        let lower = rest.to_ascii_lowercase();
        match lower.find(&closing) {
            Some(end) => rest = rest[end + closing.len()..].trim_start(),
            None if visible.trim().is_empty() => return String::new(),
            None => {
                visible.push('<');
                rest = &rest[1..];
            }
        }
    }
    visible.push_str(rest);
    visible
}

/// Ids that a text cites.
pub(super) fn cited(text: &str) -> impl Iterator<Item = MessageId> + '_ {
    text.match_indices("[m:")
        .filter_map(|(at, _)| id_at(text, at).map(|(id, _)| id))
}

/// The id cited at `at` and where its citation ends.
fn id_at(text: &str, at: usize) -> Option<(MessageId, usize)> {
    let end = at + text[at..].find(']')? + 1;
    text[at..end].parse().ok().map(|id| (id, end))
}

/// Drops citations that lead nowhere.
fn without_unknown_ids(text: &str, citable: &[MessageId]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (at, _) in text.match_indices("[m:") {
        if let Some((id, end)) = id_at(text, at)
            && at >= from
            && citable.binary_search(&id).is_err()
        {
            kept.push_str(text[from..at].trim_end_matches(' '));
            from = end;
        }
    }
    kept.push_str(&text[from..]);
    kept
}
