//! Finds text in project files that tries to command the model.
//!
//! A file that arrives with a repository is read before the person has seen it.
//! One match and none of it enters the prompt: a false alarm costs a look at the
//! file, a miss costs the machine. The ids are those Hermes prints.

use std::sync::LazyLock;

use regex::RegexSet;
use unicode_normalization::UnicodeNormalization;

/// Only this much of a file is looked at.
const LONGEST_SCAN: usize = 65_536;
/// This many words may stand where a phrase has `~`.
const LONGEST_GAP: usize = 8;

/// Id and phrase: alternatives for each word, `~` for a few words in between. A
/// phrase never reaches over the end of a sentence.
const PHRASES: &[(&str, &str)] = &[
    (
        "prompt_injection",
        "ignore|forget|disregard|override ~ previous|prior|above|earlier|preceding|foregoing ~ instruction|instructions|prompt|prompts|directions|rules|messages|context",
    ),
    (
        "prompt_injection",
        "ignore all|any|every|your ~ instruction|instructions|guidelines",
    ),
    (
        "role_hijack",
        "you are now a|an|the|dan|called|unrestricted|jailbroken ~ model|assistant|ai|agent|bot|persona|hacker|character|mode|dan",
    ),
    ("role_hijack", "you are now dan|unrestricted|jailbroken|free"),
    (
        "role_hijack",
        "you are no longer ~ assistant|ai|agent|bound|hermes|talaria|claude",
    ),
    (
        "deception_hide",
        "do not tell|inform|alert|notify ~ user|human|person|operator|owner",
    ),
    (
        "deception_hide",
        "don t tell|inform|alert|notify ~ user|human|person|operator|owner",
    ),
    (
        "deception_hide",
        "never tell|inform|alert|notify ~ user|human|person|operator|owner",
    ),
    (
        "deception_hide",
        "without ~ user|human|person|operator|owner knowing|noticing",
    ),
    ("sys_prompt_override", "system prompt override|update|replacement"),
    ("sys_prompt_override", "new system prompt"),
    (
        "disregard_rules",
        "disregard your|all|any|the ~ instructions|rules|guidelines|policies|training",
    ),
    (
        "bypass_restrictions",
        "act as if|though ~ no|without ~ restrictions|limits|limitations|rules|filters",
    ),
    (
        "remove_filters",
        "remove|disable|bypass|off your|all ~ safety|content|ethical ~ filter|filters|guardrails|restrictions",
    ),
    (
        "leak_system_prompt",
        "reveal|print|output|repeat|show|leak|send your|the system|initial|hidden prompt|instructions",
    ),
    (
        "role_pretend",
        "pretend you|to ~ no|unrestricted|jailbroken|evil ~ rules|limits|restrictions|model|ai|assistant",
    ),
    (
        "identity_override",
        "your real|true|new identity|purpose|instructions is|are",
    ),
    (
        "fake_update",
        "anthropic|openai|nous|google|developers ~ updated|changed|replaced ~ your|these instructions|rules|guidelines|policies",
    ),
    ("translate_execute", "translate ~ and|then execute|eval"),
    (
        "send_to_url",
        "send|post|upload|exfiltrate|forward ~ conversation|context|secrets|credentials|keys|tokens|variables ~ to http|https",
    ),
    (
        "context_exfil",
        "include|append|embed|encode ~ conversation|secrets|credentials|keys ~ url|image|link|query",
    ),
];

/// Id and expression, for what is no sentence.
const SHAPES: &[(&str, &str)] = &[
    (
        "html_comment_injection",
        r"<!--[^>]*\b(?:ignore|override|system prompt|secretly|hidden instruction)",
    ),
    (
        "hidden_div",
        r#"<(?:div|span|p)\b[^>]*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0)"#,
    ),
    (
        "exfil_curl",
        r"\bcurl\b[^\n]*\$\{?[a-z_]*(?:key|token|secret|password|credential|api)",
    ),
    (
        "exfil_wget",
        r"\bwget\b[^\n]*\$\{?[a-z_]*(?:key|token|secret|password|credential|api)",
    ),
    (
        "read_secrets",
        r"\bcat\s+[^\n|;]*(?:\.env\b|\bcredentials\b|\.netrc\b|\.pgpass\b|\.npmrc\b|\.pypirc\b)",
    ),
];

/// Ids of what was found, each once; empty when the text is harmless.
pub fn scan(text: &str) -> Vec<&'static str> {
    let text = beginning(text);
    let normal = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc()
            .filter(|c| !is_invisible(*c))
            .collect::<String>()
            .to_ascii_lowercase()
    };
    let words = words(&normal);
    let phrases = PHRASES
        .iter()
        .filter(|(_, phrase)| is_said(phrase, &words))
        .map(|(id, _)| *id);
    let mut ids: Vec<&'static str> = phrases.chain(shapes(&normal)).collect();
    if !text.is_ascii() && hides(text) {
        ids.push("invisible_unicode");
    }
    ids.dedup();
    ids
}

fn shapes(normal: &str) -> Vec<&'static str> {
    static SET: LazyLock<Option<RegexSet>> =
        LazyLock::new(|| RegexSet::new(SHAPES.iter().map(|(_, shape)| shape)).ok());
    let Some(set) = SET.as_ref() else {
        return Vec::new();
    };
    set.matches(normal)
        .iter()
        .filter_map(|index| SHAPES.get(index))
        .map(|(id, _)| *id)
        .collect()
}

/// The words of a text; an empty one stands for the end of a sentence.
fn words(normal: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for sentence in normal
        .split_inclusive(['.', '!', '?', ';'])
        .flat_map(|part| part.split("\n\n"))
    {
        words.extend(
            sentence
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| !word.is_empty()),
        );
        words.push("");
    }
    words
}

fn is_said(phrase: &str, words: &[&str]) -> bool {
    let steps: Vec<&str> = phrase.split(' ').collect();
    (0..words.len()).any(|start| follows(&steps, &words[start..]))
}

fn follows(steps: &[&str], words: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return true;
    };
    if *step == "~" {
        let longest = words
            .iter()
            .take(LONGEST_GAP)
            .take_while(|word| !word.is_empty())
            .count();
        return (0..=longest).any(|gap| follows(rest, &words[gap..]));
    }
    let Some((word, later)) = words.split_first() else {
        return false;
    };
    !word.is_empty() && step.split('|').any(|alternative| alternative == *word) && follows(rest, later)
}

/// Marks that cannot be seen and change what is read: zero-width and direction.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{2062}'..='\u{2064}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Whether such marks stand where they join nothing.
fn hides(text: &str) -> bool {
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        // Emoji and several scripts join and part their signs with these two;
        // next to ASCII they only hide something.
        let joins = matches!(c, '\u{200c}' | '\u{200d}') && !before.is_ascii() && !after.is_ascii();
        if is_invisible(c) && !joins {
            return true;
        }
        before = c;
    }
    false
}

fn beginning(text: &str) -> &str {
    if text.len() <= LONGEST_SCAN {
        return text;
    }
    let mut end = LONGEST_SCAN;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
