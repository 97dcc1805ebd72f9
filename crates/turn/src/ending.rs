//! How a turn ended, as plain data for the finish.

use serde::{Deserialize, Serialize};
use talaria_recovery::Failure;
use talaria_types::{Message, Rewrite};

use crate::{Notice, State, Talk, Tally};

/// A turn that is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// How.
    pub outcome: Outcome,
    /// The conversation; it ends so that the next turn can follow.
    pub talk: Talk,
    /// What was used.
    pub tally: Tally,
    /// Repairs the session's next turn starts with.
    pub rewrites: Vec<Rewrite>,
    pub(crate) notices: Vec<Notice>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer.
    Replied {
        /// The answer.
        text: String,
    },
    /// With an answer that is not whole: the stream broke, or it never ended.
    Partial {
        /// What there is of it.
        text: String,
        /// Why there is no more.
        why: String,
    },
    /// The turn's calls were spent.
    TurnLimit {
        /// The closing summary, when the model gave one.
        summary: Option<String>,
    },
    /// The person stopped it.
    Interrupted {
        /// What had been said.
        text: Option<String>,
    },
    /// The model or the provider declined.
    Refused {
        /// In these words.
        text: String,
    },
    /// The model answered with nothing, again and again.
    Empty {
        /// What is told to the person.
        explanation: String,
    },
    /// The same thing was tried again and again.
    GuardrailHalt {
        /// What is told to the person.
        text: String,
    },
    /// The context could not be made to fit.
    Overflow(Box<Failure>),
    /// A failure that nothing cured.
    Failed(Box<Failure>),
    /// The turn's money was spent.
    SpendLimit {
        /// What is told to the person.
        text: String,
    },
}

impl Ending {
    /// Ends the turn. Scaffolding goes; a conversation that would end in tool
    /// results gets the one assistant row that makes it valid.
    pub(crate) fn of(mut state: Box<State>, outcome: Outcome) -> Box<Self> {
        state.talk.strike();
        if let Some(closing) = closing_words(&state, &outcome) {
            state.talk.say(Message {
                finish_reason: Some("stop".to_owned()),
                ..Message::assistant(closing)
            });
        }
        Box::new(Self {
            outcome,
            talk: state.talk,
            tally: state.tally,
            rewrites: state.setup.rewrites,
            notices: state.notices,
        })
    }
}

/// What must stand at the end of the history so that a user message may follow
/// tool results: strict servers refuse `tool, user`.
fn closing_words(state: &State, outcome: &Outcome) -> Option<String> {
    use talaria_types::Role;
    let after_tools = state.talk.last_row().is_some_and(|last| last.role == Role::Tool);
    match outcome {
        Outcome::Interrupted { text: None } if after_tools => Some("Operation interrupted.".to_owned()),
        Outcome::Failed(failure) | Outcome::Overflow(failure) if after_tools => Some(format!(
            "The turn ended with an error: {}",
            crate::state::words(failure)
        )),
        Outcome::GuardrailHalt { text } | Outcome::SpendLimit { text } if after_tools => Some(text.clone()),
        Outcome::TurnLimit { summary: None } if after_tools => {
            Some("The turn ended at its limit of model calls.".to_owned())
        }
        Outcome::Empty { explanation } if after_tools => Some(explanation.clone()),
        Outcome::Replied { .. }
        | Outcome::Partial { .. }
        | Outcome::TurnLimit { .. }
        | Outcome::Interrupted { .. }
        | Outcome::Refused { .. }
        | Outcome::Empty { .. }
        | Outcome::GuardrailHalt { .. }
        | Outcome::Overflow(_)
        | Outcome::Failed(_)
        | Outcome::SpendLimit { .. } => None,
    }
}
