//! What the executor needs from whoever drives it.

use futures_util::future::BoxFuture;
use serde_json::Value;
use talaria_types::{ApprovalAnswer, ApprovalRequest, Effect, Question, ToolCall, ToolResult};

use crate::consult::{After, Before, Done};

/// The driver's side of a batch of calls.
pub trait Host: Send + Sync {
    /// A call is about to run. The journal must hold it before this returns.
    ///
    /// # Errors
    /// When it could not be written; the call then does not run.
    fn intend(&self, call: &ToolCall, tool: &str, effect: Effect) -> Result<(), JournalError>;

    /// A call runs now, with these arguments (secrets masked for showing).
    ///
    /// # Errors
    /// When it could not be written; the call then does not run.
    fn started(&self, call: &ToolCall, tool: &str, args: &Value, effect: Effect) -> Result<(), JournalError>;

    /// A running call's work is done by this process.
    fn spawned(&self, call: &ToolCall, pid: u32);

    /// A call has its result. The journal must hold it before this returns.
    fn finished(&self, call: &ToolCall, result: &ToolResult);

    /// Asks for consent; without anyone to ask the answer is `Deny`.
    fn approve(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer>;

    /// Whether there is anyone to ask.
    fn can_ask(&self) -> bool;

    /// Asks the person; nothing when nobody answers in time.
    fn ask(&self, question: Question) -> BoxFuture<'_, Option<String>>;

    /// Tells the person.
    fn status(&self, text: &str);

    /// Whether others have a say in calls: without, none of the following is asked.
    fn consults(&self) -> bool {
        false
    }

    /// What others say before a call runs.
    fn before<'a>(&'a self, _call: &'a ToolCall, _tool: &'a str, _args: &'a Value) -> BoxFuture<'a, Before> {
        Box::pin(std::future::ready(Before::default()))
    }

    /// What others say to a result, before it is kept.
    fn after<'a>(&'a self, _done: Done<'a>) -> BoxFuture<'a, After> {
        Box::pin(std::future::ready(After::default()))
    }

    /// What others put in the place of what a command printed.
    fn printed<'a>(
        &'a self,
        _command: &'a str,
        _output: &'a str,
        _code: i32,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// The journal could not be written, so nothing may depend on it.
#[derive(Debug, thiserror::Error)]
#[error("the call could not be written down before it ran: {0}")]
pub struct JournalError(pub String);

/// A host that writes nothing, shows nothing and refuses everything.
pub struct NullHost;

impl Host for NullHost {
    fn intend(&self, _: &ToolCall, _: &str, _: Effect) -> Result<(), JournalError> {
        Ok(())
    }
    fn started(&self, _: &ToolCall, _: &str, _: &Value, _: Effect) -> Result<(), JournalError> {
        Ok(())
    }
    fn spawned(&self, _: &ToolCall, _: u32) {}
    fn finished(&self, _: &ToolCall, _: &ToolResult) {}
    fn approve(&self, _: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(std::future::ready(ApprovalAnswer::Deny))
    }
    fn can_ask(&self) -> bool {
        false
    }
    fn ask(&self, _: Question) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
    fn status(&self, _: &str) {}
}
