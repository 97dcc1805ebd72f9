//! The recovery chain.

use crate::{Decision, Failure, Ledger, Remedy, Situation};

/// Picks the cure for one failed call. Total: a failure no row claims gives up.
pub fn decide(_failure: &Failure, _situation: &Situation, ledger: &mut Ledger) -> Decision {
    ledger.failed();
    Decision {
        row: "give_up".into(),
        remedy: Remedy::GiveUp,
        attempt: 1,
        limit: 1,
        note: None,
    }
}
