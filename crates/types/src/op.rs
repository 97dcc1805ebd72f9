//! What a front end asks of a session.

use serde::{Deserialize, Serialize};

use crate::Content;

/// One request of a front end to a session's actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Op {
    /// Run a turn with this message; queued while another one runs.
    Prompt {
        /// What the person says.
        content: Content,
    },
    /// Tell the running turn something: it reaches the model with the next tool result.
    Steer {
        /// What the person says.
        text: String,
    },
    /// Stop the running turn, keeping what it did.
    Interrupt,
    /// Answer an [`ApprovalRequest`].
    Approve {
        /// The request's id.
        id: String,
        /// The decision.
        answer: ApprovalAnswer,
    },
    /// Answer a [`Question`] of the model.
    Reply {
        /// The question's id.
        id: String,
        /// The person's words, or nothing when they would not answer.
        text: Option<String>,
    },
    /// Run a slash command, without its slash.
    Command {
        /// The command's name.
        name: String,
        /// All that follows it.
        args: String,
    },
    /// End the session's actor after the running turn has been stopped.
    Shutdown,
}

/// A command that waits for the person's consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Names the request in its answer.
    pub id: String,
    /// The tool that wants to act.
    pub tool: String,
    /// What it would run or touch, secrets masked.
    pub command: String,
    /// Why it asks: the dangerous family's description.
    pub reason: String,
    /// Whether the consent may be kept for good.
    pub may_always: bool,
}

/// The person's decision on an [`ApprovalRequest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAnswer {
    /// This once.
    Once,
    /// For the rest of the session.
    Session,
    /// For good.
    Always,
    /// No.
    Deny,
}

/// A question of the model to the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Names the question in its answer.
    pub id: String,
    /// What it asks.
    pub text: String,
    /// Answers it offers; the person may give another.
    pub choices: Vec<String>,
}
