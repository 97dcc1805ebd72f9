//! Renew a credential or the connections.

use serde::{Deserialize, Serialize};
use talaria_recovery::Failure;

use crate::call_model::give_up;
use crate::{CallModel, Ending, Outcome, State, Step, Wait};

/// Renew a credential or the connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refresh {
    pub(crate) state: Box<State>,
    kind: RefreshKind,
    failure: Failure,
}

/// What is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshKind {
    /// The token of the credential in use.
    Credential,
    /// The credential: the next one of the pool.
    NextCredential,
    /// All connections, and a pause.
    Transport {
        /// Milliseconds of the pause.
        wait_ms: u64,
    },
}

impl Refresh {
    pub(crate) fn begin(state: Box<State>, kind: RefreshKind, failure: Failure) -> Step {
        Step::Refresh(Self { state, kind, failure })
    }

    /// What is renewed.
    pub fn kind(&self) -> RefreshKind {
        self.kind
    }

    /// Why.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// It is renewed, or could not be.
    pub fn answer(self, renewed: bool) -> Step {
        let Self { state, kind, failure } = self;
        match (renewed, kind) {
            (true, RefreshKind::Transport { wait_ms }) => Wait::begin(state, wait_ms),
            (true, RefreshKind::Credential | RefreshKind::NextCredential) => CallModel::again(state),
            (false, _) => give_up(state, failure),
        }
    }

    /// The person stopped it.
    pub fn interrupt(self) -> Step {
        Step::Done(Ending::of(self.state, Outcome::Interrupted { text: None }))
    }
}
