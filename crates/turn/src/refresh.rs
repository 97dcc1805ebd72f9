//! Renew a credential or the connections.

use serde::{Deserialize, Serialize};
use talaria_recovery::{Failure, Situation};

use crate::call_model::{failed, give_up};
use crate::{CallModel, Ending, Outcome, State, Step, Wait};

/// Renew a credential or the connections.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refresh {
    pub(crate) state: Box<State>,
    kind: RefreshKind,
    failure: Failure,
    /// What the driver knew when the call failed; a cure that is not to be had is asked for once.
    situation: Box<Situation>,
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
    pub(crate) fn begin(
        state: Box<State>,
        kind: RefreshKind,
        failure: Failure,
        situation: &Situation,
    ) -> Step {
        Step::Refresh(Self {
            state,
            kind,
            failure,
            situation: Box::new(situation.clone()),
        })
    }

    /// What is renewed.
    pub fn kind(&self) -> RefreshKind {
        self.kind
    }

    /// Why.
    pub fn failure(&self) -> &Failure {
        &self.failure
    }

    /// It is renewed, or could not be: then the rows that follow are asked.
    pub fn answer(self, renewed: bool) -> Step {
        let Self {
            state,
            kind,
            failure,
            mut situation,
        } = self;
        match (renewed, kind) {
            (true, RefreshKind::Transport { wait_ms }) => return Wait::begin(state, wait_ms),
            (true, RefreshKind::Credential | RefreshKind::NextCredential) => return CallModel::again(state),
            (false, RefreshKind::Credential) => situation.can_refresh = false,
            (false, RefreshKind::NextCredential) => situation.can_rotate = false,
            (false, RefreshKind::Transport { .. }) => return give_up(state, failure),
        }
        failed(state, failure, &situation)
    }

    /// The person stopped it.
    pub fn interrupt(self) -> Step {
        Step::Done(Ending::of(self.state, Outcome::Interrupted { text: None }))
    }
}
