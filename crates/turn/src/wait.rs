//! Let time pass before the next attempt.

use serde::{Deserialize, Serialize};

use crate::{CallModel, Ending, Outcome, State, Step};

/// Let time pass before the next attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    pub(crate) state: Box<State>,
    wait_ms: u64,
}

impl Wait {
    pub(crate) fn begin(state: Box<State>, wait_ms: u64) -> Step {
        Step::Wait(Self { state, wait_ms })
    }

    /// How long, in milliseconds.
    pub fn wait_ms(&self) -> u64 {
        self.wait_ms
    }

    /// It has passed.
    pub fn over(self) -> Step {
        CallModel::again(self.state)
    }

    /// The person stopped it.
    pub fn interrupt(self) -> Step {
        Step::Done(Ending::of(self.state, Outcome::Interrupted { text: None }))
    }
}
