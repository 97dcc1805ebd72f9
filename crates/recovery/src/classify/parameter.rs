//! Which request parameter a refusal names, and what it says to use instead.

use std::sync::LazyLock;

use regex::Regex;

use super::envelope::Envelope;

/// A parameter that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) name: String,
    pub(super) replacement: Option<String>,
}

/// Without these there is no request.
const NEEDED: &[&str] = &[
    "model", "messages", "input", "contents", "tools", "system", "stream", "content", "role",
];

/// Codes that say it without any sentence.
const CODES: &[&str] = &[
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
    "extra_forbidden",
];

static SENTENCES: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    let name = r#"[`'"]?(?P<name>[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*)[`'"]?"#;
    [
        format!(r"unsupported (?:parameter|value)s?:? {name}"),
        format!(r"unknown (?:parameter|field|name):? {name}"),
        format!(r"unrecognized (?:request )?(?:argument|parameter|field)(?: supplied)?s?:? {name}"),
        format!(r"unexpected keyword argument {name}"),
        format!(r"property {name} is (?:unsupported|not supported)"),
        format!(r"additional properties are not allowed \({name} was unexpected"),
        format!(r"does not support (?:the )?parameters?:? \[?{name}"),
        format!(r"(?:^|[\s:]){name}: extra inputs are not permitted"),
        format!(r"(?:^|[\s:]){name} is deprecated for this model"),
        format!(r"(?:parameter|argument|field) {name} is not (?:supported|allowed|permitted)"),
        format!(r"(?:^|[\s:]){name} is not supported (?:with|by|for) this model"),
        format!(r"invalid {name}: only [0-9.]+ is allowed"),
        format!(r"unknown name {name}(?: at [^:]*)?: cannot find field"),
    ]
    .iter()
    .map(|pattern| Regex::new(&format!("(?i){pattern}")).ok())
    .collect()
});

static INSTEAD: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)use [`'"](?P<name>[a-z][a-z0-9_]*)[`'"] instead"#).ok());

/// The parameter this text refuses, if one may be left out.
pub(super) fn read(text: &str, envelope: &Envelope) -> Option<Refused> {
    let by_code = envelope
        .codes
        .iter()
        .any(|code| CODES.contains(&code.to_ascii_lowercase().as_str()));
    let stated = SENTENCES
        .iter()
        .flatten()
        .find_map(|regex| Some(regex.captures(text)?.name("name")?.as_str().to_owned()));
    let name = if by_code {
        envelope.parameter.clone().or(stated)?
    } else {
        stated?
    };
    let name = name.strip_prefix("body.").unwrap_or(&name).to_owned();
    // A path into the messages is a fault of the history, not of a parameter.
    let inside = name.contains(['[', '/'])
        || name
            .split('.')
            .next()
            .is_some_and(|top| NEEDED.contains(&top.to_ascii_lowercase().as_str()));
    if inside || name.is_empty() {
        return None;
    }
    let replacement = INSTEAD
        .as_ref()
        .and_then(|regex| Some(regex.captures(text)?.name("name")?.as_str().to_owned()))
        .filter(|other| *other != name);
    Some(Refused { name, replacement })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Option<Refused> {
        let envelope = Envelope::read(text);
        read(&envelope.messages.join("\n"), &envelope)
    }

    fn name(text: &str) -> Option<String> {
        refused(text).map(|refused| refused.name)
    }

    #[test]
    fn every_pattern_compiles() {
        assert!(SENTENCES.iter().all(Option::is_some) && INSTEAD.is_some());
    }

    #[test]
    fn the_parameter_and_its_replacement_are_read() {
        let text = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' \
                    instead.";
        let want = Refused {
            name: "max_tokens".into(),
            replacement: Some("max_completion_tokens".into()),
        };
        assert_eq!(refused(text), Some(want));
    }

    #[test]
    fn every_wording_names_its_parameter() {
        for (text, want) in [
            (
                "Unsupported value: 'temperature' does not support 0.3 with this model.",
                "temperature",
            ),
            (
                "invalid temperature: only 1 is allowed for this model",
                "temperature",
            ),
            (
                "Unrecognized request argument supplied: parallel_tool_calls",
                "parallel_tool_calls",
            ),
            ("Unknown parameter: 'reasoning_effort'.", "reasoning_effort"),
            (
                r#"Invalid JSON payload received. Unknown name "thinkingConfig" at 'generation_config': Cannot find field."#,
                "thinkingConfig",
            ),
            ("property 'service_tier' is unsupported", "service_tier"),
            ("top_k: Extra inputs are not permitted", "top_k"),
            ("`temperature` is deprecated for this model.", "temperature"),
            ("create() got an unexpected keyword argument 'seed'", "seed"),
            (
                "litellm.UnsupportedParamsError: x does not support parameters: ['stream_options'], for model=y",
                "stream_options",
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","logprobs"],"msg":"Extra inputs are not permitted"}]}"#,
                "logprobs",
            ),
            (
                r#"{"error":{"message":"no","param":"stop","code":"unsupported_parameter"}}"#,
                "stop",
            ),
        ] {
            assert_eq!(name(text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn what_a_request_cannot_do_without_is_never_dropped() {
        for text in [
            "messages.3.reasoning_content: Extra inputs are not permitted",
            "Unsupported value: 'messages[0].role' does not support 'developer' with this model.",
            r#"{"error":{"message":"no","param":"messages","code":"unsupported_value"}}"#,
            "Unknown parameter: 'messages[2].reasoning_details'.",
            "stream is not supported by this model",
            "messages.3.content: field required 8812",
        ] {
            assert_eq!(name(text), None, "{text}");
        }
    }
}
