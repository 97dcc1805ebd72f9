//! Whether a compression is due.

use talaria_types::Trigger;

use crate::State;

/// The trigger, if the conversation has grown past its threshold and may be compressed.
///
/// Only prompt tokens count: what a model thinks is not sent again.
pub(crate) fn due(state: &State, trigger: Trigger) -> Option<Trigger> {
    let setup = &state.setup;
    let over = setup.may_compact && setup.last_prompt_tokens >= setup.model.plan.trigger();
    over.then_some(trigger)
}
