//! What the driver does next.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use talaria_recovery::Ledger;
use talaria_types::{Message, MessageId};

use crate::{
    Budget, CallModel, Compact, Ending, Notice, Refresh, RunTools, Setup, State, SwitchProvider, Talk, Tally,
    Wait,
};

/// What the driver does next. Exhaustive on purpose: a new step breaks every driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Ask the model.
    CallModel(CallModel),
    /// Run the calls it asked for.
    RunTools(RunTools),
    /// Compress the conversation.
    Compact(Compact),
    /// Go to the next provider of the fallback chain.
    SwitchProvider(SwitchProvider),
    /// Renew a credential or the connections.
    Refresh(Refresh),
    /// Let time pass.
    Wait(Wait),
    /// Nothing: the turn is over.
    Done(Box<Ending>),
}

/// Begins a turn in which the person says `prompt`.
pub fn begin(setup: Setup, mut talk: Talk, prompt: Message) -> Step {
    talk.say(prompt);
    let state = Box::new(State {
        budget: Budget::with_calls(setup.max_calls),
        setup,
        talk,
        ledger: Ledger::default(),
        tally: Tally::default(),
        notices: Vec::new(),
        pieces: Vec::new(),
        output_cap: None,
        closing: false,
        earlier: None,
    });
    CallModel::begin(state)
}

impl Step {
    /// The messages that must be rows before this step is acted on, oldest first.
    pub fn unsaved(&self) -> Vec<Arc<Message>> {
        self.talk().unsaved()
    }

    /// Those messages are rows now, under these ids, in order.
    pub fn saved(&mut self, ids: &[MessageId]) {
        match self {
            Self::Done(ending) => ending.talk.saved(ids),
            Self::CallModel(_)
            | Self::RunTools(_)
            | Self::Compact(_)
            | Self::SwitchProvider(_)
            | Self::Refresh(_)
            | Self::Wait(_) => {
                if let Some(state) = self.state_mut() {
                    state.talk.saved(ids);
                }
            }
        }
    }

    /// What the person is told before this step is acted on.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        match self {
            Self::Done(ending) => std::mem::take(&mut ending.notices),
            Self::CallModel(_)
            | Self::RunTools(_)
            | Self::Compact(_)
            | Self::SwitchProvider(_)
            | Self::Refresh(_)
            | Self::Wait(_) => self
                .state_mut()
                .map(|state| std::mem::take(&mut state.notices))
                .unwrap_or_default(),
        }
    }

    /// The conversation as it stands.
    pub fn talk(&self) -> &Talk {
        match self {
            Self::CallModel(step) => &step.state.talk,
            Self::RunTools(step) => &step.state.talk,
            Self::Compact(step) => &step.state.talk,
            Self::SwitchProvider(step) => &step.state.talk,
            Self::Refresh(step) => &step.state.talk,
            Self::Wait(step) => &step.state.talk,
            Self::Done(ending) => &ending.talk,
        }
    }

    fn state_mut(&mut self) -> Option<&mut State> {
        match self {
            Self::CallModel(step) => Some(&mut step.state),
            Self::RunTools(step) => Some(&mut step.state),
            Self::Compact(step) => Some(&mut step.state),
            Self::SwitchProvider(step) => Some(&mut step.state),
            Self::Refresh(step) => Some(&mut step.state),
            Self::Wait(step) => Some(&mut step.state),
            Self::Done(_) => None,
        }
    }
}
