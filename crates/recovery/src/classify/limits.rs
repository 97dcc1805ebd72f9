//! Reads the numbers of a refusal: window, prompt, output.
//!
//! Every provider has its own sentence, and the order of the numbers differs,
//! so each sentence is a shape with named places. Traps: thousands separators,
//! ranges, sums, lower bounds, the excess instead of the limit, characters,
//! bytes and pages that are no tokens, limits per minute that are no window.

use std::sync::LazyLock;

use regex::Regex;

use super::envelope::Envelope;
use crate::{Limits, RequestFacts};

/// Below this a number is no window (pages, parts, seconds).
const SMALLEST_WINDOW: u64 = 2_000;
/// Above this it is none either (bytes).
const LARGEST_WINDOW: u64 = 20_000_000;
/// What is left free when output is fitted into the room beside the prompt.
const MARGIN: u64 = 64;
/// Fewer output tokens than this are no answer; the account is empty.
const SMALLEST_OUTPUT: u64 = 256;

/// What a text's numbers are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// The prompt is too long.
    Prompt,
    /// Too much output was asked for.
    Output,
}

/// A shape: what it is about and its sentence, `{w}` window, `{p}` prompt,
/// `{o}` output asked for, `{cap}` output allowed, `{n}` any other number.
struct Shape {
    about: About,
    regex: Option<Regex>,
}

/// A number, thousands separators allowed.
const NUMBER: &str = r"\d{1,3}(?:[,_]\d{3})+|\d+";

#[rustfmt::skip] // one shape a line reads as the table it is
const SENTENCES: &[(About, &str)] = &[
    // Output caps first: some of them mention the window, too.
    (About::Output, r"max_(?:completion_|output_)?tokens.{0,3} cannot exceed.*?limit of {cap}"),
    (About::Output, r"max_?(?:completion_|new_|output_)?tokens[^.\[]{0,60}\[\s*{n}\s*,\s*{cap}\s*\]"),
    (About::Output, r"max_(?:completion_|output_)?tokens.{0,3} must be less than or equal to .?{cap}"),
    (About::Output, r"maximum tokens you requested exceeds the model limit of {cap}"),
    (About::Output, r"max_tokens: {n} > {cap}, which is the maximum allowed number of output tokens"),
    (About::Output, r"supports at most {cap} (?:completion|output) tokens"),
    (About::Output, r"maxoutputtokens value of {n} but the supported range is from {n} \(inclusive\) to {past} \(exclusive\)"),
    (About::Output, r"max_tokens.*?available[_ ]tokens[:\s=]+{cap}"),
    (About::Output, r"can only afford {cap}"),
    // Sums: which part is at fault is decided by their sizes.
    (About::Prompt, r"maximum context length (?:is|of) {w} tokens.*?requested {o} output tokens and your prompt contains {chars} characters"),
    (About::Prompt, r"maximum context length (?:is|of) {w} tokens.*?requested {o} output tokens and your prompt contains (?:at least )?{p} input tokens"),
    (About::Prompt, r"maximum context length (?:is|of) {w} tokens.*?requested (?:about )?{n} tokens \((?P<parts>[^)]*)\)"),
    (About::Prompt, r"maximum context length of {w} tokens.*?total of {n} tokens: {p} tokens from the input messages and {o} tokens for the completion"),
    (About::Prompt, r"exceed context limit: {p} \+ {o} > {w}"),
    (About::Prompt, r"model max length exceeded, max length: ?{total}"),
    // The prompt alone.
    (About::Prompt, r"maximum context length (?:is|of) {w} tokens[^(]*? resulted in {p} tokens"),
    (About::Prompt, r"limit of {w} tokens.{0,40} resulted in {p} tokens"),
    (About::Prompt, r"prompt is too long: {p} tokens > {w} maximum"),
    (About::Prompt, r"prompt is too long: {p}, model maximum context length: {w}"),
    (About::Prompt, r"prompt too long: {p} tokens exceeds max context window of {w}"),
    (About::Prompt, r"prompt tokens \({p}\) exceed model maximum \({w}\)"),
    (About::Prompt, r"input token count(?: \({p}\))? exceeds the maximum number of tokens allowed \(?{w}"),
    (About::Prompt, r"input token count is {p} but (?:the )?model only supports up to {w}"),
    (About::Prompt, r"input length {p} exceeds the maximum allowed input length of {w}"),
    (About::Prompt, r"input length \({p}\) exceeds (?:the )?model's maximum context length \({w}\)"),
    (About::Prompt, r"request \({p} tokens\) exceeds the available context size \({w} tokens\)"),
    (About::Prompt, r"keep the first {p} tokens.*?context length of only {w} tokens"),
    (About::Prompt, r"input \({p} tokens\) is longer than the model's context length \({w} tokens\)"),
    // A bound on a sum that the server chose itself, often below the model's window: no window.
    (About::Prompt, r"`max_new_tokens` must be <= {n}\. given: {p} `inputs` tokens"),
    (About::Prompt, r"range of input length should be \[{n}, ?{w}\]"),
    (About::Prompt, r"exceeded model token limit: {w} \(requested: {p}\)"),
    (About::Prompt, r"prompt contains {p} tokens.*?too large for model with {w} maximum context length"),
    (About::Prompt, r"maximum prompt length is {w} but the request contains {p} tokens"),
    (About::Prompt, r"prompt token count of {p} exceeds the limit of {w}"),
    (About::Prompt, r"prompt has {p} tokens, but the configured context size is {w}"),
    (About::Prompt, r"total tokens exceeds the model's max of {w}"),
    // What is left: a limit, and no more.
    (About::Prompt, r"max_model_len[^0-9a-z]{0,4}(?:is |of )?{w}"),
    (About::Prompt, r"max(?:imum)? (?:context|model) (?:length|size|window) (?:is|of|:)? ?(?:only )?{w}"),
    (About::Prompt, r"context (?:length|size|window|limit)(?: limit)?(?: is| of|:)? ?{w} tokens"),
];

static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    SENTENCES
        .iter()
        .map(|(about, sentence)| Shape {
            about: *about,
            regex: compile(sentence),
        })
        .collect()
});

static BYTES: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    [
        r"total message size {n} exceeds limit {b}",
        r"{n} bytes > {b} bytes",
        r"payload is below[^0-9]{0,40}{b} bytes",
        r"payload is below.*?\({b} bytes\)",
        r"size exceeds the limit of {b} bytes",
    ]
    .iter()
    .map(|sentence| compile(sentence))
    .collect()
});

static PART: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(&format!("({NUMBER}) ([^,;]*)")).ok());

fn compile(sentence: &str) -> Option<Regex> {
    let mut pattern = sentence.replace("{n}", &format!("(?:{NUMBER})"));
    for place in ["w", "p", "o", "cap", "past", "chars", "total", "b"] {
        pattern = pattern.replace(&format!("{{{place}}}"), &format!("(?P<{place}>{NUMBER})"));
    }
    Regex::new(&format!("(?s){pattern}")).ok()
}

/// What the numbers of a text say, and about what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) limits: Limits,
    pub(super) about: Option<About>,
}

/// Reads the lower-cased text of an error.
///
/// Limits per minute are no windows, so a text about them is not read at all.
pub(super) fn read(lower: &str, envelope: &Envelope, request: &RequestFacts) -> Reading {
    let mut reading = Reading::default();
    reading.limits.bytes = BYTES
        .iter()
        .flatten()
        .find_map(|regex| regex.captures(lower).and_then(|found| number(&found, "b")));
    if lower.contains("tokens per min") || lower.contains("(tpm)") || lower.contains("tpm rate limit") {
        return reading;
    }
    for shape in SHAPES.iter() {
        if let Some(found) = shape.regex.as_ref().and_then(|regex| regex.captures(lower)) {
            let bytes = reading.limits.bytes;
            reading = weigh(shape.about, &found, request);
            reading.limits.bytes = bytes;
            break;
        }
    }
    structured(envelope, &mut reading);
    reading
}

/// llama.cpp gives its numbers as fields, too.
fn structured(envelope: &Envelope, reading: &mut Reading) {
    let field = |name: &str| {
        envelope.values.iter().find_map(|value| {
            let inner = value.get("error").unwrap_or(value);
            inner.get(name).and_then(serde_json::Value::as_u64)
        })
    };
    if let Some(window) = field("n_ctx").and_then(as_window) {
        reading.limits.window = Some(window);
        reading.limits.prompt = field("n_prompt_tokens").or(reading.limits.prompt);
        reading.about = Some(About::Prompt);
    }
}

fn weigh(about: About, found: &regex::Captures<'_>, request: &RequestFacts) -> Reading {
    let mut limits = Limits::default();
    if about == About::Output {
        limits.output =
            number(found, "cap").or_else(|| number(found, "past").map(|past| past.saturating_sub(1)));
        limits.output = limits.output.filter(|cap| *cap >= SMALLEST_OUTPUT);
        return Reading {
            limits,
            about: Some(About::Output),
        };
    }
    if let Some(total) = number(found, "total") {
        return of_total(total, request);
    }
    limits.window = number(found, "w").and_then(as_window);
    limits.prompt = number(found, "p");
    let mut asked = number(found, "o");
    if let Some(parts) = found.name("parts") {
        let (prompt, output) = add_parts(parts.as_str());
        limits.prompt = Some(prompt);
        asked = Some(output);
    }
    if found.name("chars").is_some() {
        // Characters are no tokens; the estimate of our own is nearer.
        limits.prompt = Some(request.prompt_tokens).filter(|tokens| *tokens > 0);
        asked = asked.or(request.max_output);
    }
    match (limits.window, limits.prompt, asked) {
        (Some(window), Some(prompt), Some(_)) if prompt <= window / 4 * 3 => {
            limits.output = room(window, prompt, found.name("chars").is_some());
            Reading {
                limits,
                about: Some(About::Output),
            }
        }
        (Some(window), None, Some(asked)) if asked >= window / 2 => {
            limits.output = room(window, window / 2, false);
            Reading {
                limits,
                about: Some(About::Output),
            }
        }
        _ => Reading {
            limits,
            about: Some(About::Prompt),
        },
    }
}

/// A limit on prompt and output together, without saying which is too long.
fn of_total(total: u64, request: &RequestFacts) -> Reading {
    let window = as_window(total);
    let mut limits = Limits {
        window,
        ..Limits::default()
    };
    if request.prompt_tokens <= total / 4 * 3 && request.prompt_tokens > 0 {
        limits.output = room(total, request.prompt_tokens, true);
        return Reading {
            limits,
            about: Some(About::Output),
        };
    }
    Reading {
        limits,
        about: Some(About::Prompt),
    }
}

/// The output that fits beside the prompt; an estimated prompt gets an eighth more.
fn room(window: u64, prompt: u64, estimated: bool) -> Option<u64> {
    let prompt = if estimated {
        prompt.saturating_add(prompt / 8)
    } else {
        prompt
    };
    window
        .checked_sub(prompt)?
        .checked_sub(MARGIN)
        .filter(|cap| *cap >= SMALLEST_OUTPUT)
}

/// `60662 of text input, 10687 of tool input, 64000 in the output` as (prompt, output).
fn add_parts(parts: &str) -> (u64, u64) {
    let (mut prompt, mut output) = (0_u64, 0_u64);
    let Some(regex) = PART.as_ref() else { return (0, 0) };
    for found in regex.captures_iter(parts) {
        let Some(tokens) = found.get(1).and_then(|text| parse(text.as_str())) else {
            continue;
        };
        let what = found.get(2).map_or("", |text| text.as_str());
        if what.contains("output") || what.contains("completion") {
            output = output.saturating_add(tokens);
        } else {
            prompt = prompt.saturating_add(tokens);
        }
    }
    (prompt, output)
}

fn as_window(tokens: u64) -> Option<u64> {
    (SMALLEST_WINDOW..=LARGEST_WINDOW)
        .contains(&tokens)
        .then_some(tokens)
}

fn number(found: &regex::Captures<'_>, place: &str) -> Option<u64> {
    parse(found.name(place)?.as_str())
}

fn parse(text: &str) -> Option<u64> {
    text.replace([',', '_'], "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles() {
        assert!(SHAPES.iter().all(|shape| shape.regex.is_some()));
        assert!(BYTES.iter().all(Option::is_some) && PART.is_some());
    }
}
