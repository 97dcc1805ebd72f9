//! The moments of a session that others may hear of, and what each of them is called elsewhere.

use std::fmt;

/// A moment that hooks and plugins hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// A new session exists, or one is gone on with in this process.
    OnSessionStart,
    /// A turn has ended, however it ended.
    OnSessionEnd,
    /// A session is left for good in this process.
    OnSessionFinalize,
    /// The conversation goes on in a new session (`/new`).
    OnSessionReset,
    /// Once a turn, before the first model call.
    PreLlmCall,
    /// A turn has its final text.
    PostLlmCall,
    /// A final text is there and the turn is about to count as done.
    PreVerify,
    /// Before each request to a model.
    PreApiRequest,
    /// After each that was answered.
    PostApiRequest,
    /// After each that failed.
    ApiRequestError,
    /// Before a tool runs.
    PreToolCall,
    /// After it has run.
    PostToolCall,
    /// Its result, before it is stored.
    TransformToolResult,
    /// What a command printed, before it is shortened.
    TransformTerminalOutput,
    /// The final text, before it is shown; the stored one stays as it is.
    TransformLlmOutput,
    /// A subagent begins.
    SubagentStart,
    /// A subagent has ended.
    SubagentStop,
    /// The person is about to be asked for consent.
    PreApprovalRequest,
    /// The person has answered, or nobody did in time.
    PostApprovalResponse,
    /// A conversation is about to be compressed.
    PreCompress,
    /// It was compressed.
    PostCompress,
}

/// What an answer to an event can bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Power {
    /// Nothing: it is told, and nobody waits.
    None,
    /// Texts that the model reads.
    Context,
    /// A refusal, and texts that the model reads.
    Block,
    /// A refusal, a question to the person, other arguments.
    Decide,
    /// A text in the place of the one told.
    Replace,
}

/// One row: the event, its name, what may come of it, and what is told with it.
struct Row {
    event: Event,
    name: &'static str,
    power: Power,
    about: &'static str,
}

const fn row(event: Event, name: &'static str, power: Power, about: &'static str) -> Row {
    Row {
        event,
        name,
        power,
        about,
    }
}

/// Every event.
static ROWS: &[Row] = &[
    row(
        Event::OnSessionStart,
        "on_session_start",
        Power::Context,
        "a session begins, or is gone on with in this process (source: startup, resume, clear)",
    ),
    row(
        Event::OnSessionEnd,
        "on_session_end",
        Power::None,
        "a turn has ended, however it ended",
    ),
    row(
        Event::OnSessionFinalize,
        "on_session_finalize",
        Power::None,
        "a session is left: the program ends, /new, /resume",
    ),
    row(
        Event::OnSessionReset,
        "on_session_reset",
        Power::None,
        "the conversation goes on in a new session",
    ),
    row(
        Event::PreLlmCall,
        "pre_llm_call",
        Power::Block,
        "once a turn, before the first model call",
    ),
    row(
        Event::PostLlmCall,
        "post_llm_call",
        Power::None,
        "a turn ended with a final text",
    ),
    row(
        Event::PreVerify,
        "pre_verify",
        Power::Block,
        "a final text is there; a refusal makes the agent go on",
    ),
    row(
        Event::PreApiRequest,
        "pre_api_request",
        Power::None,
        "before each request to a model",
    ),
    row(
        Event::PostApiRequest,
        "post_api_request",
        Power::None,
        "after a request that was answered",
    ),
    row(
        Event::ApiRequestError,
        "api_request_error",
        Power::None,
        "after a request that failed",
    ),
    row(
        Event::PreToolCall,
        "pre_tool_call",
        Power::Decide,
        "before a tool runs",
    ),
    row(
        Event::PostToolCall,
        "post_tool_call",
        Power::Context,
        "after a tool has run",
    ),
    row(
        Event::TransformToolResult,
        "transform_tool_result",
        Power::Replace,
        "a tool's result, before it is stored",
    ),
    row(
        Event::TransformTerminalOutput,
        "transform_terminal_output",
        Power::Replace,
        "what a command printed",
    ),
    row(
        Event::TransformLlmOutput,
        "transform_llm_output",
        Power::Replace,
        "the final text, before it is shown",
    ),
    row(
        Event::SubagentStart,
        "subagent_start",
        Power::None,
        "a subagent begins",
    ),
    row(
        Event::SubagentStop,
        "subagent_stop",
        Power::None,
        "a subagent has ended",
    ),
    row(
        Event::PreApprovalRequest,
        "pre_approval_request",
        Power::None,
        "the person is about to be asked for consent",
    ),
    row(
        Event::PostApprovalResponse,
        "post_approval_response",
        Power::None,
        "the question was answered",
    ),
    row(
        Event::PreCompress,
        "pre_compress",
        Power::None,
        "the conversation is about to be compressed",
    ),
    row(
        Event::PostCompress,
        "post_compress",
        Power::None,
        "the conversation was compressed",
    ),
];

impl Event {
    /// Every event, in the order of a session's life.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.event)
    }

    fn row(self) -> Option<&'static Row> {
        ROWS.iter().find(|row| row.event == self)
    }

    /// Its name, as `config.yaml` and plugins spell it.
    pub fn name(self) -> &'static str {
        self.row().map_or("", |row| row.name)
    }

    /// What an answer can bring about.
    pub fn power(self) -> Power {
        self.row().map_or(Power::None, |row| row.power)
    }

    /// When it is told, in words.
    pub fn about(self) -> &'static str {
        self.row().map_or("", |row| row.about)
    }

    /// The event of that name.
    pub fn named(name: &str) -> Option<Self> {
        ROWS.iter().find(|row| row.name == name).map(|row| row.event)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_found_by_its_name_and_says_when_it_is_told() {
        assert_eq!(Event::all().count(), 21);
        for event in Event::all() {
            assert_eq!(Event::named(event.name()), Some(event));
            assert!(!event.about().is_empty());
        }
        assert_eq!(Event::named("PreToolUse"), None);
    }
}
