//! Compress the conversation, and what follows.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use talaria_recovery::{ErrorKind, Failure, Phase};
use talaria_types::Trigger;

use crate::budget::spend;
use crate::{CallModel, Ending, Outcome, State, Step, Talk};

/// Compress the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compact {
    pub(crate) state: Box<State>,
    trigger: Trigger,
    /// The refusal that led here, told if nothing can be hidden.
    failure: Option<Failure>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Compacted {
    /// Something was hidden: the conversation as it is now.
    Done {
        /// The messages, stored already.
        talk: Talk,
        /// The rebuilt system prompt.
        system: Arc<str>,
        /// The note after it.
        note: Option<Arc<str>>,
    },
    /// Nothing was hidden; why, for the person.
    Nothing(String),
    /// The person stopped it.
    Interrupted,
}

impl Compact {
    /// Spends one of the turn's compressions.
    pub(crate) fn begin(mut state: Box<State>, trigger: Trigger, failure: Option<Failure>) -> Step {
        if spend(&mut state.budget.compactions) {
            return Step::Compact(Self {
                state,
                trigger,
                failure,
            });
        }
        let why = "the conversation was compressed again and again and still does not fit";
        give_up(state, failure, why)
    }

    /// What set it off.
    pub fn trigger(&self) -> Trigger {
        self.trigger
    }

    /// The turn's state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// It is done, or there was nothing to do.
    pub fn answer(self, compacted: Compacted) -> Step {
        let Self {
            mut state,
            trigger,
            failure,
        } = self;
        match compacted {
            Compacted::Done { talk, system, note } => {
                state.talk = talk;
                state.setup.system = system;
                state.setup.note = note;
                state.tally.compactions += 1;
                state.pieces.clear();
                state.output_cap = None;
                CallModel::again(state)
            }
            Compacted::Interrupted => Step::Done(Ending::of(state, Outcome::Interrupted { text: None })),
            Compacted::Nothing(why) => match trigger {
                // The request was refused as it is; sending it again cannot help.
                Trigger::Overflow => give_up(state, failure, &why),
                Trigger::Preflight | Trigger::BeforeCall | Trigger::AfterTools | Trigger::Command => {
                    CallModel::as_it_is(state)
                }
            },
        }
    }
}

fn give_up(state: Box<State>, failure: Option<Failure>, why: &str) -> Step {
    let mut failure = failure.unwrap_or_else(|| {
        Failure::new(
            ErrorKind::ContextOverflow,
            Phase::Build,
            "the context does not fit the model's window",
        )
    });
    failure.message = format!("{} ({why})", failure.message);
    Step::Done(Ending::of(state, Outcome::Overflow(Box::new(failure))))
}
