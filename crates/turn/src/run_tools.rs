//! Run the calls the model asked for, and what follows from their results.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use talaria_recovery::{ErrorKind, Failure, Phase};
use talaria_types::{Message, MessageId, ToolCall};

use crate::budget::spend;
use crate::{CallModel, Ending, Outcome, State, Step};

/// Run the calls the model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunTools {
    pub(crate) state: Box<State>,
    calls: Vec<ToolCall>,
}

/// What came of a round of calls. Its rows are stored already, each as it arrived.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRound {
    /// The results in call order, as they are stored.
    pub rows: Vec<(MessageId, Arc<Message>)>,
    /// The names of the tools that ran.
    pub ran: Vec<String>,
    /// Calls that could not be understood and ran nothing.
    pub invalid: u32,
    /// Set when the same thing was tried too often; told to the person.
    pub halt: Option<String>,
    /// The person stopped it.
    pub interrupted: bool,
}

impl RunTools {
    pub(crate) fn begin(state: Box<State>, calls: Vec<ToolCall>) -> Step {
        Step::RunTools(Self { state, calls })
    }

    /// The calls, in order.
    pub fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// The answer that makes the calls, as far as it is no row yet.
    pub fn unsaved(&self) -> Vec<Arc<Message>> {
        self.state.talk.unsaved()
    }

    /// It is a row now, under these ids, in order.
    pub fn saved(&mut self, ids: &[MessageId]) {
        self.state.talk.saved(ids);
    }

    /// Every call has its result.
    pub fn answer(self, round: ToolRound) -> Step {
        let Self { mut state, calls } = self;
        state.tally.tool_rounds += 1;
        for name in &round.ran {
            *state.tally.tools.entry(name.clone()).or_default() += 1;
        }
        state.budget.refund(&round.ran);
        for (id, message) in round.rows {
            state.talk.add_row(id, message);
        }
        if round.interrupted {
            return Step::Done(Ending::of(state, Outcome::Interrupted { text: None }));
        }
        if let Some(text) = round.halt {
            return Step::Done(Ending::of(state, Outcome::GuardrailHalt { text }));
        }
        let all_invalid = !calls.is_empty() && round.invalid as usize == calls.len();
        if !all_invalid {
            state.budget.invalid_rounds = crate::Budget::with_calls(0).invalid_rounds;
        } else if !spend(&mut state.budget.invalid_rounds) {
            let failure = never_understood(&calls);
            return Step::Done(Ending::of(state, Outcome::Failed(Box::new(failure))));
        }
        CallModel::begin(state)
    }
}

fn never_understood(calls: &[ToolCall]) -> Failure {
    let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).take(3).collect();
    let message = format!(
        "the model's calls could not be understood, again and again (the last ones: {})",
        names.join(", ")
    );
    Failure::new(ErrorKind::InvalidResponse, Phase::Answer, message)
}
