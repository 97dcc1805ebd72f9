//! Ask the model, and what follows from its answer or its failure.

use serde::{Deserialize, Serialize};
use talaria_context::compose::Composer;
use talaria_recovery::empty::{self, EmptyAnswer, EmptyDecision, EmptyRemedy};
use talaria_recovery::{Decision, ErrorKind, Failure, Phase, Remedy, Situation, decide};
use talaria_types::{Completion, FinishReason, Message, ModelRequest, Reasoning, Rewrite, Role, Trigger};

use crate::budget::spend;
use crate::{
    Compact, Ending, Outcome, Refresh, RefreshKind, RunTools, State, Step, SwitchProvider, Wait, grow_output,
};

/// What the closing call asks when a turn's calls are spent.
const CLOSING_REQUEST: &str = "[System: You have used every model call of this turn. Do not call tools. \
Summarise for the user what was done, what was found and what is left to do.]";

/// What an empty answer after tools is asked.
const EMPTY_NUDGE: &str = "[System: Your last answer was empty. Look at the tool results above and go on with the \
task, or give the user your answer.]";

/// Ask the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallModel {
    pub(crate) state: Box<State>,
    /// Nothing can be taken out of it; it is sent as it is.
    as_it_is: bool,
}

impl CallModel {
    /// Spends one of the turn's calls; with none left the closing call is made.
    pub(crate) fn begin(mut state: Box<State>) -> Step {
        if spend(&mut state.budget.calls) {
            return Self::again(state);
        }
        if state.closing {
            return Step::Done(Ending::of(state, Outcome::TurnLimit { summary: None }));
        }
        state.closing = true;
        state.prop(Message::user(CLOSING_REQUEST));
        Self::again(state)
    }

    /// Calls again within the same logical call; a budget was spent elsewhere.
    pub(crate) fn again(state: Box<State>) -> Step {
        Step::CallModel(Self {
            state,
            as_it_is: false,
        })
    }

    /// Calls with what cannot be made smaller.
    pub(crate) fn as_it_is(state: Box<State>) -> Step {
        Step::CallModel(Self {
            state,
            as_it_is: true,
        })
    }

    /// Whether it may be compressed first.
    pub fn may_shrink(&self) -> bool {
        !self.as_it_is && !self.state.closing && self.state.budget.compactions > 0
    }

    /// What is asked. `composer` remembers the messages it has made sendable before.
    pub fn request(&self, composer: &mut Composer) -> ModelRequest {
        self.state.request(composer)
    }

    /// The turn's state, for the driver's records.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The model answered, or the call failed.
    pub fn answer(self, reply: Result<Completion, Failure>, situation: &Situation) -> Step {
        let mut state = self.state;
        match reply {
            Ok(completion) => {
                state.count_call(completion.usage);
                answered(state, completion, situation)
            }
            Err(failure) => {
                state.count_call(failure.partial.as_ref().and_then(|partial| partial.usage));
                failed(state, failure, situation)
            }
        }
    }

    /// The turn's money does not reach for this call.
    pub fn over_budget(self, text: String) -> Step {
        Step::Done(Ending::of(self.state, Outcome::SpendLimit { text }))
    }

    /// What is about to be sent is too large: it is compressed first.
    pub fn too_large(self, trigger: Trigger) -> Step {
        Compact::begin(self.state, trigger, None)
    }

    /// The person stopped the turn before the call was made.
    pub fn interrupt(self) -> Step {
        interrupted(self.state, "", Reasoning::default())
    }
}

/// Goes where an answer leads.
fn answered(mut state: Box<State>, completion: Completion, situation: &Situation) -> Step {
    if state.closing {
        return closed(state, completion);
    }
    if !completion.tool_calls.is_empty() {
        return called(state, completion);
    }
    let visible = !completion.text.trim().is_empty();
    match completion.finish {
        FinishReason::Refused => refused(state, &completion, situation),
        FinishReason::WindowExceeded => {
            let text = "the context window was full before the answer was complete";
            failed(
                state,
                Failure::new(ErrorKind::ContextOverflow, Phase::Answer, text),
                situation,
            )
        }
        FinishReason::Length if visible => grow_output::continue_answer(state, completion),
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Length | FinishReason::Other(_)
            if visible =>
        {
            replied(state, completion)
        }
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Length | FinishReason::Other(_) => {
            state.output_cap = grow_output::if_thoughts_ate_it(&state, &completion);
            nothing_said(state, completion, situation)
        }
    }
}

/// The answer to the closing call, whatever it is, ends the turn.
fn closed(mut state: Box<State>, completion: Completion) -> Step {
    state.talk.strike();
    let text = completion.text.trim().to_owned();
    let summary = (!text.is_empty()).then_some(text);
    if let Some(text) = &summary {
        state.talk.say(Message {
            reasoning: completion.reasoning,
            finish_reason: Some("stop".to_owned()),
            ..Message::assistant(text.clone())
        });
    }
    Step::Done(Ending::of(state, Outcome::TurnLimit { summary }))
}

/// The model asks for tools.
fn called(mut state: Box<State>, completion: Completion) -> Step {
    let cut = completion.finish == FinishReason::Length;
    if cut && grow_output::calls_were_cut(&completion) && spend(&mut state.budget.continuations) {
        // Half a call is no call: nothing of it runs, and with more room it is asked for again.
        state.output_cap = Some(grow_output::grown(&state));
        return CallModel::again(state);
    }
    state.ledger.call_succeeded();
    state.output_cap = None;
    state.pieces.clear();
    state.talk.strike();
    state.earlier = earlier_text(&completion);
    let calls = completion.tool_calls.clone();
    state.talk.say(Message {
        tool_calls: completion.tool_calls,
        reasoning: completion.reasoning,
        finish_reason: Some("tool_calls".to_owned()),
        ..Message::assistant(completion.text)
    });
    RunTools::begin(state, calls)
}

/// Text beside calls that only keep house may turn out to have been the answer.
fn earlier_text(completion: &Completion) -> Option<String> {
    const HOUSEKEEPING: [&str; 4] = ["memory", "todo", "skill_manage", "session_search"];
    let text = completion.text.trim();
    let only_housekeeping = completion
        .tool_calls
        .iter()
        .all(|call| HOUSEKEEPING.contains(&call.name.as_str()));
    (only_housekeeping && !text.is_empty()).then(|| text.to_owned())
}

/// The model has answered.
fn replied(mut state: Box<State>, completion: Completion) -> Step {
    state.ledger.call_succeeded();
    let text = grow_output::whole(&mut state, &completion.text);
    state.talk.say(Message {
        reasoning: completion.reasoning,
        finish_reason: Some(completion.finish.as_str().to_owned()),
        ..Message::assistant(text.clone())
    });
    Step::Done(Ending::of(state, Outcome::Replied { text }))
}

/// The model or its provider declined. The same provider is not asked again;
/// another one may be.
fn refused(state: Box<State>, completion: &Completion, situation: &Situation) -> Step {
    let said = completion.text.trim();
    let words = if said.is_empty() {
        "the model's provider declined to answer this request (content filter)"
    } else {
        said
    };
    failed(
        state,
        Failure::new(ErrorKind::Refused, Phase::Answer, words),
        situation,
    )
}

/// The refusal is the turn's end and has its row.
fn declined(mut state: Box<State>, words: &str) -> Step {
    state.talk.strike();
    state.talk.say(Message {
        finish_reason: Some("content_filter".to_owned()),
        ..Message::assistant(words)
    });
    Step::Done(Ending::of(
        state,
        Outcome::Refused {
            text: words.to_owned(),
        },
    ))
}

/// No visible text and no calls: the empty-answer chain decides.
fn nothing_said(mut state: Box<State>, completion: Completion, situation: &Situation) -> Step {
    let answer = EmptyAnswer {
        streamed: String::new(),
        earlier: state.earlier.clone(),
        after_tools: after_tools(&state),
        thought: !completion.reasoning.is_empty(),
        takes_prefill: state.setup.model.takes_prefill,
        fallbacks_left: situation.fallbacks_left,
    };
    let decision = empty::decide(&answer, &mut state.ledger);
    state.note_recovery(
        &decision.row,
        decision.attempt,
        decision.limit,
        (words_for_empty(&decision), 0),
    );
    match decision.remedy {
        EmptyRemedy::KeepPartial | EmptyRemedy::UseEarlier => {
            let text = state.earlier.take().unwrap_or_default();
            replied(state, Completion { text, ..completion })
        }
        EmptyRemedy::Nudge => {
            state.prop(Message::assistant("(empty)"));
            state.prop(Message::user(EMPTY_NUDGE));
            CallModel::again(state)
        }
        EmptyRemedy::Prefill => {
            prefill(&mut state, completion);
            CallModel::again(state)
        }
        EmptyRemedy::Retry => Wait::begin(state, decision.wait_ms),
        EmptyRemedy::SwitchProvider => SwitchProvider::begin(state, empty_failure()),
        EmptyRemedy::Explain => {
            let explanation = explain_empty(&state);
            Step::Done(Ending::of(state, Outcome::Empty { explanation }))
        }
    }
}

/// Sends the thought back, so that the model sees it has thought already.
fn prefill(state: &mut State, completion: Completion) {
    let takes = state.setup.model.takes_prefill;
    let thought = completion.reasoning;
    let content = match thought.text.as_ref().or(thought.content.as_ref()) {
        // In the form in which such models think, so that it is seen by those that take no thinking back.
        Some(text) if takes => format!("<think>\n{}\n</think>\n\n", text.trim()),
        _ => "(empty)".to_owned(),
    };
    state.prop(Message {
        reasoning: thought,
        ..Message::assistant(content)
    });
    if !takes {
        state.prop(Message::user(EMPTY_NUDGE));
    }
}

fn after_tools(state: &State) -> bool {
    let messages = state.talk.messages();
    messages
        .iter()
        .rev()
        .take(5)
        .any(|message| message.role == Role::Tool)
}

fn empty_failure() -> Failure {
    Failure::new(
        ErrorKind::EmptyAnswer,
        Phase::Answer,
        "the model answered with nothing",
    )
}

fn words_for_empty(decision: &EmptyDecision) -> String {
    let what = match decision.remedy {
        EmptyRemedy::KeepPartial => "keeping what had been streamed",
        EmptyRemedy::UseEarlier => "taking the text that came with its last calls",
        EmptyRemedy::Nudge => "asking it to go on from the tool results",
        EmptyRemedy::Prefill => "sending its thoughts back",
        EmptyRemedy::Retry => "asking again",
        EmptyRemedy::SwitchProvider => "going to the next provider",
        EmptyRemedy::Explain => "giving up",
    };
    format!("the model answered with nothing: {what}")
}

fn explain_empty(state: &State) -> String {
    let kept = if state.tally.tool_rounds == 0 {
        ""
    } else {
        " What its tools did before that is kept."
    };
    format!(
        "The model answered with nothing, in {} calls.{kept} Ask again, or choose another model.",
        state.tally.api_calls
    )
}

/// The call failed: the recovery chain decides.
pub(crate) fn failed(mut state: Box<State>, failure: Failure, situation: &Situation) -> Step {
    if failure.kind == ErrorKind::Interrupted {
        let partial = failure.partial.unwrap_or_default();
        let reasoning = Reasoning {
            text: (!partial.reasoning.is_empty()).then_some(partial.reasoning),
            ..Reasoning::default()
        };
        return interrupted(state, &partial.text, reasoning);
    }
    if state.closing {
        // The work is done; a closing call that fails costs only the summary.
        return Step::Done(Ending::of(state, Outcome::TurnLimit { summary: None }));
    }
    let decision = decide(&failure, situation, &mut state.ledger);
    tell(&mut state, &failure, &decision);
    cure(state, failure, decision, situation)
}

/// Turns the cure a row named into the next step.
fn cure(mut state: Box<State>, failure: Failure, decision: Decision, situation: &Situation) -> Step {
    match decision.remedy {
        Remedy::Rewrite(rewrite) => {
            if let Rewrite::CapOutput(cap) = rewrite {
                state.output_cap = state.output_cap.map(|own| own.min(cap));
            }
            state.rewrite(rewrite);
            CallModel::again(state)
        }
        Remedy::Compact { window } => {
            if let Some(window) = window {
                state.setup.model.plan.window = state.setup.model.plan.window.min(window);
            }
            Compact::begin(state, Trigger::Overflow, Some(failure))
        }
        Remedy::RefreshCredential => Refresh::begin(state, RefreshKind::Credential, failure, situation),
        Remedy::RotateCredential => Refresh::begin(state, RefreshKind::NextCredential, failure, situation),
        Remedy::RebuildTransport { wait_ms } => {
            Refresh::begin(state, RefreshKind::Transport { wait_ms }, failure, situation)
        }
        Remedy::SwitchProvider => SwitchProvider::begin(state, failure),
        Remedy::Wait { wait_ms } => Wait::begin(state, wait_ms),
        Remedy::Retry => CallModel::again(state),
        Remedy::Continue => {
            let text = failure.partial.unwrap_or_default().text;
            grow_output::continue_cut_stream(state, text)
        }
        Remedy::KeepPartial => {
            let text = failure.partial.clone().unwrap_or_default().text;
            grow_output::end_partial(state, &text, crate::state::words(&failure))
        }
        Remedy::GiveUp => give_up(state, with_note(failure, decision.note)),
    }
}

/// The failure with what the deciding row has to say about it.
fn with_note(mut failure: Failure, note: Option<String>) -> Failure {
    if let Some(note) = note {
        failure.message = format!("{} ({note})", failure.message);
    }
    failure
}

/// Nothing helps: what had been said is kept, what failed is told.
pub(crate) fn give_up(mut state: Box<State>, failure: Failure) -> Step {
    if !state.pieces.is_empty() {
        let why = crate::state::words(&failure);
        return grow_output::end_partial(state, "", why);
    }
    state.pieces.clear();
    let too_large = matches!(
        failure.kind,
        ErrorKind::ContextOverflow | ErrorKind::PayloadTooLarge | ErrorKind::LongContextTier
    );
    let outcome = if failure.kind == ErrorKind::Refused {
        return declined(state, &failure.message);
    } else if too_large {
        Outcome::Overflow(Box::new(failure))
    } else {
        Outcome::Failed(Box::new(failure))
    };
    Step::Done(Ending::of(state, outcome))
}

/// The person stopped it: what had been said becomes the row, marked.
fn interrupted(mut state: Box<State>, partial: &str, reasoning: Reasoning) -> Step {
    let text = grow_output::whole(&mut state, partial);
    let text = text.trim_end().to_owned();
    if text.is_empty() {
        return Step::Done(Ending::of(state, Outcome::Interrupted { text: None }));
    }
    state.talk.say(Message {
        reasoning,
        finish_reason: Some("interrupted".to_owned()),
        ..Message::assistant(text.clone())
    });
    Step::Done(Ending::of(state, Outcome::Interrupted { text: Some(text) }))
}

/// Counts a decision and puts it into words.
fn tell(state: &mut State, failure: &Failure, decision: &Decision) {
    let what = crate::state::words(failure);
    let (does, wait_ms) = match &decision.remedy {
        Remedy::Rewrite(rewrite) => (rewrite_words(rewrite), 0),
        Remedy::Compact { .. } => ("compacting the context".to_owned(), 0),
        Remedy::RefreshCredential => ("renewing the login".to_owned(), 0),
        Remedy::RotateCredential => ("trying the next key".to_owned(), 0),
        Remedy::SwitchProvider => ("going to the next provider".to_owned(), 0),
        Remedy::RebuildTransport { wait_ms } => ("opening new connections".to_owned(), *wait_ms),
        Remedy::Wait { wait_ms } => (format!("waiting {} s", wait_ms.div_ceil(1000)), *wait_ms),
        Remedy::Retry => ("asking again".to_owned(), 0),
        Remedy::Continue => ("going on from the cut".to_owned(), 0),
        Remedy::KeepPartial => ("keeping what had arrived".to_owned(), 0),
        Remedy::GiveUp => return,
    };
    state.note_recovery(
        &decision.row,
        decision.attempt,
        decision.limit,
        (format!("{what}: {does}"), wait_ms),
    );
}

fn rewrite_words(rewrite: &Rewrite) -> String {
    match rewrite {
        Rewrite::ScrubSurrogates => "replacing text that is no Unicode".to_owned(),
        Rewrite::DropImages => "sending notes instead of images".to_owned(),
        Rewrite::DropOldestImages => "leaving the oldest images out".to_owned(),
        Rewrite::ShrinkImages(_) => "sending smaller images".to_owned(),
        Rewrite::PlainToolContent => "sending tool results as text".to_owned(),
        Rewrite::DropSignedThinking => "leaving earlier thoughts out".to_owned(),
        Rewrite::DropEncryptedReasoning => "leaving encrypted thoughts out".to_owned(),
        Rewrite::DropBetaHeader(name) => format!("leaving the beta {name} out"),
        Rewrite::SimplifyToolSchemas => "simplifying the tool schemas".to_owned(),
        Rewrite::DropParameter(name) => format!("leaving {name} out"),
        Rewrite::RenameParameter { from, to } => format!("sending {to} instead of {from}"),
        Rewrite::CapOutput(cap) => format!("asking for at most {cap} output tokens"),
        Rewrite::DoNotStream => "asking without streaming".to_owned(),
        Rewrite::EchoReasoning => "sending its thoughts back".to_owned(),
        Rewrite::NoPrefill => "asking with a user message instead of a prefill".to_owned(),
    }
}
