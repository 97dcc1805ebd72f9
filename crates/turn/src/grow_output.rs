//! Answers that were cut at their length: more room, and the pieces joined once.

use talaria_types::{Completion, FinishReason, Message};

use crate::budget::spend;
use crate::join::join;
use crate::{Budget, CallModel, Ending, Outcome, State, Step};

/// Output tokens that are assumed where nothing is configured.
const DEFAULT_OUTPUT: u64 = 4_096;
/// The most output tokens a continuation asks for.
const MOST_OUTPUT: u64 = 32_768;

/// What a continuation is asked.
const GO_ON: &str = "[System: Your answer was cut off at the output limit. Continue exactly where it stopped; do not \
repeat anything and do not apologise.]";

/// Keeps the piece and asks for the rest, or ends with what there is.
pub(crate) fn continue_answer(state: Box<State>, completion: Completion) -> Step {
    go_on(
        state,
        completion.text,
        "the answer was cut at the output limit again and again",
    )
}

/// The same for an answer whose stream broke.
pub(crate) fn continue_cut_stream(state: Box<State>, text: String) -> Step {
    go_on(state, text, "the stream broke again and again")
}

fn go_on(mut state: Box<State>, text: String, why: &str) -> Step {
    if repeats(&state, &text) || !spend(&mut state.budget.continuations) {
        return end_partial(state, &text, why.to_owned());
    }
    state.output_cap = Some(grown(&state));
    state.prop(Message {
        finish_reason: Some("length".to_owned()),
        ..Message::assistant(text.clone())
    });
    state.prop(Message::user(GO_ON));
    state.pieces.push(text);
    CallModel::again(state)
}

/// A continuation that says the same piece again leads nowhere.
fn repeats(state: &State, text: &str) -> bool {
    state.pieces.last().is_some_and(|last| last.trim() == text.trim())
}

/// Ends the turn with what there is of the answer.
pub(crate) fn end_partial(mut state: Box<State>, text: &str, why: String) -> Step {
    let text = if repeats(&state, text) { "" } else { text };
    let text = whole(&mut state, text);
    state.talk.say(Message {
        finish_reason: Some("length".to_owned()),
        ..Message::assistant(text.clone())
    });
    Step::Done(Ending::of(state, Outcome::Partial { text, why }))
}

/// The pieces so far and `last`, as one text; scaffolding goes.
pub(crate) fn whole(state: &mut State, last: &str) -> String {
    state.talk.strike();
    state.output_cap = None;
    let pieces = std::mem::take(&mut state.pieces);
    let pieces = pieces.iter().map(String::as_str).chain(std::iter::once(last));
    pieces.fold(String::new(), |so_far, piece| join(&so_far, piece))
}

/// Whether a call of an answer that was cut at its length is not whole.
pub(crate) fn calls_were_cut(completion: &Completion) -> bool {
    completion
        .tool_calls
        .iter()
        .any(|call| serde_json::from_str::<serde_json::Value>(&call.arguments).is_err())
}

/// The next output cap: `min((max_tokens or 4 096) × (n + 1), 32 768)`, never
/// below what is configured nor above what the model can give.
pub(crate) fn grown(state: &State) -> u64 {
    let configured = state.setup.model.max_output;
    let base = configured.unwrap_or(DEFAULT_OUTPUT);
    let used = Budget::with_calls(0).continuations - state.budget.continuations;
    let times = u64::from(used.max(1)) + 1;
    let wanted = base
        .saturating_mul(times)
        .min(MOST_OUTPUT)
        .max(configured.unwrap_or(0));
    let limit = state.setup.model.output_limit.unwrap_or(u64::MAX);
    wanted.min(limit)
}

/// More room when thinking used up the whole output and no text was left for.
pub(crate) fn if_thoughts_ate_it(state: &State, completion: &Completion) -> Option<u64> {
    let ate = completion.finish == FinishReason::Length && !completion.reasoning.is_empty();
    if ate { Some(grown(state)) } else { state.output_cap }
}
