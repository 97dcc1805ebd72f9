//! What a hook or a plugin answers to an event.

use serde_json::{Map, Value};

use crate::event::Power;
use crate::{Dialect, Event};

/// The longest reason of a refusal, in characters.
const REASON_CHARS: usize = 4_000;
/// The longest text that one answer adds for the model, in characters.
const CONTEXT_CHARS: usize = 10_000;

/// What came of one listener.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// Who answered.
    pub from: String,
    /// It refuses, and why.
    pub block: Option<String>,
    /// The person must be asked, and why.
    pub ask: Option<String>,
    /// Other arguments for the call, a JSON object.
    pub args: Option<Value>,
    /// A text that the model reads.
    pub context: Option<String>,
    /// What stands in the place of the text that was told.
    pub replacement: Option<String>,
    /// What the person should know.
    pub notes: Vec<String>,
}

impl Reply {
    /// A refusal.
    pub(crate) fn refusal(why: &str) -> Self {
        let why = match why.trim() {
            "" => "no reason was given",
            why => why,
        };
        Self {
            block: Some(cut(why, REASON_CHARS)),
            ..Self::default()
        }
    }

    /// What a JSON answer to `event` says. What has no power there says nothing.
    pub(crate) fn of_json(event: Event, answer: &Value) -> Self {
        match answer {
            Value::String(text) if event.power() == Power::Replace => Self {
                replacement: Some(text.clone()),
                ..Self::default()
            },
            Value::String(text) => Self::of_text(event, text),
            Value::Object(members) => Said(members).reply(event),
            _ => Self::default(),
        }
    }

    /// Plain text adds to what the model reads, where something may.
    pub(crate) fn of_text(event: Event, text: &str) -> Self {
        let adds = matches!(event.power(), Power::Context | Power::Block) && event != Event::PreVerify;
        Self {
            context: (adds && !text.trim().is_empty()).then(|| cut(text.trim(), CONTEXT_CHARS)),
            ..Self::default()
        }
    }
}

/// The members of an answer, in any of the shapes in use.
struct Said<'a>(&'a Map<String, Value>);

impl Said<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let own = self.0.get(name).and_then(Value::as_str);
        own.or_else(|| self.specific(name)?.as_str())
    }

    fn specific(&self, name: &str) -> Option<&Value> {
        self.0.get("hookSpecificOutput")?.get(name)
    }

    fn first(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.text(name))
    }

    fn reply(&self, event: Event) -> Reply {
        let mut reply = Reply::default();
        reply
            .notes
            .extend(self.text("systemMessage").map(|text| cut(text, REASON_CHARS)));
        let power = event.power();
        if matches!(power, Power::Block | Power::Decide) && self.refuses(event) {
            let why = self.first(&["message", "reason", "permissionDecisionReason", "stopReason"]);
            reply.block = Reply::refusal(why.unwrap_or_default()).block;
        }
        if power == Power::Decide {
            if self.asks() {
                let why = self.first(&["message", "reason", "permissionDecisionReason"]);
                reply.ask = Some(cut(why.unwrap_or("a hook wants you to decide"), REASON_CHARS));
            }
            let args = ["updatedInput", "args", "tool_input"];
            let args = args
                .iter()
                .find_map(|name| self.0.get(*name).or_else(|| self.specific(name)));
            reply.args = args.filter(|args| args.is_object()).cloned();
        }
        if matches!(power, Power::Context | Power::Block | Power::Decide) {
            let mut texts: Vec<&str> = self
                .first(&["context", "additionalContext"])
                .into_iter()
                .collect();
            if event == Event::PostToolCall && self.refuses(event) {
                texts.extend(self.first(&["message", "reason"]));
            }
            let text = texts.join("\n\n");
            reply.context = (!text.trim().is_empty()).then(|| cut(text.trim(), CONTEXT_CHARS));
        }
        if power == Power::Replace || event == Event::PostToolCall {
            let names: &[&str] = if power == Power::Replace {
                &["result", "output", "response_text", "text", "updatedToolOutput"]
            } else {
                &["updatedToolOutput", "updatedMCPToolOutput"]
            };
            reply.replacement = self.first(names).map(str::to_owned);
        }
        reply
    }

    fn refuses(&self, event: Event) -> bool {
        let says = |name: &str, words: &[&str]| self.text(name).is_some_and(|word| words.contains(&word));
        // "Stop working" is a refusal before the work and none at its end.
        let stops = self.0.get("continue") == Some(&Value::Bool(false)) && event != Event::PreVerify;
        says("action", &["block", "deny"])
            || says("decision", &["block", "deny"])
            || says("permissionDecision", &["deny"])
            || stops
    }

    fn asks(&self) -> bool {
        self.text("action")
            .is_some_and(|word| matches!(word, "approve" | "ask"))
            || self.text("permissionDecision") == Some("ask")
    }
}

/// How a hook that is a command has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    /// Its exit code; nothing when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// What a command's end says.
///
/// # Errors
/// When it says nothing that can be understood; what happened instead.
pub(crate) fn of_output(
    event: Event,
    dialect: Dialect,
    output: &Output,
    strict: bool,
) -> Result<Reply, String> {
    if output.code == Some(2) {
        return Ok(refused(event, &output.stderr));
    }
    let stdout = output.stdout.trim();
    let parsed = stdout
        .starts_with('{')
        .then(|| serde_json::from_str::<Value>(stdout).ok())
        .flatten();
    let reply = parsed.as_ref().map(|answer| Reply::of_json(event, answer));
    match (output.code, reply) {
        // Whoever prints a refusal means it, however it ends.
        (_, Some(reply)) if reply.block.is_some() => Ok(reply),
        (Some(0), Some(reply)) => Ok(reply),
        (Some(_), Some(reply)) if dialect == Dialect::Hermes && !strict => Ok(reply),
        (Some(0), None) if stdout.is_empty() => Ok(Reply::default()),
        (Some(0), None) if strict => Err(format!("printed what is no JSON object: {}", first_line(stdout))),
        (Some(0), None) if dialect == Dialect::Claude => Ok(Reply::of_text(event, stdout)),
        (Some(0), None) => Ok(Reply::default()),
        (Some(code), _) => Err(format!("exited with {code}{}", said(&output.stderr))),
        (None, _) => Err(format!("was ended by a signal{}", said(&output.stderr))),
    }
}

/// The exit code 2: a refusal where one can be, else a word to the model.
fn refused(event: Event, stderr: &str) -> Reply {
    match event.power() {
        Power::Block | Power::Decide => Reply::refusal(stderr),
        Power::Context => Reply {
            context: (!stderr.trim().is_empty()).then(|| cut(stderr.trim(), CONTEXT_CHARS)),
            ..Reply::default()
        },
        Power::None | Power::Replace => Reply {
            notes: (!stderr.trim().is_empty())
                .then(|| cut(stderr.trim(), REASON_CHARS))
                .into_iter()
                .collect(),
            ..Reply::default()
        },
    }
}

fn said(stderr: &str) -> String {
    match first_line(stderr.trim()) {
        line if line.is_empty() => String::new(),
        line => format!(": {line}"),
    }
}

fn first_line(text: &str) -> String {
    cut(text.lines().next().unwrap_or_default(), 200)
}

/// At most `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn output(code: i32, stdout: &str, stderr: &str) -> Output {
        Output {
            code: Some(code),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    #[rstest]
    #[case::exit_2(output(2, "", "not here"))]
    #[case::hermes(output(0, r#"{"action":"block","message":"not here"}"#, ""))]
    #[case::old_claude(output(0, r#"{"decision":"block","reason":"not here"}"#, ""))]
    #[case::claude(output(0, r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not here"}}"#, ""))]
    #[case::claude_stops(output(0, r#"{"continue":false,"stopReason":"not here"}"#, ""))]
    #[case::goose_and_a_crash_after_it(output(1, r#"{"decision":"block","reason":"not here"}"#, "oops"))]
    fn a_refusal_is_understood_in_every_shape_it_is_written_in(#[case] output: Output) {
        for dialect in [Dialect::Hermes, Dialect::Claude, Dialect::Goose] {
            let reply = of_output(Event::PreToolCall, dialect, &output, false).unwrap();
            assert_eq!(reply.block.as_deref(), Some("not here"));
        }
    }

    #[test]
    fn other_arguments_and_a_question_are_understood() {
        let said = json!({"hookSpecificOutput": {
            "permissionDecision": "ask", "permissionDecisionReason": "sure?", "updatedInput": {"command": "ls"},
        }});
        let reply = Reply::of_json(Event::PreToolCall, &said);
        assert_eq!(reply.ask.as_deref(), Some("sure?"));
        assert_eq!(reply.args, Some(json!({"command": "ls"})));
        let approve = Reply::of_json(Event::PreToolCall, &json!({"action": "approve"}));
        assert!(approve.ask.is_some());
        // An allowance spares no question: consent is the person's.
        let allow = json!({"hookSpecificOutput": {"permissionDecision": "allow"}});
        assert_eq!(Reply::of_json(Event::PreToolCall, &allow), Reply::default());
    }

    #[test]
    fn what_has_no_power_at_an_event_says_nothing() {
        let said = json!({"decision": "block", "reason": "no", "args": {}, "context": "c", "result": "r"});
        assert_eq!(Reply::of_json(Event::PostApiRequest, &said), Reply::default());
        let replaced = Reply::of_json(Event::TransformToolResult, &said);
        assert_eq!(
            (replaced.replacement.as_deref(), replaced.block),
            (Some("r"), None)
        );
        let after = Reply::of_json(Event::PostToolCall, &said);
        assert_eq!((after.context.as_deref(), after.block), (Some("c\n\nno"), None));
    }

    #[rstest]
    #[case::crash(output(1, "", "Traceback\nmore"), "exited with 1: Traceback")]
    #[case::signal(Output { code: None, stdout: String::new(), stderr: String::new() }, "was ended by a signal")]
    fn a_hook_that_fails_is_no_opinion(#[case] output: Output, #[case] why: &str) {
        assert_eq!(
            of_output(Event::PreToolCall, Dialect::Claude, &output, false),
            Err(why.to_owned())
        );
    }

    #[test]
    fn garbage_is_a_failure_only_where_failures_count() {
        let garbage = output(0, "done, all fine", "");
        assert_eq!(
            of_output(Event::PreToolCall, Dialect::Goose, &garbage, false),
            Ok(Reply::default())
        );
        assert!(of_output(Event::PreToolCall, Dialect::Goose, &garbage, true).is_err());
        let context = of_output(Event::PreLlmCall, Dialect::Claude, &garbage, false).unwrap();
        assert_eq!(context.context.as_deref(), Some("done, all fine"));
    }
}
