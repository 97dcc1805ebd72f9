//! Says what a strict server would refuse in a list of messages.
//!
//! The engine's own check and the tests': what [`super::compose`] makes has no
//! findings. It knows the rules that all protocols share; dialects have more.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use talaria_types::{Message, Role};

/// A rule of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// There is something to answer.
    NotEmpty,
    /// The first message is the user's.
    StartsWithUser,
    /// The last message is a user's or a tool's.
    EndsOpen,
    /// The system prompt is no row.
    NoSystemRow,
    /// No two user or two assistant messages in a row.
    Alternation,
    /// A call is followed by its results, and every result by its call, in order.
    Pairing,
    /// Call ids are not blank and occur once.
    CallId,
    /// Tool names are letters, digits, `_` and `-`.
    ToolName,
    /// Arguments are JSON objects.
    Arguments,
    /// User and assistant messages say or ask something.
    SaysSomething,
}

/// One thing a strict server would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The message, from 0.
    pub index: usize,
    /// The rule it breaks.
    pub rule: Rule,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} breaks the rule {:?}", self.index, self.rule)
    }
}

/// What a strict server would refuse in these messages; nothing when it would take them.
pub fn validate(messages: &[Arc<Message>]) -> Vec<Finding> {
    let mut check = Check::default();
    for (index, message) in messages.iter().enumerate() {
        check.index = index;
        check.see(message);
    }
    check.index = messages.len().saturating_sub(1);
    check.expect(Rule::NotEmpty, !messages.is_empty());
    check.expect(Rule::Pairing, check.open.is_empty());
    let ends_open = messages
        .last()
        .is_none_or(|last| matches!(last.role, Role::User | Role::Tool));
    check.expect(Rule::EndsOpen, ends_open);
    check.findings
}

#[derive(Default)]
struct Check {
    index: usize,
    /// Ids that wait for a result, in call order.
    open: Vec<String>,
    seen: std::collections::HashSet<String>,
    previous: Option<Role>,
    findings: Vec<Finding>,
}

impl Check {
    fn expect(&mut self, rule: Rule, holds: bool) {
        if !holds {
            self.findings.push(Finding {
                index: self.index,
                rule,
            });
        }
    }

    fn see(&mut self, message: &Message) {
        let role = message.role;
        if self.index == 0 {
            self.expect(Rule::StartsWithUser, role == Role::User);
        }
        self.expect(Rule::NoSystemRow, role != Role::System);
        self.expect(
            Rule::Alternation,
            role == Role::Tool || self.previous != Some(role),
        );
        if role == Role::Tool {
            self.see_result(message);
        } else {
            self.expect(Rule::Pairing, self.open.is_empty());
            self.open.clear();
            let blank = message.content.is_blank() && message.tool_calls.is_empty();
            let sent = message
                .sent_as
                .as_ref()
                .is_some_and(|text| !text.trim().is_empty());
            self.expect(Rule::SaysSomething, !blank || sent);
            self.expect(
                Rule::Pairing,
                role == Role::Assistant || message.tool_calls.is_empty(),
            );
            self.see_calls(message);
        }
        self.previous = Some(role);
    }

    fn see_calls(&mut self, message: &Message) {
        for call in &message.tool_calls {
            let fresh = !call.id.trim().is_empty() && self.seen.insert(call.id.clone());
            self.expect(Rule::CallId, fresh);
            let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            self.expect(
                Rule::ToolName,
                !call.name.is_empty() && call.name.chars().all(named),
            );
            let arguments = serde_json::from_str::<Value>(&call.arguments);
            self.expect(Rule::Arguments, arguments.is_ok_and(|value| value.is_object()));
            self.open.push(call.id.clone());
        }
    }

    fn see_result(&mut self, message: &Message) {
        let id = message.tool_call_id.as_deref();
        let answers = self.open.first().is_some_and(|open| Some(open.as_str()) == id);
        if answers {
            self.open.remove(0);
        }
        self.expect(Rule::Pairing, answers);
    }
}
