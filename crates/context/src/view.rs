//! Shows what fills the window, and how far it is to the next compression.
//!
//! Why: a person who is told "the context is 71 % full" cannot act on it; one who
//! sees that tool results take half of it can. The parts are counted here and scaled
//! to what the provider reported, so that they add up to the size the compression
//! decides on.
//!
//! Not here: reading sessions, and what the meter means ([`crate::meter`]).

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use talaria_types::{Message, ModelRequest, Role, Usage};

use crate::compress::{ANCHORS_HEADING, END_MARKER, TODO_HEADER, is_summary};
use crate::meter::WindowPlan;
use crate::tokens::{Counter, IMAGE_TOKENS};

/// Columns of the bar.
const BAR: u64 = 64;
/// Headers of the memory blocks in a system prompt.
const MEMORY_HEADERS: [&str; 2] = ["MEMORY (your personal notes)", "USER PROFILE (who the user is)"];
/// What follows the memory blocks.
const LAST_LINES: &str = "\nConversation started: ";

/// One kind of thing in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The system prompt without memory.
    System,
    /// The schemas of the tools.
    Tools,
    /// MEMORY.md and USER.md in the system prompt.
    Memory,
    /// The summary of what is hidden.
    Summary,
    /// The list of facts behind the summary.
    Anchors,
    /// What the person said.
    User,
    /// What the model said.
    Assistant,
    /// Calls of tools.
    ToolCalls,
    /// What tools answered.
    ToolResults,
    /// Pictures.
    Images,
}

impl Part {
    const ALL: [(Self, char, &'static str); 10] = [
        (Self::System, 'S', "system prompt"),
        (Self::Tools, 'T', "tool schemas"),
        (Self::Memory, 'M', "memory"),
        (Self::Summary, 'Σ', "summary"),
        (Self::Anchors, 'A', "anchors"),
        (Self::User, 'u', "your messages"),
        (Self::Assistant, 'a', "answers"),
        (Self::ToolCalls, 'c', "tool calls"),
        (Self::ToolResults, 'r', "tool results"),
        (Self::Images, 'i', "images"),
    ];
}

/// What one kind takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The kind.
    pub part: Part,
    /// Its tokens, in the provider's count as far as known.
    pub tokens: u64,
    /// How many messages hold some of it.
    pub messages: u64,
}

/// What a session would send next, by kind, and what that means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextView {
    /// The model's window.
    pub window: u64,
    /// From how many prompt tokens on it is compressed.
    pub trigger: u64,
    /// Prompt tokens of the next request: the provider's last count and what was added since.
    pub tokens: u64,
    /// Whether the provider has counted, or all of it is estimated.
    pub reported: bool,
    /// What they are, in the order of the request; they add up to `tokens`.
    pub parts: Vec<Share>,
    /// Why nothing is compressed by itself at the trigger, when that is so.
    pub paused: Option<String>,
    /// Compressions of the conversation so far.
    pub compressions: u64,
    /// Tokens of the last call, as the provider reported them.
    pub last_call: Option<Usage>,
    /// The part of its prompt that came from the provider's cache, from 0 to 1.
    pub cached_share: Option<f64>,
}

/// Counts a request by kind; the counts are scaled so that they add up to `total`.
pub fn shares(request: &ModelRequest, counter: &Counter, total: u64) -> Vec<Share> {
    let (system, memory) = split_memory(&request.system);
    let mut tally = Tally::default();
    tally.add(Part::System, counter.text(&system));
    tally.add(Part::Memory, counter.text(memory));
    tally.add(Part::Tools, counter.tools(&request.tools));
    for message in &request.messages {
        tally.message(message, counter);
    }
    tally.scaled(total)
}

impl ContextView {
    /// A view; the cached share follows from the last call.
    pub fn new(parts: Vec<Share>, plan: &WindowPlan, tokens: u64, last_call: Option<Usage>) -> Self {
        Self {
            window: plan.window,
            trigger: plan.trigger(),
            tokens,
            reported: false,
            parts,
            paused: None,
            compressions: 0,
            last_call,
            cached_share: last_call
                .filter(|usage| usage.prompt_tokens > 0)
                .map(|usage| usage.cache_read_tokens as f64 / usage.prompt_tokens as f64),
        }
    }

    /// The view as text: a bar of the window, a line a kind, what comes next.
    pub fn render(&self) -> String {
        let mut out = String::new();
        let percent = percent(self.tokens, self.window);
        let measured = if self.reported { "" } else { "about " };
        let _ = writeln!(
            out,
            "{measured}{} of {} tokens, {percent} % of the window",
            grouped(self.tokens),
            grouped(self.window)
        );
        let _ = writeln!(out, "[{}]", self.bar());
        let mark = columns(self.trigger, self.window).min(BAR) as usize;
        let _ = writeln!(out, "{}▲ compression", " ".repeat(mark + 1));
        for (part, letter, name) in Part::ALL {
            let Some(share) = self.parts.iter().find(|share| share.part == part) else {
                continue;
            };
            let _ = write!(
                out,
                "  {letter} {name:<14} {:>11} {:>4} %",
                grouped(share.tokens),
                self::percent(share.tokens, self.window)
            );
            if share.messages > 0 {
                let _ = write!(out, "  in {}", counted(share.messages, "message"));
            }
            out.push('\n');
        }
        let free = self.window.saturating_sub(self.tokens);
        let _ = writeln!(
            out,
            "  · {:<14} {:>11} {:>4} %",
            "free",
            grouped(free),
            self::percent(free, self.window)
        );
        out.push_str(&self.outlook());
        out
    }

    fn outlook(&self) -> String {
        let next = match &self.paused {
            Some(why) => format!("at {}, but {why}", grouped(self.trigger)),
            None if self.tokens >= self.trigger => format!("at {}: due now", grouped(self.trigger)),
            None => format!(
                "at {}, in {} tokens",
                grouped(self.trigger),
                grouped(self.trigger - self.tokens)
            ),
        };
        let mut out = format!(
            "next compression {next}\nso far           {}\n",
            counted(self.compressions, "compression")
        );
        if let (Some(usage), Some(share)) = (self.last_call, self.cached_share) {
            let _ = writeln!(
                out,
                "last call        {} prompt tokens, {} from the cache ({:.0} %), {} out",
                grouped(usage.prompt_tokens),
                grouped(usage.cache_read_tokens),
                share * 100.0,
                grouped(usage.completion_tokens)
            );
        }
        out
    }

    /// One letter a column; what is there is seen, however small.
    fn bar(&self) -> String {
        let mut bar = String::new();
        let (mut drawn, mut sum) = (0, 0);
        for (part, letter, _) in Part::ALL {
            let Some(share) = self.parts.iter().find(|share| share.part == part) else {
                continue;
            };
            sum += share.tokens;
            let until = columns(sum, self.window).max(drawn + 1).min(BAR);
            for _ in drawn..until {
                bar.push(letter);
            }
            drawn = until;
        }
        for _ in drawn..BAR {
            bar.push('·');
        }
        bar
    }
}

#[derive(Default)]
struct Tally {
    shares: Vec<Share>,
}

impl Tally {
    fn add(&mut self, part: Part, tokens: u64) {
        if tokens == 0 {
            return;
        }
        match self.shares.iter_mut().find(|share| share.part == part) {
            Some(share) => share.tokens += tokens,
            None => self.shares.push(Share {
                part,
                tokens,
                messages: 0,
            }),
        }
    }

    fn message(&mut self, message: &Message, counter: &Counter) {
        let before: Vec<u64> = self.shares.iter().map(|share| share.tokens).collect();
        let whole = counter.message(message);
        let images = message.content.images().count() as u64 * IMAGE_TOKENS;
        let calls: u64 = message
            .tool_calls
            .iter()
            .map(|call| counter.text(&call.name) + counter.text(&call.arguments) + 8)
            .sum();
        let said = whole.saturating_sub(images + calls);
        self.add(Part::Images, images);
        self.add(Part::ToolCalls, calls);
        if is_summary(message) {
            let anchors = counter.text(listed(&message.content.text())).min(said);
            self.add(Part::Anchors, anchors);
            self.add(Part::Summary, said - anchors);
        } else {
            let part = match message.role {
                Role::User | Role::System => Part::User,
                Role::Assistant => Part::Assistant,
                Role::Tool => Part::ToolResults,
            };
            self.add(part, said);
        }
        for (at, share) in self.shares.iter_mut().enumerate() {
            share.messages += u64::from(before.get(at) != Some(&share.tokens));
        }
    }

    fn scaled(self, total: u64) -> Vec<Share> {
        let counted: u64 = self.shares.iter().map(|share| share.tokens).sum();
        let mut left = total;
        let mut rest = counted;
        let mut shares: Vec<Share> = Part::ALL
            .iter()
            .filter_map(|(part, _, _)| self.shares.iter().find(|share| share.part == *part).copied())
            .collect();
        // Each takes its share of what is left, so that nothing is lost to rounding.
        for share in &mut shares {
            let of = share.tokens;
            share.tokens = (left as u128 * u128::from(of) / u128::from(rest.max(1))) as u64;
            left -= share.tokens;
            rest -= of;
        }
        shares
    }
}

/// The anchor section of a summary message.
fn listed(text: &str) -> &str {
    let Some(at) = text.find(&format!("\n{ANCHORS_HEADING}\n")) else {
        return "";
    };
    let section = &text[at..];
    let end = [TODO_HEADER, END_MARKER]
        .iter()
        .filter_map(|mark| section.find(mark))
        .min();
    end.map_or(section, |end| &section[..end])
}

/// The system prompt without its memory blocks, and these.
fn split_memory(system: &str) -> (String, &str) {
    let first = MEMORY_HEADERS
        .iter()
        .filter_map(|header| system.find(header))
        .min();
    let Some(header) = first else {
        return (system.to_owned(), "");
    };
    // A rule stands above the header.
    let above = system[..header].trim_end();
    let start = if above.ends_with('═') {
        above.trim_end_matches('═').len()
    } else {
        header
    };
    let end = system[start..]
        .rfind(LAST_LINES)
        .map_or(system.len(), |at| start + at);
    (
        format!("{}{}", &system[..start], &system[end..]),
        &system[start..end],
    )
}

fn columns(tokens: u64, window: u64) -> u64 {
    (tokens * BAR + window / 2) / window.max(1)
}

fn percent(tokens: u64, window: u64) -> u64 {
    (tokens * 100 + window / 2) / window.max(1)
}

fn counted(count: u64, what: &str) -> String {
    match count {
        0 => format!("no {what}"),
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    }
}

/// Thousands set apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
