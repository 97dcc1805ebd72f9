//! A step made definite for one request: templates filled, alternatives chosen, usage counted.
//! The encoders put this into a protocol's words.

use crate::mock::{
    request::ModelCall,
    step::{Call, GivenUsage, Step, UsageSpec},
    template::Terms,
};
use serde_json::{Map, Value, json};

/// What the scripted model answers to one request.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) reasoning_field: String,
    pub(crate) calls: Vec<AnswerCall>,
    pub(crate) finish: String,
    pub(crate) usage: Option<AnswerUsage>,
    pub(crate) usage_asked: bool,
    pub(crate) chunk_chars: usize,
    pub(crate) no_done: bool,
    pub(crate) extra: Map<String, Value>,
}

/// A tool call of an answer.
#[derive(Debug, Clone)]
pub(crate) struct AnswerCall {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The arguments as text; scenarios may say what is no JSON.
    pub(crate) args: String,
    pub(crate) input: Option<String>,
}

impl AnswerCall {
    /// The arguments as an object; what is no JSON becomes an empty one.
    pub(crate) fn object(&self) -> Value {
        serde_json::from_str(&self.args).unwrap_or_else(|_| json!({}))
    }
}

/// The usage an answer reports.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnswerUsage {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    pub(crate) cached: u64,
    pub(crate) cache_write: u64,
    pub(crate) reasoning: u64,
}

impl Answer {
    /// The answer this step gives to this request. `prompt` is what `auto` usage reports as prompt tokens.
    pub(crate) fn of(step: &Step, request: &ModelCall, terms: &Terms, prompt: u64) -> Answer {
        let text = terms.fill(step.text.as_deref().unwrap_or_default());
        let reasoning = terms.fill(step.reasoning.as_deref().unwrap_or_default());
        let calls: Vec<AnswerCall> = step
            .tool_calls
            .iter()
            .enumerate()
            .map(|(lane, call)| resolve(call, lane, request, terms))
            .collect();
        let said = text.chars().count()
            + reasoning.chars().count()
            + calls
                .iter()
                .map(|call| call.args.chars().count() + call.name.chars().count())
                .sum::<usize>();
        let usage = |given: GivenUsage| AnswerUsage {
            prompt: given.prompt.unwrap_or(prompt),
            completion: given.completion.unwrap_or((said as u64 / 4).max(1)),
            cached: given.cached,
            cache_write: given.cache_write,
            reasoning: given.reasoning,
        };
        let body = request.body.as_ref();
        let asked = body.is_some_and(|body| body["stream_options"]["include_usage"] == true);
        Answer {
            id: step
                .id
                .clone()
                .unwrap_or_else(|| format!("mock-{}", terms.request)),
            model: step.model.clone().unwrap_or_else(|| {
                if request.model.is_empty() {
                    "mock-model".to_owned()
                } else {
                    request.model.clone()
                }
            }),
            finish: step.finish_reason.clone().unwrap_or_else(|| {
                if calls.is_empty() {
                    "stop".to_owned()
                } else {
                    "tool_calls".to_owned()
                }
            }),
            text,
            reasoning,
            reasoning_field: step.reasoning_field.clone(),
            calls,
            usage: match &step.usage {
                UsageSpec::Omitted => None,
                UsageSpec::Auto => Some(usage(GivenUsage::default())),
                UsageSpec::Given(given) => Some(usage(given.clone())),
            },
            usage_asked: asked || step.always_usage,
            chunk_chars: step.chunk_chars,
            no_done: step.no_done,
            extra: step.extra.clone(),
        }
    }

    /// A text cut into the pieces of a stream.
    pub(crate) fn pieces(&self, text: &str) -> Vec<String> {
        if text.is_empty() {
            return Vec::new();
        }
        if self.chunk_chars == 0 {
            return vec![text.to_owned()];
        }
        let chars: Vec<char> = text.chars().collect();
        chars
            .chunks(self.chunk_chars)
            .map(|chunk| chunk.iter().collect())
            .collect()
    }
}

fn resolve(call: &Call, lane: usize, request: &ModelCall, terms: &Terms) -> AnswerCall {
    let offered = call.any_of.iter().find(|one| request.tools.contains(&one.name));
    let base = offered.or(call.any_of.first()).unwrap_or(call);
    let number = call.number.unwrap_or(terms.number);
    let terms = Terms {
        number,
        ..terms.clone()
    };
    let mut args = base
        .args
        .as_ref()
        .map_or_else(|| json!({}), |args| terms.fill_value(args));
    if let (true, Value::Object(map), Some(declared)) = (base.fit, &mut args, request.declared(&base.name)) {
        map.retain(|name, _| declared.contains(&name.as_str()));
    }
    let id = base.id.clone().or_else(|| call.id.clone());
    AnswerCall {
        id: id.unwrap_or_else(|| format!("call_{}_{lane}_{number}", terms.request)),
        name: if base.name.is_empty() {
            "unknown".to_owned()
        } else {
            base.name.clone()
        },
        input: base.input.as_deref().map(|input| terms.fill(input)),
        args: if let Value::String(raw) = args {
            raw
        } else {
            args.to_string()
        },
    }
}
