//! How far a scenario has been played: which step is next, which answers are used up.

use crate::mock::{
    request::{ModelCall, TaskKind},
    scenario::{OnEnd, Rule, Scenario},
    step::Step,
};
use serde_json::json;
use std::collections::HashMap;

/// How far a scenario has been played.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// The next step, by client key.
    pub(crate) cursors: HashMap<String, usize>,
    tasks: HashMap<String, usize>,
    rules: HashMap<usize, usize>,
    /// How often each limit was enforced.
    pub(crate) limits: HashMap<usize, usize>,
}

impl Progress {
    /// The first rule that holds for this call and is not used up.
    pub(crate) fn rule<'a>(&mut self, scenario: &'a Scenario, call: &ModelCall) -> Option<&'a Rule> {
        let used = &mut self.rules;
        let (index, rule) = scenario.rules.iter().enumerate().find(|(index, rule)| {
            let spent = used.get(index).copied().unwrap_or(0);
            rule.times.is_none_or(|times| spent < times) && rule.when.holds(call)
        })?;
        *used.entry(index).or_default() += 1;
        Some(rule)
    }

    /// The answer to a side task, when the scenario has one; the last of a list repeats.
    pub(crate) fn task<'a>(&mut self, scenario: &'a Scenario, task: TaskKind) -> Option<&'a Step> {
        let list = scenario.tasks.get(task.as_str())?;
        let at = self.tasks.entry(task.as_str().to_owned()).or_default();
        let step = list.get(*at).or(list.last());
        *at += 1;
        step
    }

    /// The next step of the conversation and its number.
    pub(crate) fn step(&mut self, scenario: &Scenario, call: &ModelCall) -> (Step, usize) {
        let steps = &scenario.steps;
        if scenario.stateless {
            return by_results(steps, call.results);
        }
        let cursor = self.cursors.entry(call.key.clone()).or_default();
        let at = *cursor;
        *cursor += 1;
        if let Some(step) = steps.get(at) {
            return (step.clone(), at);
        }
        match (&scenario.on_end, steps.last()) {
            (OnEnd::Say(step), _) => ((**step).clone(), at),
            (OnEnd::Repeat, Some(last)) => (last.clone(), at),
            (OnEnd::Wrap, Some(_)) => (steps[at % steps.len()].clone(), at % steps.len()),
            (OnEnd::Error | OnEnd::Repeat | OnEnd::Wrap, _) => {
                let error =
                    json!({"message": format!("mock: past the last step ({at})"), "type": "mock_end"});
                (
                    Step {
                        status: Some(500),
                        error: Some(error),
                        ..Step::default()
                    },
                    at,
                )
            }
        }
    }
}

/// The step a stateless scenario is at after this many tool results: repeated runs need no reset.
fn by_results(steps: &[Step], results: usize) -> (Step, usize) {
    let mut made = 0;
    for (at, step) in steps.iter().enumerate() {
        made += step.tool_calls.len();
        if made > results || step.tool_calls.is_empty() || at + 1 == steps.len() {
            return (step.clone(), at);
        }
    }
    (Step::say("done"), 0)
}
