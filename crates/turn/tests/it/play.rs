//! Plays a turn against a script and writes down its steps.

use std::collections::VecDeque;
use std::fmt::Write;
use std::sync::Arc;

use talaria_context::compose::Composer;
use talaria_context::meter::WindowPlan;
use talaria_recovery::{ErrorKind, Failure, Phase, Situation};
use talaria_turn::{Compacted, Ending, ModelSetup, Setup, Step, Talk, ToolRound, begin};
use talaria_types::{Completion, FinishReason, Message, MessageId, Reasoning, ToolCall, Usage};

/// One thing that happens to a turn.
pub(crate) enum Happening {
    Says(Completion),
    Fails(Failure),
    Tools {
        invalid: u32,
        halt: Option<&'static str>,
        interrupted: bool,
    },
    Next(Option<ModelSetup>),
    Renewed(bool),
    Stopped,
    Compacted(Compacted),
}

/// A script; when it is over the model says `done`.
pub(crate) struct Script {
    happenings: VecDeque<Happening>,
    pub(crate) setup: Setup,
    pub(crate) situation: Situation,
    next_id: i64,
    trace: String,
}

impl Script {
    pub(crate) fn new(happenings: impl IntoIterator<Item = Happening>) -> Self {
        Self {
            happenings: happenings.into_iter().collect(),
            setup: setup(),
            situation: Situation {
                may_compact: false,
                ..Situation::default()
            },
            next_id: 1,
            trace: String::new(),
        }
    }

    /// Plays replies made of numbers; tools run, providers and credentials are there.
    pub(crate) fn play_with(
        mut self,
        numbers: impl Iterator<Item = u8>,
        reply: impl Fn(u8) -> Happening,
    ) -> (String, Box<Ending>) {
        let mut numbers = numbers;
        let mut step = begin(self.setup.clone(), Talk::default(), Message::user("hi"));
        loop {
            self.save(&mut step);
            step.take_notices();
            let happening = match &step {
                Step::CallModel(_) => numbers.next().map(&reply),
                Step::RunTools(_) => Some(ran()),
                Step::SwitchProvider(_) => Some(Happening::Next(None)),
                Step::Refresh(_) => Some(Happening::Renewed(true)),
                Step::Compact(_) => Some(Happening::Compacted(Compacted::Nothing(
                    "nothing to hide".to_owned(),
                ))),
                Step::Wait(_) | Step::Done(_) => None,
            };
            self.happenings.extend(happening);
            step = match self.answer(step) {
                Ok(step) => step,
                Err(ending) => return (self.trace, ending),
            };
            self.happenings.clear();
        }
    }

    /// Plays to the end; gives the trace and the ending.
    pub(crate) fn play(mut self) -> (String, Box<Ending>) {
        let mut step = begin(self.setup.clone(), Talk::default(), Message::user("hi"));
        loop {
            self.save(&mut step);
            // A turn can be put away between any two steps.
            let json = serde_json::to_string(&step).unwrap();
            assert_eq!(serde_json::from_str::<Step>(&json).unwrap(), step);
            step.take_notices();
            step = match self.answer(step) {
                Ok(step) => step,
                Err(ending) => return (self.trace, ending),
            };
        }
    }

    fn save(&mut self, step: &mut Step) {
        let unsaved = step.unsaved();
        let ids: Vec<MessageId> = unsaved.iter().map(|message| self.row(message)).collect();
        step.saved(&ids);
    }

    fn row(&mut self, message: &Message) -> MessageId {
        let calls: Vec<&str> = message.tool_calls.iter().map(|call| call.name.as_str()).collect();
        let calls = if calls.is_empty() {
            String::new()
        } else {
            format!(" +{}", calls.join("+"))
        };
        self.line(&format!(
            "  row {}: {:?}{calls}",
            message.role.as_str(),
            message.content.text()
        ));
        self.next_id += 1;
        MessageId(self.next_id - 1)
    }

    fn line(&mut self, text: &str) {
        writeln!(self.trace, "{text}").unwrap();
    }

    fn answer(&mut self, step: Step) -> Result<Step, Box<Ending>> {
        let happening = match step {
            Step::Done(ending) => {
                self.line(&outcome(&ending));
                return Err(ending);
            }
            _ => self.happenings.pop_front(),
        };
        Ok(match (step, happening) {
            (Step::CallModel(call), happening) => {
                let request = call.request(&mut Composer::default());
                let last = request
                    .messages
                    .last()
                    .map(|message| message.content.text().into_owned());
                let cap = request
                    .max_output_tokens
                    .map(|cap| format!(" ≤{cap}"))
                    .unwrap_or_default();
                self.line(&format!(
                    "call {}{cap} …{:?}",
                    request.messages.len(),
                    brief(&last.unwrap_or_default())
                ));
                let reply = match happening {
                    Some(Happening::Says(completion)) => Ok(completion),
                    Some(Happening::Fails(failure)) => Err(failure),
                    Some(Happening::Stopped) => Err(interrupted("")),
                    None => Ok(text("done")),
                    Some(_) => panic!("the script has something else than a reply here:\n{}", self.trace),
                };
                call.answer(reply, &self.situation)
            }
            (
                Step::RunTools(run),
                Some(Happening::Tools {
                    invalid,
                    halt,
                    interrupted,
                }),
            ) => {
                self.line("tools");
                let results: Vec<Message> = run
                    .calls()
                    .iter()
                    .map(|call| Message::tool(&call.id, &call.name, "result"))
                    .collect();
                let rows = results
                    .into_iter()
                    .map(|message| (self.row(&message), Arc::new(message)))
                    .collect();
                let ran = run.calls().iter().map(|call| call.name.clone()).collect();
                let halt = halt.map(str::to_owned);
                run.answer(ToolRound {
                    rows,
                    ran,
                    invalid,
                    halt,
                    interrupted,
                })
            }
            (Step::SwitchProvider(switch), Some(Happening::Next(model))) => {
                self.line("switch");
                switch.answer(model)
            }
            (Step::Refresh(refresh), Some(Happening::Renewed(renewed))) => {
                self.line(&format!("refresh {:?}", refresh.kind()));
                refresh.answer(renewed)
            }
            (Step::Refresh(refresh), Some(Happening::Stopped)) => refresh.interrupt(),
            (Step::Wait(wait), Some(Happening::Stopped)) => {
                self.line("wait, stopped");
                wait.interrupt()
            }
            (Step::Wait(wait), happening) => {
                happening
                    .into_iter()
                    .for_each(|happening| self.happenings.push_front(happening));
                self.line("wait");
                wait.over()
            }
            (Step::Compact(compact), Some(Happening::Compacted(compacted))) => {
                self.line(&format!("compact {:?}", compact.trigger()));
                compact.answer(compacted)
            }
            (step, _) => panic!("the script does not say what becomes of {step:?}\n{}", self.trace),
        })
    }
}

fn brief(text: &str) -> String {
    text.chars().take(40).collect()
}

fn outcome(ending: &Ending) -> String {
    serde_json::to_string(&ending.outcome).unwrap()
}

/// What every script starts from.
pub(crate) fn setup() -> Setup {
    Setup {
        system: Arc::from("You are a test."),
        note: None,
        tools: Arc::from([]),
        model: model(),
        max_calls: 90,
        rewrites: Vec::new(),
    }
}

pub(crate) fn model() -> ModelSetup {
    ModelSetup {
        plan: WindowPlan {
            window: 200_000,
            max_output: 0,
            threshold: 0.5,
            min_tokens: 64_000,
        },
        max_output: None,
        output_limit: None,
        takes_prefill: false,
    }
}

pub(crate) fn text(text: &str) -> Completion {
    Completion {
        text: text.to_owned(),
        usage: Some(usage(100)),
        ..Completion::default()
    }
}

pub(crate) fn cut(piece: &str) -> Completion {
    Completion {
        finish: FinishReason::Length,
        ..text(piece)
    }
}

pub(crate) fn thought(words: &str) -> Completion {
    let reasoning = Reasoning {
        text: Some(words.to_owned()),
        ..Reasoning::default()
    };
    Completion {
        reasoning,
        ..text("")
    }
}

pub(crate) fn calls(names: &[&str]) -> Completion {
    let call = |(index, name): (usize, &&str)| ToolCall {
        id: format!("c{index}"),
        name: (*name).to_owned(),
        arguments: "{}".to_owned(),
        extra: serde_json::Map::new(),
    };
    Completion {
        tool_calls: names.iter().enumerate().map(call).collect(),
        finish: FinishReason::ToolCalls,
        ..text("")
    }
}

pub(crate) fn usage(prompt_tokens: u64) -> Usage {
    Usage {
        prompt_tokens,
        completion_tokens: 10,
        ..Usage::default()
    }
}

pub(crate) fn ran() -> Happening {
    Happening::Tools {
        invalid: 0,
        halt: None,
        interrupted: false,
    }
}

pub(crate) fn failure(kind: ErrorKind) -> Failure {
    Failure::new(kind, Phase::Status, "no")
}

pub(crate) fn interrupted(partial: &str) -> Failure {
    let mut failure = failure(ErrorKind::Interrupted);
    failure.partial = Some(talaria_recovery::Partial {
        text: partial.to_owned(),
        ..Default::default()
    });
    failure
}
