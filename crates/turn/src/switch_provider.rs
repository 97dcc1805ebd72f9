//! Go to the next provider of the fallback chain.

use serde::{Deserialize, Serialize};
use talaria_recovery::Failure;

use crate::call_model::give_up;
use crate::{CallModel, ModelSetup, State, Step};

/// Go to the next provider of the fallback chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SwitchProvider {
    pub(crate) state: Box<State>,
    failure: Failure,
}

impl SwitchProvider {
    pub(crate) fn begin(state: Box<State>, failure: Failure) -> Step {
        Step::SwitchProvider(Self { state, failure })
    }

    /// Why the turn leaves the provider it is with.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// The turn goes on with this model, or there is none left.
    ///
    /// Repairs and continuation belong to the provider that was left: the
    /// request is composed anew, and half an answer of another model is dropped.
    pub fn answer(self, model: Option<ModelSetup>) -> Step {
        let Self { mut state, failure } = self;
        let Some(model) = model else {
            return give_up(state, failure);
        };
        state.setup.model = model;
        state.setup.rewrites.clear();
        state.ledger.call_succeeded();
        state.output_cap = None;
        state.pieces.clear();
        state.talk.strike();
        CallModel::again(state)
    }
}
